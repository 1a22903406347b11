/* Checkpoints that are damaged are refused, whatever they hold. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mha/io.h>

#include "array_assert.h"
#include "check_resume.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run/checkpoint.h"
#include "run_compare.h"

enum { ARRAYS = 18 };

/* "run": 3 steps of width 4, and its checkpoint in memory. */
static mha_arrays *make_run(mha_array arrays[ARRAYS]) {
    train_in("run", WORDS("mean", "--batch", "2", "--target-length", "3", "--width", "4", "--heads",
                        "2", "--steps", "3", "--eval-every", "2"));
    mha_arrays *read = read_arrays_with(mha_npz_read, "run/checkpoint.npz");
    ck_assert_uint_eq(mha_arrays_count(read), ARRAYS);
    for (size_t i = 0; i < ARRAYS; i++) {
        arrays[i] = *mha_arrays_at(read, i);
    }
    return read;
}

static mha_array *find(mha_array arrays[ARRAYS], const char *name) {
    for (size_t i = 0; i < ARRAYS; i++) {
        if (strcmp(arrays[i].name, name) == 0) {
            return &arrays[i];
        }
    }
    ck_abort_msg("no %s", name);
    return NULL;
}

static void assert_reader_refuses(const char *words) {
    struct checkpoint checkpoint;
    mha_error error;
    ck_assert_int_ne(checkpoint_read(&checkpoint, folder_path("run"), &error), MHA_OK);
    ck_assert_ptr_null(checkpoint.weights);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

/* The reader and the program refuse the checkpoint that is there, with words. */
static void assert_refused(const char *words) {
    assert_reader_refuses(words);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run"), words);
}

static void write_arrays(const mha_array *arrays, size_t count) {
    ck_assert_int_eq(mha_npz_write(folder_path("run/checkpoint.npz"), arrays, count, NULL), MHA_OK);
}

/* Writes the arrays with one exchanged for another. */
static void write_with(const mha_array arrays[ARRAYS], const mha_array *changed) {
    mha_array copy[ARRAYS];
    memcpy(copy, arrays, sizeof copy);
    *find(copy, changed->name) = *changed;
    write_arrays(copy, ARRAYS);
}

static void assert_array_refused(
    const mha_array arrays[ARRAYS], const mha_array *changed, const char *words) {
    write_with(arrays, changed);
    assert_refused(words);
}

START_TEST(cut_files_are_refused) {
    mha_array arrays[ARRAYS];
    mha_arrays_free(make_run(arrays));
    size_t size;
    unsigned char *bytes = folder_read(&size, "run/checkpoint.npz");
    const size_t sizes[] = {0, 1, 100, size / 2, size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        folder_write("run/checkpoint.npz", bytes, sizes[i]);
        assert_refused("run/checkpoint.npz");
    }
    bytes[size / 3] ^= 1;
    folder_write("run/checkpoint.npz", bytes, size);
    assert_refused("run/checkpoint.npz");
    bytes[size / 3] ^= 1;
    folder_write("run/checkpoint.npz", bytes, size);
    free(bytes);
    resume_in("run", WORDS("--steps", "4"), 0);
    ck_assert_int_eq(remove(folder_path("run/checkpoint.npz")), 0);
    ck_assert_int_eq(mkfifo(folder_path("run/checkpoint.npz"), 0600), 0);
    assert_refused("run/checkpoint.npz");
}
END_TEST

START_TEST(missing_arrays_are_named) {
    mha_array arrays[ARRAYS];
    mha_arrays *read = make_run(arrays);
    for (size_t i = 0; i < ARRAYS; i++) {
        mha_array rest[ARRAYS];
        memcpy(rest, arrays, sizeof rest);
        rest[i] = rest[ARRAYS - 1];
        char text[64];
        snprintf(text, sizeof text, "run/checkpoint.npz: '%s' is missing", arrays[i].name);
        write_arrays(rest, ARRAYS - 1);
        assert_reader_refuses(text);
    }
    mha_arrays_free(read);
}
END_TEST

START_TEST(arrays_of_another_kind_are_refused) {
    mha_array arrays[ARRAYS];
    mha_arrays *read = make_run(arrays);
    for (size_t i = 0; i < ARRAYS; i++) {
        mha_array changed = arrays[i];
        char text[64];
        snprintf(text, sizeof text, "'%s' is ", changed.name);
        changed.dtype = MHA_BOOL;
        changed.data = "\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0";
        if (strcmp(changed.name, "settings") == 0) {
            changed.dims[0] = 16;
        }
        write_with(arrays, &changed);
        assert_reader_refuses(text);
        changed = arrays[i];
        changed.dims[changed.rank++] = 1; /* as many numbers, another shape */
        write_with(arrays, &changed);
        assert_reader_refuses(text);
    }
    mha_array narrow = *find(arrays, "velocity_wo");
    narrow.dims[0] = narrow.dims[1] = 3;
    assert_array_refused(arrays, &narrow, "'velocity_wo' is (3, 3), width 4 needs (4, 4)");
    mha_arrays_free(read);
}
END_TEST

START_TEST(numbers_out_of_bounds_are_refused) {
    mha_array arrays[ARRAYS];
    mha_arrays *read = make_run(arrays);
    static const struct {
        const char *name;
        int64_t number;
        const char *text;
    } integers[] = {{"step", 4, "'step' is 4, not from 0 to 3"},
        {"step", -1, "'step' is -1, not from 0 to 3"},
        {"step", INT64_MAX, "'step' is 9223372036854775807, not from 0 to 3"},
        {"best_step", 4, "'best_step' is 4, not from 0 to 3"},
        {"heads", 1, "heads is 1, the run's settings say 2"},
        {"heads", -2, "heads is -2, the run's settings say 2"}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        mha_array changed = *find(arrays, integers[i].name);
        changed.data = &integers[i].number;
        assert_array_refused(arrays, &changed, integers[i].text);
    }
    const double seconds[] = {-1.0, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        mha_array changed = *find(arrays, "seconds");
        changed.data = &seconds[i];
        assert_array_refused(arrays, &changed, "seconds is ");
    }
    mha_arrays_free(read);
}
END_TEST

static int64_t hash_of(const char *text, size_t size) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    }
    int64_t bits;
    memcpy(&bits, &hash, sizeof bits);
    return bits;
}

