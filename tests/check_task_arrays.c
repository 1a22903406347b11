/* The task arrays: what counts in its losses, by numbers worked out by hand. */
#include "check_task_arrays.h"

#include <math.h>

#include "folder.h"
#include "task_arrays.h"

Suite *task_arrays_suite(void);

/* One example, T = D = 2; attention is even, so that each output is the mean of the query rows that it
 * sees: (2,2) of both, (1,0) of the first alone. */

static const float two_rows[] = {1, 0, 3, 4};

struct counting_case {
    bool lengths, count;
    int64_t length;
    unsigned char counts[2];
    double loss;
};

/* The loss on one example, through an update and, with the same file held out, through a score. */
static void assert_loss(const mha_array *arrays, double loss, double accuracy) {
    examples_write("a.npz", arrays);
    struct settings settings = arrays_settings("a.npz");
    settings.eval_data = settings.data;
    struct trainer trainer = arrays_trainer(&settings);
    make_averaging(&trainer);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_HELD_OUT, NULL), MHA_OK);
    ck_assert_double_eq_tol(score.loss, loss, 1e-6);
    if (isnan(accuracy)) {
        ck_assert_double_nan(score.accuracy);
    } else {
        ck_assert_double_eq(score.accuracy, accuracy);
    }
    ck_assert_double_eq(loss_of_step(&trainer, 1), score.loss);
    trainer_destroy(&trainer);
}

/* Targets (2,2) and (0,0). */
START_TEST(squared_errors_count_where_they_should) {
    static const float target[] = {2, 2, 0, 0};
    static const struct counting_case cases[] = {
        {false, false, 0, {0, 0}, (0 + 0 + 4 + 4) / 4.0},
        {false, true, 0, {0, 1}, (4 + 4) / 2.0},
        {false, true, 0, {1, 0}, 0.0},
        {true, false, 2, {0, 0}, (0 + 0 + 4 + 4) / 4.0},
        {true, false, 1, {0, 0}, (1 + 4) / 2.0}, /* (1,0) against (2,2) */
        {true, true, 1, {0, 1}, (1 + 0) / 2.0},  /* (1,0) against (0,0) */
        {true, true, 1, {1, 1}, (1 + 4 + 1 + 0) / 4.0},
    };
    const struct counting_case *c = &cases[_i];
    assert_loss((const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, two_rows, 1, 2, 2),
                    ARRAY("target", MHA_FLOAT32, target, 1, 2, 2),
                    ARRAY(c->lengths ? "lengths" : NULL, MHA_INT64, &c->length, 1),
                    ARRAY(c->count ? "count" : NULL, MHA_BOOL, c->counts, 1, 2)},
        c->loss, (double)NAN);
}
END_TEST

/* Labels 0 and 1, or 1 and -1: a logit of 1 above the other gives ln(1 + 1/e), and below it one more. */
START_TEST(classes_count_where_they_should) {
    static const int64_t both[] = {0, 1}, first[] = {1, -1};
    static const int64_t padding[] = {0, 255}, torch_padding[] = {-100, 1};
    const double even = log(2.0), right = log(1.0 + exp(-1.0)), wrong = 1.0 + right;
    const struct {
        const int64_t *labels;
        struct counting_case c;
        double accuracy;
    } cases[] = {
        {both, {false, false, 0, {0, 0}, even}, 0.5}, /* of equal logits the first is the answer */
        {first, {false, false, 0, {0, 0}, even}, 0.0},
        {both, {true, false, 1, {0, 0}, right}, 1.0},
        {first, {true, false, 1, {0, 0}, wrong}, 0.0},
        {both, {true, true, 1, {0, 1}, wrong}, 0.0},
        {both, {true, true, 1, {1, 1}, (right + wrong) / 2}, 0.5},
        {first, {true, true, 1, {1, 1}, wrong}, 0.0}, /* -1 never counts */
        /* where a position does not count, the label may be anything */
        {padding, {true, true, 1, {1, 0}, right}, 1.0},
        {torch_padding, {true, true, 1, {0, 1}, wrong}, 0.0},
    };
    const struct counting_case *c = &cases[_i].c;
    /* Booleans, or integers of 0 and 1. */
    assert_loss((const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, two_rows, 1, 2, 2),
                    ARRAY("labels", MHA_INT64, cases[_i].labels, 1, 2),
                    ARRAY(c->lengths ? "lengths" : NULL, MHA_INT64, &c->length, 1),
                    ARRAY(c->count ? "count" : NULL, MHA_UINT8, c->counts, 1, 2)},
        c->loss, cases[_i].accuracy);
}
END_TEST

