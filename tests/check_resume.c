/* A run that was stopped goes on to the bits of one that never was. */
#include "check_resume.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "count.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"
#include "task_arrays.h"
#include "word_lists.h"

Suite *resume_suite(void);

/* Examples of the task arrays: targets are the queries, scaled. */
static void write_examples(const char *name, uint64_t seed, float scale) {
    enum { N = 12, T = 3, D = 4 };
    static float query[N * T * D], target[N * T * D];
    fill_normals(query, COUNT(query), seed);
    for (size_t i = 0; i < COUNT(query); i++) {
        target[i] = scale * query[i];
    }
    examples_write(name, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, query, N, T, D),
                             ARRAY("target", MHA_FLOAT32, target, N, T, D)});
}

enum { MOST_OPTIONS = 20 };

/* Runs that differ in what a checkpoint has to carry. */
static const char *const cases[][MOST_OPTIONS] = {
    {"reverse", "--batch", "8", "--eval-every", "7", "--momentum", "0.9", "--nesterov"},
    {"letters", "--words", "words", "--batch", "8", "--eval-every", "10", "--schedule-steps", "40"},
    {"copy", "--batch", "8", "--eval-every", "9", "--schedule", "cosine", "--schedule-steps", "45",
        "--warmup", "5", "--seed", "18446744073709551615"},
    {"teacher", "--batch", "4", "--eval-every", "13", "--clip", "0.01", "--weight-decay", "0.01",
        "--momentum", "0.5"},
    {"mean", "--batch", "4", "--eval-every", "100", "--momentum", "0", "--lr", "0.1"},
    {"arrays", "--data", "data.npz", "--batch", "5", "--eval-every", "4", "--validation", "0.25"},
    {"arrays", "--data", "data.npz", "--batch", "5", "--eval-every", "4"},
    {"teacher", "--batch", "4", "--kernel", "reference"},
    {"teacher", "--batch", "4", "--mode", "tiled"},
};
enum { CASES = COUNT(cases) };

static void train_case(const char *folder, const char *const *options, const char *steps) {
    const char *words[MOST_OPTIONS + 3] = {"--steps", steps};
    for (size_t i = 0; i < MOST_OPTIONS && options[i] != NULL; i++) {
        words[i + 2] = options[i];
    }
    train_in(folder, words);
}

/* Trains the whole case, and again with stops after these steps, which end with NULL. */
static void assert_stops_leave_no_trace(const char *const *options, const char *const *steps) {
    write_list(LISTED_WORDS, "");
    write_examples("data.npz", 1, 0.5f);
    train_case("whole", options, "40");
    train_case("parts", options, *steps++);
    for (; *steps != NULL; steps++) {
        resume_in("parts", WORDS("--steps", *steps), 0);
    }
    assert_same_run("whole", "parts");
    assert_no_litter("parts");
}

START_TEST(one_stop_leaves_no_trace) {
    assert_stops_leave_no_trace(cases[_i], WORDS("20", "40"));
}
END_TEST

START_TEST(two_stops_leave_no_trace) {
    assert_stops_leave_no_trace(cases[_i], WORDS("13", "27", "40"));
}
END_TEST

START_TEST(stops_at_the_ends_leave_no_trace) {
    assert_stops_leave_no_trace(cases[0], WORDS("0", "1", "39", "40"));
}
END_TEST

