/* Runs: what they write, how they end, and what an interruption leaves. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "program_cases.h"
#include "run/run.h"

START_TEST(training_writes_a_run_that_reads_back) {
    struct outcome outcome = train_briefly("run", "3");
    ck_assert_str_eq(outcome.err, "");
    ck_assert_ptr_nonnull(strstr(outcome.out, "reverse: 12 steps"));
    outcome_free(&outcome);
    struct run run;
    mha_error error;
    ck_assert_msg(run_read(&run, folder_path("run"), &error) == MHA_OK, "%s", error.text);
    ck_assert_str_eq(run.task->name, "reverse");
    ck_assert_uint_eq(run.settings.seed, 3);
    ck_assert_uint_eq(run.settings.shape.batch, 8);
    run_free(&run);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), &error), MHA_OK);
    static const size_t steps[] = {0, 5, 10, 12};
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(rows[i].step, steps[i]);
        ck_assert_double_finite(rows[i].eval_loss);
    }
    ck_assert_double_nan(rows[0].loss);
    ck_assert_double_eq(rows[3].learning_rate, 0.3);
    free(rows);
    outcome = run_well(WORDS("eval", "run"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "accuracy"));
    outcome_free(&outcome);
}
END_TEST

/* Settings that came later are missing in run.json, and mean what they meant then. */
START_TEST(older_runs_are_scored) {
    static const char *const later[] = {"schedule_steps", "loss", "data", "eval_data", "validation",
        "max_bytes", "weights", "eval_fingerprint", "kernel", "mode"};
    struct outcome outcome = train_briefly("run", "3");
    outcome_free(&outcome);
    const char *path = folder_path("run/run.json");
    json_t *root = json_load_file(path, 0, NULL);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        ck_assert_int_eq(json_object_del(json_object_get(root, "settings"), later[i]), 0);
    }
    ck_assert_int_eq(json_dump_file(root, path, 0), 0);
    json_decref(root);
    struct run run;
    mha_error error;
    ck_assert_msg(run_read(&run, folder_path("run"), &error) == MHA_OK, "%s", error.text);
    ck_assert_int_eq(run.settings.loss, TASK_CROSS_ENTROPY);
    ck_assert_int_eq(run.settings.kernel, MHA_KERNEL_REFERENCE);
    ck_assert_int_eq(run.settings.mode, MHA_MODE_STORED);
    run_free(&run);
    outcome = run_well(WORDS("eval", "run"));
    outcome_free(&outcome);
}
END_TEST

START_TEST(equal_seeds_give_equal_weights) {
    struct outcome first = train_briefly("a", "5"), second = train_briefly("b", "5");
    struct outcome third = train_briefly("c", "6");
    size_t size;
    unsigned char *bytes = folder_read(&size, "a/weights.npz");
    ck_assert_int_eq(folder_holds("b/weights.npz", bytes, size), 1);
    ck_assert_int_eq(folder_holds("c/weights.npz", bytes, size), 0);
    free(bytes);
    outcome_free(&first);
    outcome_free(&second);
    outcome_free(&third);
}
END_TEST

/* First and last entries of float32(default_rng(7).normal(size=(32,32)) / sqrt(32)), four times in
 * a row, computed with NumPy 1.24.2. */
START_TEST(first_weights_are_those_of_numpy) {
    struct outcome outcome = run_well(
        WORDS("train", "copy", "--steps", "0", "--seed", "7", "--width", "32", "-o", "run"));
    outcome_free(&outcome);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    static const struct {
        size_t index;
        float value;
    } golden[] = {{0, 0x1.c80d420000000p-13f}, {1, 0x1.b0a1380000000p-5f},
        {2, -0x1.8cfe780000000p-5f}, {1023, -0x1.81f5020000000p-3f}, {1024, -0x1.7197980000000p-2f},
        {2047, -0x1.91484a0000000p-4f}, {2048, -0x1.468a440000000p-4f},
        {3072, 0x1.e971e60000000p-3f}, {4095, 0x1.343f880000000p-4f}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        ck_assert_int_eq(memcmp(&run.weights[golden[i].index], &golden[i].value, sizeof(float)), 0);
    }
    run_free(&run);
}
END_TEST

