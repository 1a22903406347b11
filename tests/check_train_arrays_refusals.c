/* What `mha train arrays` refuses or tells: options, data and weights that cannot be used, data that
 * changed, and arrays that are not read. */
#include "check_train_arrays.h"

#include <math.h>

#include "folder.h"
#include "program_cases.h"
#include "task_arrays.h"

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
    outcome =
        run_well(WORDS("train", "--resume", "-o", "run", "--steps", "2", "--eval-data", "b.npz"));
    outcome_free(&outcome);
    outcome = run_well(WORDS("eval", "run"));
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
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

TCase *train_arrays_refusals(void) {
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, folder_make, folder_remove);
    tcase_add_test(refusals, other_tasks_take_no_eval_data);
    tcase_add_test(refusals, a_nan_in_the_data_is_named);
    tcase_add_test(refusals, unusable_options_are_refused);
    tcase_add_test(refusals, changed_data_are_noticed);
    tcase_add_test(refusals, changed_held_out_data_are_noticed);
    tcase_add_test(refusals, weights_that_are_not_finite_are_refused);
    tcase_add_test(refusals, arrays_that_are_not_read_are_named);
    return refusals;
}
