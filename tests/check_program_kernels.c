/* Kernel, mode and threads of training runs. */
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"

/* "FOLDER": 6 steps of the task, large enough for several threads. */
static void train_with(const char *folder, const char *task, const char *const *options) {
    const char *words[12] = {task, "--steps", "6", "--eval-every", "2"};
    for (size_t i = 0; options[i] != NULL; i++) {
        words[5 + i] = options[i];
    }
    train_in(folder, words);
}

static const char *const tasks[] = {"reverse", "recall", "teacher"};
enum { TASKS = sizeof tasks / sizeof *tasks };

START_TEST(threads_leave_no_trace) {
    static const char *const threads[] = {"2", "5"};
    train_with("one", tasks[_i], WORDS("--threads", "1"));
    for (size_t i = 0; i < 2; i++) {
        train_with(threads[i], tasks[_i], WORDS("--threads", threads[i]));
        assert_same_run("one", threads[i]);
    }
    train_with("default", tasks[_i], WORDS(NULL));
    assert_same_run("one", "default");
}
END_TEST

/* Weights and log; run.json and checkpoint say which mode it was. */
static void assert_same_training(const char *run, const char *other) {
    size_t size;
    unsigned char *weights = folder_read(&size, run_file(run, RUN_WEIGHTS));
    ck_assert_int_eq(folder_holds(run_file(other, RUN_WEIGHTS), weights, size), 1);
    free(weights);
    struct log_row *rows[2];
    size_t counts[2];
    ck_assert_int_eq(run_read_log(&rows[0], &counts[0], folder_path(run), NULL), MHA_OK);
    ck_assert_int_eq(run_read_log(&rows[1], &counts[1], folder_path(other), NULL), MHA_OK);
    ck_assert_uint_eq(counts[0], 4);
    ck_assert_uint_eq(counts[1], 4);
    for (size_t i = 0; i < 4; i++) {
        rows[0][i].seconds = rows[1][i].seconds;
        ck_assert_int_eq(memcmp(&rows[0][i], &rows[1][i], sizeof rows[0][i]), 0);
    }
    free(rows[0]);
    free(rows[1]);
}

static void assert_same_output(const char *const *words, const char *const *other) {
    struct outcome first = run_well(words), second = run_well(other);
    ck_assert_str_eq(first.out, second.out);
    ck_assert_str_ne(first.out, "");
    outcome_free(&first);
    outcome_free(&second);
}

START_TEST(modes_train_the_same_weights) {
    train_with("stored", tasks[_i], WORDS("--mode", "stored"));
    train_with("tiled", tasks[_i], WORDS("--mode", "tiled", "--kernel", "fused"));
    assert_json_holds("stored/run.json", "\"kernel\": \"fused\",\n    \"mode\": \"stored\"");
    assert_json_holds("tiled/run.json", "\"kernel\": \"fused\",\n    \"mode\": \"tiled\"");
    assert_same_training("stored", "tiled");
    assert_same_output(WORDS("eval", "stored"), WORDS("eval", "tiled", "--threads", "2"));
}
END_TEST

/* The maps of a run are those of its weights, whatever its tape kept. */
START_TEST(heads_of_a_tiled_run_are_drawn) {
    train_with("stored", "reverse", WORDS(NULL));
    train_with("tiled", "reverse", WORDS("--mode", "tiled"));
    struct outcome stored = run_well(WORDS("plot", "heads", "stored"));
    struct outcome tiled = run_well(WORDS("plot", "heads", "tiled"));
    ck_assert_ptr_nonnull(strchr(tiled.out, '\n'));
    ck_assert_str_eq(strchr(tiled.out, '\n'), strchr(stored.out, '\n')); /* a line names the run */
    outcome_free(&stored);
    outcome_free(&tiled);
}
END_TEST

/* The same training but for rounding: another run, whose kernel is kept. */
START_TEST(the_kernel_is_kept) {
    train_with("fused", "teacher", WORDS(NULL));
    train_with("reference", "teacher", WORDS("--kernel", "reference"));
    assert_json_holds("reference/run.json", "\"kernel\": \"reference\"");
    struct run runs[2];
    ck_assert_int_eq(run_read(&runs[0], folder_path("fused"), NULL), MHA_OK);
    ck_assert_int_eq(run_read(&runs[1], folder_path("reference"), NULL), MHA_OK);
    ck_assert_int_eq(runs[0].settings.kernel, MHA_KERNEL_FUSED);
    ck_assert_int_eq(runs[1].settings.kernel, MHA_KERNEL_REFERENCE);
    const size_t width = runs[0].settings.shape.width, count = 4 * width * width;
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        const double off = (double)runs[0].weights[i] - (double)runs[1].weights[i];
        ck_assert_double_eq_tol(off, 0.0, 1e-4);
        others += runs[0].weights[i] != runs[1].weights[i] ? 1 : 0;
    }
    ck_assert_uint_gt(others, 0);
    run_free(&runs[0]);
    run_free(&runs[1]);
    struct outcome outcome = run_well(WORDS("eval", "reference", "--threads", "2"));
    outcome_free(&outcome);
    train_in("run", WORDS("teacher", "--steps", "4", "--eval-every", "2", "--kernel", "reference"));
    resume_in("run", WORDS("--steps", "6"), 0);
    assert_same_run("reference", "run");
}
END_TEST

START_TEST(a_run_goes_on_with_other_threads) {
    train_with("whole", "reverse", WORDS("--threads", "1"));
    train_in("run", WORDS("reverse", "--steps", "2", "--eval-every", "2", "--threads", "3"));
    resume_in("run", WORDS("--steps", "4", "--threads", "2"), 0);
    resume_in("run", WORDS("--steps", "6"), 0);
    assert_same_run("whole", "run");
}
END_TEST

TCase *program_kernels(void) {
    TCase *tests = tcase_create("kernels");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, threads_leave_no_trace, 0, TASKS);
    tcase_add_loop_test(tests, modes_train_the_same_weights, 0, TASKS);
    tcase_add_test(tests, heads_of_a_tiled_run_are_drawn);
    tcase_add_test(tests, the_kernel_is_kept);
    tcase_add_test(tests, a_run_goes_on_with_other_threads);
    return tests;
}
