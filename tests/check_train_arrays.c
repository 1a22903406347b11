/* `mha train arrays`, and the commands that meet its runs, as a user gives them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "task_arrays.h"

Suite *train_arrays_suite(void);

enum { N = 12, T = 4, S = 3, D = 6 };

/* Twelve examples: contexts and as targets their means; queries whose first three features tell the
 * class, and labels that name it. */
static struct {
    float query[N * T * D], context[N * S * D], target[N * T * D];
    int64_t labels[N * T];
} made;

static void make_examples(void) {
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

static void write_regression(const char *file) {
    make_examples();
    examples_write(
        file, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                  ARRAY("context", MHA_FLOAT32, made.context, N, S, D),
                  ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
}

static void write_classes(const char *file) {
    make_examples();
    examples_write(
        file, (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                  ARRAY("labels", MHA_INT64, made.labels, N, T)});
}

static void assert_says(const char *text, const char *words) {
    ck_assert_msg(strstr(text, words) != NULL, "'%s' is not in: %s", words, text);
}

/* Runs it and looks for words on standard output. */
static void run_and_find(const char *const *words, const char *text) {
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

START_TEST(other_tasks_take_no_eval_data) {
    write_classes("a.npz");
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    assert_program_refuses(WORDS("eval", "run", "--eval-data", "a.npz"),
        "--eval-data 'a.npz': the task reverse makes its own examples");
    assert_program_refuses(WORDS("train", "reverse", "--data", "a.npz"),
        "--data 'a.npz': the task reverse makes its own examples");
}
END_TEST

/* Sample 5 of the data holds a NaN: said before a step is made, and no run is left. */
START_TEST(a_nan_in_the_data_is_named) {
    write_regression("a.npz");
    made.query[5 * T * D + 1 * D + 2] = NAN;
    examples_write(
        "b.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("context", MHA_FLOAT32, made.context, N, S, D),
                     ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
    assert_program_refuses(WORDS("train", "arrays", "--data", "b.npz", "-o", "run"),
        "/b.npz: query[5, 1, 2] is nan\n");
    assert_program_refuses(
        WORDS("train", "arrays", "--data", "a.npz", "--eval-data", "b.npz", "-o", "run"),
        "/b.npz: query[5, 1, 2] is nan\n");
    make_examples();
    made.target[5 * T * D] = NAN;
    examples_write(
        "b.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
    assert_program_refuses(WORDS("train", "arrays", "--data", "b.npz", "-o", "run"),
        "/b.npz: target[5, 0, 0] is nan\n");
}
END_TEST

START_TEST(unusable_options_are_refused) {
    write_regression("a.npz");
    write_classes("b.npz");
    folder_write("text", "query\n", 6);
    const struct {
        const char *words[6], *text;
    } cases[] = {
        {{NULL}, "the task arrays needs --data FILE"},
        {{"--data", "nowhere.npz"}, "nowhere.npz: No such file or directory"},
        {{"--data", "text"}, "text"},
        {{"--data", "a.npz", "--width", "8"}, "/a.npz: query has width 6, not 8"},
        {{"--data", "a.npz", "--target-length", "5"}, "/a.npz: query has target length 4, not 5"},
        {{"--data", "a.npz", "--source-length", "4"}, "/a.npz: context has source length 3, not 4"},
        {{"--data", "a.npz", "--heads", "4"}, "width 6 is not divisible by 4 heads"},
        {{"--data", "a.npz", "--batch", "13"}, "/a.npz: batch 13 is more than the 12 training"},
        {{"--data", "a.npz", "--causal"}, "needs an alignment: top-left or bottom-right"},
        {{"--data", "a.npz", "--validation", "0.01"}, "/a.npz: validation 0.01 holds out 0 of 12"},
        {{"--data", "a.npz", "--validation", "1"}, "--validation '1'"},
        {{"--data", "a.npz", "--validation", "0.5", "--eval-data", "a.npz"}, "give one"},
        {{"--data", "a.npz", "--eval-data", "b.npz"}, "/b.npz has labels, "},
        {{"--data", "a.npz", "--max-bytes", "100"}, "a.npz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *w = cases[i].words;
        assert_program_refuses(
            WORDS("train", "arrays", "-o", "run", w[0], w[1], w[2], w[3], w[4], w[5]),
            cases[i].text);
    }
}
END_TEST

START_TEST(changed_data_are_noticed) {
    write_classes("a.npz");
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz", "--validation",
        "0.25", "--steps", "1", "--quiet", "-o", "run"));
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
    made.labels[7] = 0; /* it was 1 */
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("labels", MHA_INT64, made.labels, N, T)});
    assert_program_refuses(WORDS("eval", "run"), "/a.npz has changed: its fingerprint is ");
}
END_TEST

/* Held-out examples that changed under the same name are not scored as if they were the old ones; named
 * anew they are other examples. */
START_TEST(changed_held_out_data_are_noticed) {
    write_classes("a.npz");
    write_classes("b.npz");
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz", "--eval-data",
        "b.npz", "--steps", "1", "--quiet", "-o", "run"));
    outcome_free(&outcome);
    made.labels[7] = 0;
    examples_write(
        "b.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("labels", MHA_INT64, made.labels, N, T),
                     ARRAY("lenghts", MHA_INT64, made.labels, N)});
    assert_program_refuses(WORDS("eval", "run"), "/b.npz has changed: its fingerprint is ");
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "2"),
        "/b.npz has changed: its fingerprint is ");
    outcome = run_well(WORDS("eval", "run", "--eval-data", "b.npz"));
    assert_says(outcome.err, "b.npz: left out: lenghts (1)\n");
    outcome_free(&outcome);
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