/* Another text in place of the settings, with its right hash. */
static void assert_settings_refused(
    const mha_array arrays[ARRAYS], const char *text, size_t size, const char *words) {
    mha_array copy[ARRAYS];
    memcpy(copy, arrays, sizeof copy);
    const int64_t hash = hash_of(text, size);
    find(copy, "settings")->data = text;
    find(copy, "settings")->dims[0] = size;
    find(copy, "settings_hash")->data = &hash;
    write_arrays(copy, ARRAYS);
    assert_refused(words);
}

/* The settings with one stretch of their text exchanged. */
static void assert_setting_refused(
    const mha_array arrays[ARRAYS], const char *from, const char *to, const char *words) {
    mha_array copy[ARRAYS];
    memcpy(copy, arrays, sizeof copy);
    const mha_array *settings = find(copy, "settings");
    char text[2048] = "", changed[2048];
    memcpy(text, settings->data, settings->dims[0]);
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_settings_refused(arrays, changed, strlen(changed), words);
}

START_TEST(settings_are_checked) {
    mha_array arrays[ARRAYS];
    mha_arrays *read = make_run(arrays);
    const mha_array *settings = find(arrays, "settings");
    ck_assert_int_eq(*(const int64_t *)find(arrays, "settings_hash")->data,
        hash_of(settings->data, settings->dims[0]));
    const int64_t wrong = 17;
    mha_array changed = *find(arrays, "settings_hash");
    changed.data = &wrong;
    char text[96];
    snprintf(text, sizeof text, "the hash of its settings is %016llx, settings_hash is %016x",
        (unsigned long long)hash_of(settings->data, settings->dims[0]), 17);
    assert_array_refused(arrays, &changed, text);
    assert_settings_refused(arrays, "", 0, "run/checkpoint.npz: settings: ");
    assert_settings_refused(arrays, "{", 1, "run/checkpoint.npz: settings: ");
    assert_settings_refused(arrays, "{}\0", 3, "run/checkpoint.npz: settings: ");
    assert_settings_refused(arrays, "[]", 2, "run/checkpoint.npz names no task");
    assert_settings_refused(arrays, "{\"task\":\"mean\"}", 15, "setting 'batch' is missing");
    static const struct {
        const char *from, *to, *text;
    } settings_changes[] = {{"\"mean\"", "\"fly\"", "unknown task 'fly'"},
        {"\"mean\"", "7", "names no task"}, {"\"batch\":2", "\"batch\":-2", "setting 'batch'"},
        {"\"batch\":2", "\"batch\":0", "setting 'batch'"},
        {"\"batch\":2", "\"batch\":2,\"batch\":2", "run/checkpoint.npz: settings: "},
        {"\"heads\":2", "\"heads\":3", "width 4 is not divisible by 3 heads"},
        {"\"width\":4", "\"width\":8", "'wq' is (4, 4), width 8 needs (8, 8)"},
        {"\"width\":4", "\"width\":4503599627370496", "exceed the address space"},
        {"\"steps\":3", "\"steps\":2", "'step' is 3, not from 0 to 2"},
        {"\"eval_every\":2", "\"eval_every\":0", "setting 'eval_every'"},
        {"\"schedule\":\"constant\"", "\"schedule\":\"fast\"", "setting 'schedule'"}};
    for (size_t i = 0; i < sizeof settings_changes / sizeof *settings_changes; i++) {
        assert_setting_refused(
            arrays, settings_changes[i].from, settings_changes[i].to, settings_changes[i].text);
    }
    mha_arrays_free(read);
}
END_TEST

TCase *resume_checkpoints(void) {
    TCase *tests = tcase_create("checkpoints");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, cut_files_are_refused);
    tcase_add_test(tests, missing_arrays_are_named);
    tcase_add_test(tests, arrays_of_another_kind_are_refused);
    tcase_add_test(tests, numbers_out_of_bounds_are_refused);
    tcase_add_test(tests, settings_are_checked);
    return tests;
}
