/* The log of a run that goes on: cut back to what its checkpoint has seen, or refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check_resume.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"
#include "run/write.h"

static const char row[] = "\t1\t2\tnan\t0.5\t3\t0.25\n";

/* A log with the rows of these steps, which end with -1, and `end` behind them. */
static void write_log(const int *steps, const char *end) {
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "%s\n", LOG_HEADER);
    for (; *steps >= 0; steps++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%d%s", *steps, row);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "%s", end);
    folder_write("log.tsv", text, used);
}

/* What is kept of the log, which ends up in the file: the rows of these steps. */
static void assert_cut_to(size_t step, bool last_row, const int *steps) {
    struct kept_log kept;
    mha_error error;
    ck_assert_msg(run_keep_log(&kept, folder_path(""), step, 5, last_row, &error) == MHA_OK, "%s",
        error.text);
    ck_assert_int_eq(run_cut_log(&kept, folder_path(""), NULL), MHA_OK);
    size_t size;
    char *cut = (char *)folder_read(&size, "log.tsv");
    ck_assert_uint_eq(size, kept.size);
    write_log(steps, "");
    ck_assert_int_eq(folder_holds("log.tsv", cut, size), 1);
    free(cut);
    run_kept_log_free(&kept);
}

#define STEPS(...) ((const int[]){__VA_ARGS__, -1})

START_TEST(logs_are_cut_back_to_their_grid) {
    write_log(STEPS(0, 5, 10), "");
    assert_cut_to(10, false, STEPS(0, 5, 10));
    assert_cut_to(9, false, STEPS(0, 5));
    write_log(STEPS(0, 5, 7), "");
    assert_cut_to(7, true, STEPS(0, 5, 7));
    assert_cut_to(7, false, STEPS(0, 5));
    write_log(STEPS(0, 5, 7, 10, 15), "20\t1");
    assert_cut_to(12, false, STEPS(0, 5, 10));
    write_log(STEPS(0, 5), "6\t1\t2");
    assert_cut_to(5, true, STEPS(0, 5));
    write_log(STEPS(0), "torn");
    assert_cut_to(4, false, STEPS(0));
    write_log(STEPS(0, 5), "no row\n");
    assert_cut_to(8, false, STEPS(0, 5));
}
END_TEST

static void assert_log_refused(size_t step, bool last_row, const char *words) {
    struct kept_log kept;
    mha_error error;
    size_t before, after;
    free(folder_read(&before, "log.tsv"));
    ck_assert_int_eq(
        run_keep_log(&kept, folder_path(""), step, 5, last_row, &error), MHA_ERROR_FORMAT);
    ck_assert_ptr_null(kept.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    free(folder_read(&after, "log.tsv"));
    ck_assert_uint_eq(after, before);
}

START_TEST(logs_with_a_gap_are_refused) {
    write_log(STEPS(0, 5, 15), "");
    assert_log_refused(15, false, "the row of step 10 is missing");
    write_log(STEPS(5, 10), "");
    assert_log_refused(10, false, "the row of step 0 is missing");
    write_log(STEPS(0, 5), "10\t1\t2\tnan\t0.5\t3\t0.2");
    assert_log_refused(10, false, "the row of step 10 is missing");
    assert_log_refused(8, true, "was cut off at step 8, which has no row: give more --steps");
    write_log(STEPS(0), "5\t1\n");
    assert_log_refused(5, false, "log.tsv:3: not a row of 7 numbers");
    folder_write("log.tsv", "", 0);
    assert_log_refused(0, false, "the row of step 0 is missing");
    folder_write("log.tsv", "step\n", 5);
    assert_log_refused(0, false, "log.tsv:1: not the header");
}
END_TEST

START_TEST(runs_with_a_broken_log_are_refused) {
    train_in("run", WORDS("mean", "--batch", "2", "--steps", "3"));
    ck_assert_int_eq(remove(folder_path("run/log.tsv")), 0);
    assert_program_refuses(
        WORDS("train", "--resume", "-o", "run"), "run/log.tsv: No such file or directory");
    ck_assert_int_eq(mkfifo(folder_path("run/log.tsv"), 0600), 0);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "4"), "run/log.tsv");
    ck_assert_int_eq(remove(folder_path("run/log.tsv")), 0);
    folder_write("run/log.tsv", LOG_HEADER "\n", sizeof LOG_HEADER);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "4"),
        "run/log.tsv: the row of step 0 is missing");
    ck_assert_uint_eq(checkpoint_step("run"), 3);
}
END_TEST

TCase *resume_logs(void) {
    TCase *tests = tcase_create("logs");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, logs_are_cut_back_to_their_grid);
    tcase_add_test(tests, logs_with_a_gap_are_refused);
    tcase_add_test(tests, runs_with_a_broken_log_are_refused);
    return tests;
}
