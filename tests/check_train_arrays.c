/* `mha train arrays`, and the commands that meet its runs, as a user gives them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_train_arrays.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "task_arrays.h"

Suite *train_arrays_suite(void);

struct train_examples made;

void make_examples(void) {
    fill_normals(made.query, N * T * D, 1);
    fill_normals(made.context, N * S * D, 2);
    for (size_t i = 0; i < (size_t)N * T; i++) {
        made.labels[i] = (int64_t)(i / T % 3);
        made.query[i * D + i / T % 3] += 4.0f;
        for (size_t k = 0; k < D; k++) {
            const float *context = made.context + i / T * S * D + k;
            made.target[i * D + k] = (context[0] + context[D] + context[2 * D]) / 3;
        }
    }
}

void write_regression(const char *file) {
    make_examples();
    examples_write(
        file, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                  ARRAY("context", MHA_FLOAT32, made.context, N, S, D),
                  ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
}

void write_classes(const char *file) {
    make_examples();
    examples_write(
        file, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                  ARRAY("labels", MHA_INT64, made.labels, N, T)});
}

void assert_says(const char *text, const char *words) {
    ck_assert_msg(strstr(text, words) != NULL, "'%s' is not in: %s", words, text);
}

void run_and_find(const char *const *words, const char *text) {
    struct outcome outcome = run_well(words);
    assert_says(outcome.out, text);
    outcome_free(&outcome);
}

/* The rows of a log, and what its last row holds. */
static struct log_row last_row(const char *folder, size_t rows_expected) {
    struct log_row *rows;
    size_t count;
    mha_error error;
    ck_assert_msg(
        run_read_log(&rows, &count, folder_path(folder), &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(count, rows_expected);
    const struct log_row last = rows[count - 1];
    free(rows);
    return last;
}

/* Attention that is even solves it, so that the loss falls a hundredfold. */
START_TEST(a_regression_is_learned) {
    write_regression("a.npz");
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz", "--eval-data",
        "a.npz", "--heads", "2", "--steps", "400", "--eval-every", "100", "-o", "run"));
    assert_says(outcome.out, "arrays: 400 steps in ");
    assert_says(outcome.out, "held-out: loss ");
    assert_says(outcome.out, ", relative error ");
    outcome_free(&outcome);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_eq(count, 5);
    ck_assert_double_lt(rows[4].eval_loss, 0.01 * rows[0].eval_loss);
    ck_assert_double_nan(rows[4].eval_accuracy);
    free(rows);
    assert_json_holds("run/run.json", "\"loss\": \"mse\"");
    assert_json_holds("run/run.json", "\"batch\": 12");
    assert_json_holds("run/run.json", "/a.npz\"");
}
END_TEST

START_TEST(classes_are_learned_and_scored_again) {
    write_classes("a.safetensors");
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.safetensors",
        "--validation", "0.25", "--steps", "100", "-o", "run"));
    assert_says(outcome.out, "held-out: loss ");
    assert_says(outcome.out, " nats, accuracy ");
    outcome_free(&outcome);
    const struct log_row last = last_row("run", 3); /* every 50 steps */
    ck_assert_double_eq(last.eval_accuracy, 1.0);
    assert_json_holds("run/run.json", "\"batch\": 9");
    char text[64];
    snprintf(text, sizeof text, "arrays after 100 steps: loss %.4g nats", last.eval_loss);
    run_and_find(WORDS("eval", "run"), text);
    run_and_find(WORDS("eval", "run", "--eval-data", "a.safetensors"), "nats, accuracy");
    run_and_find(WORDS("plot", "heads", "run", "--example", "2"), "held-out example 2");
    assert_program_refuses(WORDS("plot", "heads", "run", "--example", "3"),
        "there is no held-out example 3: task arrays has 3");
}
END_TEST

