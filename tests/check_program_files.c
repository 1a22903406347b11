/* Files that are there already, cannot be written, or cannot be used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"

START_TEST(existing_folders_are_kept) {
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    assert_program_refuses(WORDS("train", "copy", "-o", "run"), "run exists");
    outcome = run_well(WORDS("train", "copy", "--force", "--quiet", "--steps", "1", "-o", "run"));
    outcome_free(&outcome);
    ck_assert_int_eq(mkdir(folder_path("other"), 0700), 0);
    folder_write("other/run.json", "{}", 2);
    assert_program_refuses(
        WORDS("train", "copy", "--force", "-o", "other"), "--force does not replace");
    ck_assert_int_eq(folder_holds("other/run.json", "{}", 2), 1);
    folder_write("file", "x", 1);
    assert_program_refuses(WORDS("train", "copy", "-o", "file/run"), "file");
    assert_program_refuses(WORDS("train", "copy", "-o", ""), "is empty");
    assert_program_refuses(WORDS("train", "copy", "-o", "run/"), "run exists");
    assert_program_refuses(WORDS("train", "copy", "-o", "/proc/nowhere/run"), "/proc/nowhere");
}
END_TEST

START_TEST(full_disk_leaves_no_folder) {
    struct outcome outcome = run_program_limited(
        folder_path(""), WORDS("train", "copy", "-o", "deep/er/run/"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "File too large"));
    ck_assert_uint_eq(folder_count(), 0);
    outcome_free(&outcome);
}
END_TEST

/* A run that cannot start leaves the run it was to replace. */
START_TEST(full_disk_keeps_the_run_that_was_there) {
    struct outcome outcome = train_briefly("run", "1");
    outcome_free(&outcome);
    size_t size;
    unsigned char *weights = folder_read(&size, "run/weights.npz");
    outcome = run_program_limited(
        folder_path(""), WORDS("train", "copy", "--force", "-o", "run"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    outcome_free(&outcome);
    ck_assert_int_eq(folder_holds("run/weights.npz", weights, size), 1);
    free(weights);
    outcome = run_well(WORDS("eval", "run"));
    outcome_free(&outcome);
}
END_TEST

/* The log outgrows the limit long after the start: what was saved last can be read. */
START_TEST(full_disk_in_mid_run_leaves_what_was_saved) {
    struct outcome outcome = run_program_limited(folder_path(""),
        WORDS("train", "mean", "--quiet", "--width", "4", "--heads", "1", "--batch", "2", "--lr",
            "0.01", "--steps", "5000", "--eval-every", "1", "-o", "run"),
        20000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "run/log.tsv: File too large; the run is saved"));
    outcome_free(&outcome);
    assert_json_holds("run/run.json", "\"failed\"");
    struct log_row *rows;
    size_t count;
    mha_error error;
    ck_assert_msg(
        run_read_log(&rows, &count, folder_path("run"), &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_gt(count, 50);
    free(rows);
    const size_t saved = checkpoint_step("run");
    ck_assert_uint_lt(saved, count);
    outcome = run_well(WORDS("eval", "run"));
    char after[64];
    snprintf(after, sizeof after, "mean after %zu steps", saved);
    ck_assert_ptr_nonnull(strstr(outcome.out, after));
    outcome_free(&outcome);
}
END_TEST

START_TEST(closed_standard_error_does_not_reach_files) {
    struct outcome outcome =
        run_program_deaf(folder_path(""), WORDS("train", "copy", "--steps", "20", "-o", "run"));
    ck_assert_int_eq(outcome.status, 0);
    outcome_free(&outcome);
    struct log_row *rows;
    size_t count;
    mha_error error;
    ck_assert_msg(
        run_read_log(&rows, &count, folder_path("run"), &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(count, 3);
    free(rows);
}
END_TEST

START_TEST(full_output_is_an_error) {
    const char *const *const commands[] = {WORDS("--help"), WORDS("--version"), WORDS("tape"),
        WORDS("tasks"), WORDS("tasks", "--help"), WORDS("gradcheck", "--op", "scale")};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct outcome outcome = run_program_limited(folder_path(""), commands[i], 0, true);
        ck_assert_int_eq(outcome.status, 2);
        ck_assert_ptr_nonnull(strstr(outcome.err, "standard output: No space left on device"));
        outcome_free(&outcome);
    }
}
END_TEST

START_TEST(broken_runs_are_refused) {
    assert_program_refuses(WORDS("eval", "nowhere"), "nowhere/run.json");
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    size_t size;
    unsigned char *weights = folder_read(&size, "run/weights.npz");
    folder_write("run/weights.npz", weights, size / 2);
    assert_program_refuses(WORDS("eval", "run"), "run/weights.npz");
    folder_write("run/weights.npz", weights, size);
    free(weights);
    static const char *const broken[] = {"", "{", "[]", "{\"program\": \"mha\"}",
        "{\"program\": \"mha\", \"task\": \"fly\", \"settings\": {}}",
        "{\"program\": \"mha\", \"task\": \"copy\", \"settings\": {\"batch\": -1}}",
        "{\"program\": \"mha\", \"task\": \"copy\", \"settings\": {\"batch\": \"8\"}}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        folder_write("run/run.json", broken[i], strlen(broken[i]));
        assert_program_refuses(WORDS("eval", "run"), "run/run.json");
    }
}
END_TEST

/* Pipes in place of files must not be waited for. */
START_TEST(pipes_in_a_run_are_refused) {
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    static const char *const names[] = {"run/log.tsv", "run/weights.npz", "run/run.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(remove(folder_path(names[i])), 0);
        ck_assert_int_eq(mkfifo(folder_path(names[i]), 0600), 0);
        assert_program_refuses(
            i == 0 ? WORDS("plot", "loss", "run") : WORDS("eval", "run"), names[i]);
    }
    assert_program_refuses(WORDS("train", "copy", "--force", "-o", "run"), "run exists");
}
END_TEST

static void write_words(const char *name, const char *letters) {
    char text[26 * 26 * 6];
    size_t used = 0;
    for (size_t i = 0; i < 200; i++) {
        used += (size_t)snprintf(
            text + used, sizeof text - used, "a%c%cz\n", letters[i / 26], letters[i % 26]);
    }
    folder_write(name, text, used);
}

START_TEST(run_is_not_scored_on_other_words) {
    write_words("words", "abcdefghijklmnopqrstuvwxyz");
    struct outcome outcome = run_well(WORDS("train", "letters", "--words", "words", "--quiet",
        "--steps", "1", "--batch", "4", "-o", "run"));
    outcome_free(&outcome);
    outcome = run_well(WORDS("eval", "run"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "4-gram"));
    outcome_free(&outcome);
    write_words("words", "bacdefghijklmnopqrstuvwxyz");
    assert_program_refuses(WORDS("eval", "run"), "has changed");
}
END_TEST

START_TEST(word_lists_that_cannot_be_used_are_refused) {
    assert_program_refuses(WORDS("train", "letters", "--words", "nowhere", "-o", "run"), "nowhere");
    folder_write("empty", "", 0);
    assert_program_refuses(WORDS("train", "letters", "--words", "empty", "-o", "run"), "empty");
    folder_write("binary", "ab\0cd\xff\n", 8);
    assert_program_refuses(WORDS("train", "letters", "--words", "binary", "-o", "run"), "binary");
    assert_program_refuses(
        WORDS("train", "letters", "--words", ".", "-o", "run"), "is a directory");
}
END_TEST

TCase *program_files(void) {
    TCase *tests = tcase_create("files");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, existing_folders_are_kept);
    tcase_add_test(tests, full_disk_leaves_no_folder);
    tcase_add_test(tests, full_disk_keeps_the_run_that_was_there);
    tcase_add_test(tests, full_disk_in_mid_run_leaves_what_was_saved);
    tcase_add_test(tests, closed_standard_error_does_not_reach_files);
    tcase_add_test(tests, full_output_is_an_error);
    tcase_add_test(tests, broken_runs_are_refused);
    tcase_add_test(tests, pipes_in_a_run_are_refused);
    tcase_add_test(tests, run_is_not_scored_on_other_words);
    tcase_add_test(tests, word_lists_that_cannot_be_used_are_refused);
    return tests;
}