/* Weights to start from are checked before a run stands on them. */
START_TEST(weights_that_are_not_finite_are_refused) {
    static double w[D * D], bad[D * D];
    static const int64_t heads = 1;
    write_classes("a.npz");
    static const struct {
        double number;
        const char *text;
    } cases[] = {{(double)NAN, "w.npz: wk[2, 3] is nan\n"},
        {1e300, "w.npz: wk[2, 3] is 1e+300, beyond the largest float\n"}};
    for (size_t i = 0; i < 2; i++) {
        bad[2 * D + 3] = cases[i].number;
        examples_write(
            "w.npz", (const mha_array[MOST_ARRAYS]){ARRAY("wq", MHA_FLOAT64, w, D, D),
                         ARRAY("wk", MHA_FLOAT64, bad, D, D), ARRAY("wv", MHA_FLOAT64, w, D, D),
                         ARRAY("wo", MHA_FLOAT64, w, D, D),
                         {.name = "heads", .dtype = MHA_INT64, .data = &heads}});
        assert_program_refuses(
            WORDS("train", "arrays", "--data", "a.npz", "--weights", "w.npz", "-o", "run"),
            cases[i].text);
    }
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

/* A misspelt name would be a silent loss. */
START_TEST(arrays_that_are_not_read_are_named) {
    make_examples();
    examples_write(
        "a.npz", (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, made.query, N, T, D),
                     ARRAY("contxt", MHA_FLOAT32, made.context, N, S, D),
                     ARRAY("target", MHA_FLOAT32, made.target, N, T, D)});
    struct outcome outcome = run_well(WORDS("train", "arrays", "--data", "a.npz", "--validation",
        "0.25", "--steps", "1", "--quiet", "-o", "run"));
    assert_says(outcome.err, "/a.npz: left out: contxt");
    outcome_free(&outcome);
    outcome = run_well(WORDS("eval", "run"));
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
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
    tcase_add_test(program, other_tasks_take_no_eval_data);
    tcase_add_test(program, a_nan_in_the_data_is_named);
    tcase_add_test(program, unusable_options_are_refused);
    tcase_add_test(program, changed_data_are_noticed);
    tcase_add_test(program, changed_held_out_data_are_noticed);
    tcase_add_test(program, a_run_goes_on_with_other_held_out_data);
    tcase_add_test(program, targets_that_do_not_vary_have_no_relative_error);
    tcase_add_test(program, weights_that_are_not_finite_are_refused);
    tcase_add_test(program, a_batch_without_a_counted_position_has_no_loss);
    tcase_add_test(program, arrays_that_are_not_read_are_named);
    tcase_add_test(program, the_task_is_listed);
    suite_add_tcase(suite, program);
    return suite;
}