/* Stopped by signals, at whatever steps that falls on. */
START_TEST(interruptions_leave_no_trace) {
    static const char *const task[MOST_OPTIONS] = {
        "mean", "--batch", "2", "--eval-every", "7", "--lr", "0.05"};
    train_case("whole", task, "600");
    const pid_t first =
        start_program(folder_path(""), WORDS("train", "mean", "--batch", "2", "--eval-every", "7",
                                           "--lr", "0.05", "--steps", "600", "-o", "run"));
    pid_t pid = first;
    int status = 0;
    for (long stop = 0; stop < 6; stop++) {
        const struct timespec pause = {.tv_nsec = 20000000 + 15000000 * (stop % 3)};
        nanosleep(&pause, NULL);
        kill(pid, stop % 2 == 0 ? SIGINT : SIGTERM);
        status = wait_for_program(pid);
        ck_assert_msg(status == 0 || status > 128, "status %d", status);
        if (assert_run_is_whole("run") == 0) { /* the signal came first */
            pid = start_program(
                folder_path(""), WORDS("train", "mean", "--batch", "2", "--eval-every", "7", "--lr",
                                     "0.05", "--steps", "600", "-o", "run"));
        } else {
            pid =
                start_program(folder_path(""), WORDS("train", "--resume", "-o", "run", "--quiet"));
        }
    }
    ck_assert_int_eq(wait_for_program(pid), 0);
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

/* A run that is told to end where it was stopped ends there for good. */
START_TEST(a_run_may_end_where_it_was_stopped) {
    static const char *const task[MOST_OPTIONS] = {"mean", "--batch", "2", "--eval-every", "7"};
    const pid_t pid =
        start_program(folder_path(""), WORDS("train", "mean", "--batch", "2", "--eval-every", "7",
                                           "--steps", "90000000", "-o", "run"));
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    kill(pid, SIGHUP);
    kill(pid, SIGHUP); /* as a terminal that closes may send it */
    ck_assert_int_eq(wait_for_program(pid), 128 + SIGHUP);
    char steps[32];
    snprintf(steps, sizeof steps, "%zu", checkpoint_step("run"));
    train_case("whole", task, steps);
    for (int round = 0; round < 2; round++) {
        if (round == 0) {
            resume_in("run", WORDS("--steps", steps), 0);
        } else {
            resume_in("run", WORDS(NULL), 0);
        }
        assert_same_run("whole", "run");
    }
}
END_TEST

static char *read_text(const char *name) {
    size_t size;
    char *text = (char *)folder_read(&size, name);
    text[size] = '\0';
    return text;
}

/* A run that is complete stays, to the byte, and says its result. */
START_TEST(complete_runs_stay) {
    train_case("run", cases[0], "10");
    static const char *const names[] = {RUN_CHECKPOINT, RUN_WEIGHTS, RUN_JSON, RUN_LOG};
    unsigned char *bytes[4];
    size_t sizes[4];
    for (size_t i = 0; i < 4; i++) {
        bytes[i] = folder_read(&sizes[i], run_file("run", names[i]));
    }
    struct outcome outcome = run_well(
        WORDS("train", "reverse", "--resume", "-o", "run", "--steps", "10", "--batch", "8"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "reverse: 10 steps"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "held-out: loss"));
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_msg(
            folder_holds(run_file("run", names[i]), bytes[i], sizes[i]), "%s changed", names[i]);
        free(bytes[i]);
    }
}
END_TEST

/* The best row is the lowest of the log. */
START_TEST(best_row_is_told) {
    train_case("run", cases[0], "24");
    struct log_row *rows;
    size_t count, best = 0;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_eq(count, 5); /* 0 7 14 21 24 */
    for (size_t i = 1; i < count; i++) {
        best = rows[i].eval_loss < rows[best].eval_loss ? i : best;
    }
    json_t *root = json_load_file(folder_path("run/run.json"), 0, NULL);
    const json_t *result = json_object_get(root, "result");
    ck_assert_double_eq(
        json_real_value(json_object_get(result, "best_loss")), rows[best].eval_loss);
    ck_assert_int_eq(
        json_integer_value(json_object_get(result, "best_step")), (json_int_t)rows[best].step);
    json_decref(root);
    free(rows);
}
END_TEST

/* What was stopped in mid-run comes back from its checkpoint alone, and from its log. */
START_TEST(other_files_are_made_again) {
    train_case("whole", cases[0], "20");
    train_case("run", cases[0], "13");
    char *garbage = read_text("whole/weights.npz");
    for (int round = 0; round < 6; round++) {
        static const char *const broken[] = {"", "{", "{\"program\": \"mha\"}"};
        if (round < 3) {
            folder_write("run/run.json", broken[round], strlen(broken[round]));
            folder_write("run/weights.npz", garbage, (size_t)round * 100);
        } else {
            remove(folder_path(round == 4 ? "run/weights.npz" : "run/run.json"));
        }
        if (round == 5) {
            remove(folder_path("run/weights.npz"));
        }
        char steps[8];
        snprintf(steps, sizeof steps, "%d", round < 3 ? 13 + round : 20);
        resume_in("run", WORDS("--steps", steps), 0);
        ck_assert_int_eq(assert_run_is_whole("run"), 1);
    }
    free(garbage);
    assert_same_run("whole", "run");
}
END_TEST