/* In cross-attention lengths are those of the context, and every query counts. */
START_TEST(lengths_of_a_context_leave_queries_alone) {
    static const float context[] = {1, 0, 3, 4}, target[] = {2, 2, 0, 0};
    static const int64_t length = 1;
    assert_loss(
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, two_rows, 1, 2, 2),
            ARRAY("context", MHA_FLOAT32, context, 1, 2, 2),
            ARRAY("target", MHA_FLOAT32, target, 1, 2, 2), ARRAY("lengths", MHA_INT64, &length, 1)},
        (1 + 4 + 1 + 0) / 4.0, (double)NAN);
}
END_TEST

/* What does not count and what no query sees may be anything. */
START_TEST(numbers_that_do_not_matter_may_be_anything) {
    static const float context[] = {1, 0, NAN, INFINITY}, target[] = {2, 2, NAN, -INFINITY};
    static const int64_t length = 1;
    static const unsigned char counts[] = {1, 0};
    assert_loss(
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, two_rows, 1, 2, 2),
            ARRAY("context", MHA_FLOAT32, context, 1, 2, 2),
            ARRAY("target", MHA_FLOAT32, target, 1, 2, 2), ARRAY("lengths", MHA_INT64, &length, 1),
            ARRAY("count", MHA_BOOL, counts, 1, 2)},
        (1 + 4) / 2.0, (double)NAN);
}
END_TEST

START_TEST(relative_error_is_over_what_counts) {
    static const float target[] = {2, 4, 100, 100}; /* variance 1 of what counts */
    static const unsigned char counts[] = {1, 0};
    examples_write("a.npz",
        (const mha_array[MOST_ARRAYS]){ARRAY("query", MHA_FLOAT32, two_rows, 1, 2, 2),
            ARRAY("target", MHA_FLOAT32, target, 1, 2, 2), ARRAY("count", MHA_BOOL, counts, 1, 2)});
    struct settings settings = arrays_settings("a.npz");
    settings.eval_data = settings.data;
    struct trainer trainer = arrays_trainer(&settings);
    make_averaging(&trainer);
    struct score score;
    ck_assert_int_eq(trainer_evaluate(&score, &trainer, STREAM_EVAL, NULL), MHA_OK);
    ck_assert_double_eq_tol(score.loss, 2.0, 1e-6);
    ck_assert_double_eq_tol(score.relative_error, 2.0, 1e-6);
    trainer_destroy(&trainer);
}
END_TEST

Suite *task_arrays_suite(void) {
    Suite *suite = suite_create("task arrays");
    TCase *counting = tcase_create("counting");
    tcase_add_checked_fixture(counting, folder_make, folder_remove);
    tcase_add_loop_test(counting, squared_errors_count_where_they_should, 0, 7);
    tcase_add_loop_test(counting, classes_count_where_they_should, 0, 9);
    tcase_add_test(counting, lengths_of_a_context_leave_queries_alone);
    tcase_add_test(counting, numbers_that_do_not_matter_may_be_anything);
    tcase_add_test(counting, relative_error_is_over_what_counts);
    suite_add_tcase(suite, counting);

    suite_add_tcase(suite, task_arrays_masks());
    suite_add_tcase(suite, task_arrays_order());
    suite_add_tcase(suite, task_arrays_files());
    suite_add_tcase(suite, task_arrays_refusals());
    return suite;
}