START_TEST(a_run_without_held_out_examples_says_so) {
    write_classes("a.npz");
    struct outcome outcome =
        run_well(WORDS("train", "arrays", "--data", "a.npz", "--steps", "60", "-o", "run"));
    assert_says(outcome.out, "\nno held-out examples: give --validation or --eval-data\n");
    ck_assert_ptr_null(strstr(outcome.out, "nan"));
    outcome_free(&outcome);
    const struct log_row last = last_row("run", 3);
    ck_assert_double_finite(last.loss);
    ck_assert_double_nan(last.eval_loss);
    ck_assert_double_nan(last.eval_accuracy);
    assert_program_refuses(WORDS("eval", "run"),
        "mha: run: trained without held-out examples; give --eval-data FILE\n");
    assert_program_refuses(WORDS("plot", "heads", "run"),
        "mha: the run has no held-out example to draw: it was trained without --validation and "
        "--eval-data\n");
    run_and_find(WORDS("eval", "run", "--eval-data", "a.npz"), "arrays after 60 steps: loss ");
    run_and_find(WORDS("plot", "loss", "run"), "Loss of run");
}
END_TEST

/* A run that held out a share goes on with a file of held-out examples, and trains as before. */
START_TEST(a_run_goes_on_with_other_held_out_data) {
    write_classes("a.npz");
    static const char *const runs[] = {"run", "whole"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz",
            "--validation", "0.25", "--steps", i == 0 ? "5" : "9", "--quiet", "-o", runs[i]));
        outcome_free(&outcome);
    }
    struct outcome outcome =
        run_well(WORDS("train", "--resume", "-o", "run", "--steps", "9", "--eval-data", "a.npz"));
    outcome_free(&outcome);
    size_t size;
    unsigned char *weights = folder_read(&size, "whole/weights.npz");
    ck_assert(folder_holds("run/weights.npz", weights, size));
    free(weights);
}
END_TEST

/* A number of the targets, which all are alike, leaves no variance to compare with. */
START_TEST(targets_that_do_not_vary_have_no_relative_error) {
    make_examples();
    for (size_t i = 0; i < (size_t)N * T * D; i++) {
        made.target[i] = 300.1f;
    }
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
    run_and_find(WORDS("train", "arrays", "--data", "a.npz", "--eval-data", "a.npz", "--steps", "0",
                     "-o", "run"),
        "; the targets do not vary\n");
    assert_json_holds("run/run.json", "\"eval_relative_error\": null");
}
END_TEST

/* An update on a batch in which nothing counts has no loss. */
START_TEST(a_batch_without_a_counted_position_has_no_loss) {
    make_examples();
    static unsigned char count[N * T];
    count[0] = 1;
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("target", MHA_FLOAT32, made.target, N, T, D),
                     ARRAY("count", MHA_BOOL, count, N, T)});
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz", "--batch", "1",
        "--steps", "12", "--eval-every", "1", "-o", "run"));
    outcome_free(&outcome);
    struct log_row *rows;
    size_t number, with_loss = 0;
    ck_assert_int_eq(run_read_log(&rows, &number, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_eq(number, 13);
    for (size_t i = 0; i < number; i++) {
        with_loss += isnan(rows[i].loss) ? 0 : 1;
    }
    ck_assert_uint_eq(with_loss, 1); /* once in the epoch */
    free(rows);
}
END_TEST

START_TEST(the_task_is_listed) {
    run_and_find(WORDS("tasks"), "\narrays    learn from your own examples");
    run_and_find(WORDS("tasks"), "sizes from the data, heads 1\n");
}
END_TEST

Suite *train_arrays_suite(void) {
    Suite *suite = suite_create("train arrays");
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, folder_make, folder_remove);
    tcase_add_test(program, a_regression_is_learned);
    tcase_add_test(program, classes_are_learned_and_scored_again);
    tcase_add_test(program, a_run_without_held_out_examples_says_so);
    tcase_add_test(program, a_run_goes_on_with_other_held_out_data);
    tcase_add_test(program, targets_that_do_not_vary_have_no_relative_error);
    tcase_add_test(program, a_batch_without_a_counted_position_has_no_loss);
    tcase_add_test(program, the_task_is_listed);
    suite_add_tcase(suite, program);
    suite_add_tcase(suite, train_arrays_refusals());
    return suite;
}
