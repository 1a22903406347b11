#include "run_compare.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"
#include "program.h"
#include "run/run.h"
#include "run/checkpoint.h"
#include "run/folder.h"

enum { WORDS_MOST = 36 };

const char *run_file(const char *run, const char *name) {
    enum { PATHS = 8 };
    static char paths[PATHS][256];
    static size_t next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", run, name);
    return path;
}

static void run_words(const char *const *first, const char *const *words, int status) {
    const char *all[WORDS_MOST + 1] = {NULL};
    size_t count = 0;
    for (; *first != NULL; first++) {
        all[count++] = *first;
    }
    for (; *words != NULL; words++) {
        ck_assert_uint_lt(count, WORDS_MOST);
        all[count++] = *words;
    }
    struct outcome outcome = run_program(folder_path(""), all);
    ck_assert_msg(outcome.status == status, "status %d: %s", outcome.status, outcome.err);
    outcome_free(&outcome);
}

void train_in(const char *folder, const char *const *words) {
    run_words(WORDS("train", "-o", folder, "--quiet"), words, 0);
}

void resume_in(const char *folder, const char *const *words, int status) {
    run_words(WORDS("train", "--resume", "-o", folder, "--quiet"), words, status);
}

static void assert_same_checkpoint(const char *run, const char *other) {
    mha_arrays *a = read_arrays_with(mha_npz_read, run_file(run, RUN_CHECKPOINT));
    mha_arrays *b = read_arrays_with(mha_npz_read, run_file(other, RUN_CHECKPOINT));
    ck_assert_uint_eq(mha_arrays_count(a), 18);
    ck_assert_uint_eq(mha_arrays_count(b), 18);
    for (size_t i = 0; i < mha_arrays_count(a); i++) {
        const mha_array *first = mha_arrays_at(a, i), *second = mha_arrays_at(b, i);
        ck_assert_str_eq(first->name, second->name);
        ck_assert_int_eq(first->dtype, second->dtype);
        const size_t bytes = mha_array_count(first) * mha_dtype_bytes(first->dtype);
        ck_assert_uint_eq(mha_array_count(second) * mha_dtype_bytes(second->dtype), bytes);
        ck_assert_msg(
            strcmp(first->name, "seconds") == 0 || memcmp(first->data, second->data, bytes) == 0,
            "%s and %s differ in %s", run, other, first->name);
    }
    mha_arrays_free(a);
    mha_arrays_free(b);
}

static char *read_text(const char *name) {
    size_t size;
    char *text = (char *)folder_read(&size, name);
    text[size] = '\0'; /* folder_read has room for it */
    return text;
}

/* Takes the last column of every line away. */
static void drop_seconds(char *text) {
    char *to = text, *tab = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\t') {
            tab = to;
        } else if (*at == '\n') {
            to = tab;
        }
        *to++ = *at;
    }
    *to = '\0';
}

static void assert_same_log(const char *run, const char *other) {
    char *a = read_text(run_file(run, RUN_LOG)), *b = read_text(run_file(other, RUN_LOG));
    drop_seconds(a);
    drop_seconds(b);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}

static void assert_same_json(const char *run, const char *other) {
    char *a = read_text(run_file(run, RUN_JSON)), *b = read_text(run_file(other, RUN_JSON));
    char *seconds[2] = {strstr(a, "\"seconds\""), strstr(b, "\"seconds\"")};
    ck_assert_ptr_nonnull(seconds[0]);
    ck_assert_ptr_nonnull(seconds[1]);
    *seconds[0] = '\0';
    *seconds[1] = '\0';
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}

void assert_same_run(const char *run, const char *other) {
    assert_same_checkpoint(run, other);
    size_t size;
    unsigned char *weights = folder_read(&size, run_file(run, RUN_WEIGHTS));
    ck_assert_msg(
        folder_holds(run_file(other, RUN_WEIGHTS), weights, size), "%s: other weights", other);
    free(weights);
    assert_same_log(run, other);
    assert_same_json(run, other);
}

static int exists(const char *run, const char *name) {
    return access(folder_path(run_file(run, name)), F_OK) == 0;
}

int assert_run_is_whole(const char *run) {
    struct run read;
    mha_error error;
    if (exists(run, RUN_STAGING "/" RUN_CHECKPOINT)) {
        ck_assert_int_eq(run_read(&read, folder_path(run), &error), MHA_ERROR_FORMAT);
        ck_assert_ptr_nonnull(strstr(error.text, "was cut short"));
        return 1;
    }
    if (!exists(run, RUN_CHECKPOINT)) {
        return 0;
    }
    struct checkpoint checkpoint;
    ck_assert_msg(
        checkpoint_read(&checkpoint, folder_path(run), &error) == MHA_OK, "%s", error.text);
    checkpoint_free(&checkpoint);
    ck_assert_msg(run_read(&read, folder_path(run), &error) == MHA_OK, "%s", error.text);
    run_free(&read);
    struct log_row *rows;
    size_t count;
    ck_assert_msg(
        run_read_log(&rows, &count, folder_path(run), &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_ge(count, 1);
    free(rows);
    return 1;
}

void assert_no_litter(const char *run) {
    DIR *entries = opendir(folder_path(run));
    ck_assert_ptr_nonnull(entries);
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL; count++) {
        static const char *const expected[] = {
            ".", "..", RUN_CHECKPOINT, RUN_JSON, RUN_LOG, RUN_WEIGHTS};
        size_t i = 0;
        while (i < sizeof expected / sizeof *expected && strcmp(entry->d_name, expected[i]) != 0) {
            i++;
        }
        ck_assert_msg(i < sizeof expected / sizeof *expected, "%s in %s", entry->d_name, run);
    }
    closedir(entries);
    ck_assert_uint_eq(count, 6);
}

size_t checkpoint_step(const char *run) {
    struct checkpoint checkpoint;
    mha_error error;
    ck_assert_msg(
        checkpoint_read(&checkpoint, folder_path(run), &error) == MHA_OK, "%s", error.text);
    const size_t step = checkpoint.state.step;
    checkpoint_free(&checkpoint);
    return step;
}