START_TEST(divergence_is_refused_and_logged) {
    struct outcome outcome = run_program(
        folder_path(""), WORDS("train", "reverse", "--quiet", "--lr", "1e30", "-o", "run"));
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "diverged at step "));
    outcome_free(&outcome);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_ge(count, 2);
    const struct log_row *last = &rows[count - 1];
    ck_assert_msg(!(last->loss - last->loss == 0.0), "the last row shows a loss of %g", last->loss);
    ck_assert_double_nan(last->eval_loss);
    assert_json_holds("run/run.json", "\"diverged\"");
    free(rows);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    for (size_t i = 0; i < 4 * 32 * 32; i++) {
        ck_assert_double_finite((double)run.weights[i]);
    }
    run_free(&run);
}
END_TEST

static void pause_briefly(void) {
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
}

/* Until the run has written its third row, at most 20 s. */
static void wait_for_rows(const char *folder) {
    for (int i = 0; i < 1000; i++) {
        struct log_row *rows;
        size_t count;
        const mha_status status = run_read_log(&rows, &count, folder, NULL);
        free(rows);
        if (status == MHA_OK && count >= 3) {
            return;
        }
        pause_briefly();
    }
    ck_abort_msg("no rows in %s", folder);
}

START_TEST(interrupted_run_is_saved) {
    const int signals[] = {SIGINT, SIGTERM};
    const pid_t pid = start_program(folder_path(""),
        WORDS("train", "reverse", "--steps", "1000000", "--eval-every", "3", "-o", "run"));
    wait_for_rows(folder_path("run"));
    ck_assert_int_eq(kill(pid, signals[_i]), 0);
    ck_assert_int_eq(wait_for_program(pid), 128 + signals[_i]);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_double_finite(rows[count - 1].eval_loss);
    free(rows);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    run_free(&run);
    assert_json_holds("run/run.json", "\"interrupted\"");
}
END_TEST

/* Whatever the moment, a run that is stopped leaves a run that can be read, or nothing. */
START_TEST(early_interruption_leaves_a_run_or_nothing) {
    for (long delay = 0; delay < 20; delay++) {
        char name[32];
        snprintf(name, sizeof name, "run%ld", delay);
        const pid_t pid = start_program(
            folder_path(""), WORDS("train", "copy", "--steps", "100000", "--quiet", "-o", name));
        const struct timespec pause = {.tv_nsec = delay * 1000000};
        nanosleep(&pause, NULL);
        ck_assert_int_eq(kill(pid, SIGINT), 0);
        ck_assert_int_eq(wait_for_program(pid), 130);
        struct run run;
        mha_error error;
        if (access(folder_path(name), F_OK) == 0) {
            ck_assert_msg(run_read(&run, folder_path(name), &error) == MHA_OK, "%s", error.text);
            run_free(&run);
        }
    }
}
END_TEST

TCase *program_runs(void) {
    TCase *tests = tcase_create("runs");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, training_writes_a_run_that_reads_back);
    tcase_add_test(tests, older_runs_are_scored);
    tcase_add_test(tests, equal_seeds_give_equal_weights);
    tcase_add_test(tests, first_weights_are_those_of_numpy);
    tcase_add_test(tests, divergence_is_refused_and_logged);
    tcase_add_loop_test(tests, interrupted_run_is_saved, 0, 2);
    return tests;
}

/* A signal that meets the start of a process is lost under valgrind, so this stays out of it. */
TCase *program_early_signals(void) {
    TCase *tests = tcase_create("early signals");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_set_tags(tests, "fork");
    tcase_add_test(tests, early_interruption_leaves_a_run_or_nothing);
    return tests;
}