/* With other held-out examples the rows that follow are of these, and so is the best of them. */
START_TEST(held_out_examples_may_change) {
    write_examples("data.npz", 1, 0.5f);
    write_examples("first.npz", 2, 0.5f);
    write_examples("second.npz", 3, 3.0f); /* with higher losses */
    static const char *const task[MOST_OPTIONS] = {"arrays", "--data", "data.npz", "--eval-data",
        "first.npz", "--eval-every", "5", "--clip", "0.1"};
    train_case("whole", task, "20");
    train_case("run", task, "10");
    resume_in("run", WORDS("--steps", "20", "--eval-data", "second.npz"), 0);
    size_t size;
    unsigned char *weights = folder_read(&size, "whole/weights.npz");
    ck_assert_int_eq(folder_holds("run/weights.npz", weights, size), 1);
    free(weights);
    struct log_row *whole, *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&whole, &count, folder_path("whole"), NULL), MHA_OK);
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_eq(count, 5);
    for (size_t i = 0; i < count; i++) {
        ck_assert(rows[i].loss == whole[i].loss || i == 0);
        ck_assert_int_eq(rows[i].eval_loss == whole[i].eval_loss, i <= 2);
    }
    ck_assert_double_lt(rows[2].eval_loss, rows[3].eval_loss);
    json_t *root = json_load_file(folder_path("run/run.json"), 0, NULL);
    const json_t *best = json_object_get(json_object_get(root, "result"), "best_loss");
    ck_assert_double_eq(json_real_value(best), fmin(rows[3].eval_loss, rows[4].eval_loss));
    json_decref(root);
    free(whole);
    free(rows);
}
END_TEST

/* A run that diverged goes on from its last checkpoint, and diverges again. */
START_TEST(diverged_runs_diverge_again) {
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = run_program(folder_path(""),
            i == 0 ? WORDS("train", "reverse", "--quiet", "--lr", "1e30", "-o", "run")
                   : WORDS("train", "--resume", "--quiet", "-o", "run"));
        ck_assert_msg(outcome.status == 1, "status %d: %s", outcome.status, outcome.err);
        ck_assert_ptr_nonnull(strstr(outcome.err, "diverged at step "));
        outcome_free(&outcome);
        ck_assert_int_eq(assert_run_is_whole("run"), 1);
        assert_json_holds("run/run.json", "\"diverged\"");
    }
}
END_TEST

Suite *resume_suite(void) {
    Suite *suite = suite_create("resume");
    TCase *tests = tcase_create("bits");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, one_stop_leaves_no_trace, 0, CASES);
    tcase_add_loop_test(tests, two_stops_leave_no_trace, 0, CASES);
    tcase_add_test(tests, stops_at_the_ends_leave_no_trace);
    tcase_add_test(tests, complete_runs_stay);
    tcase_add_test(tests, best_row_is_told);
    tcase_add_test(tests, other_files_are_made_again);
    tcase_add_test(tests, held_out_examples_may_change);
    tcase_add_test(tests, diverged_runs_diverge_again);
    suite_add_tcase(suite, tests);
    TCase *signals = tcase_create("interruptions");
    tcase_add_checked_fixture(signals, folder_make, folder_remove);
    tcase_set_timeout(signals, 60);
    tcase_set_tags(signals, "fork");
    tcase_add_test(signals, interruptions_leave_no_trace);
    tcase_add_test(signals, a_run_may_end_where_it_was_stopped);
    suite_add_tcase(suite, signals);
    suite_add_tcase(suite, resume_refusals());
    suite_add_tcase(suite, resume_starts());
    suite_add_tcase(suite, resume_checkpoints());
    suite_add_tcase(suite, resume_logs());
    suite_add_tcase(suite, resume_full_disks());
    suite_add_tcase(suite, resume_kills());
    return suite;
}
