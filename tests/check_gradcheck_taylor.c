/* The test by Taylor's theorem: the order at which the remainder vanishes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/gradcheck.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

static mha_gradcheck_taylor taylor;

/* Every value has its bits back. */
static void run_taylor(void) {
    static double x_before[LARGEST_ROWS * COLUMNS], w_before[WEIGHTS];
    memcpy(x_before, under_test.m.x, sizeof x_before);
    memcpy(w_before, under_test.m.w, sizeof w_before);
    memset(&taylor, 0xff, sizeof taylor);
    ck_assert_int_eq(
        mha_gradcheck_taylor_run(&taylor, &under_test.subject, &under_test.options, NULL), MHA_OK);
    ck_assert_mem_eq(x_before, under_test.m.x, sizeof x_before);
    ck_assert_mem_eq(w_before, under_test.m.w, sizeof w_before);
}

/* Steps fall by halves, except where some were left out, and the order is a ratio of two neighbours that are clear of
 * rounding. */
static void assert_curve(void) {
    bool read_off = false;
    ck_assert_uint_le(taylor.count, MHA_GRADCHECK_TAYLOR_STEPS);
    for (size_t n = 0; n < taylor.count; n++) {
        ck_assert(taylor.remainder[n] >= 0.0 && taylor.rounding[n] > 0.0);
        if (n + 1 < taylor.count) {
            ck_assert(taylor.step[n + 1] <= taylor.step[n] / 2.0);
            const double slope = log2(taylor.remainder[n] / taylor.remainder[n + 1]);
            read_off = read_off || slope == taylor.order;
        }
    }
    ck_assert(read_off || isinf(taylor.order));
}

static const example *const curved[] = {&example_polynomial, &example_gated_product,
    &example_layer_normalisation, &example_softmax_row};

START_TEST(right_gradients_have_order_two) {
    const size_t rows[] = {ROWS, LARGEST_ROWS};
    for (uint64_t seed = 0; seed < 20; seed++) {
        prepare_check(curved[_i / 2], rows[_i % 2], 1.0);
        under_test.options.seed = seed;
        run_taylor();
        ck_assert_msg(fabs(taylor.order - 2.0) <= 0.02, "seed %d: %.4f", (int)seed, taylor.order);
        ck_assert_uint_eq(taylor.count, MHA_GRADCHECK_TAYLOR_STEPS);
        ck_assert(taylor.step[0] == 0.125 && taylor.step[1] == 0.0625);
        assert_curve();
    }
}
END_TEST

static void one_entry_off(model *m) {
    m->dx[SPOILED] *= 1.001;
}

static const example *const wrong[] = {&example_fault_sign, &example_fault_factor,
    &example_fault_lost_path, &example_fault_doubled, &example_fault_entry};

START_TEST(wrong_gradients_have_order_one) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        example slightly = example_polynomial;
        slightly.spoil = one_entry_off;
        prepare_check(_i == 0 ? &slightly : wrong[_i - 1], ROWS, 1.0);
        under_test.options.seed = seed;
        run_taylor();
        ck_assert_msg(fabs(taylor.order - 1.0) <= 0.05, "seed %d: %.4f", (int)seed, taylor.order);
        assert_curve();
    }
}
END_TEST

static void factor(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] *= 1.00001;
    }
}

/* A product of two blocks is not linear in both together. */
START_TEST(linear_functions_have_none) {
    prepare_check(&example_identity, ROWS, 1.0);
    run_taylor();
    ck_assert(isinf(taylor.order) && taylor.order > 0.0);
    ck_assert_uint_eq(taylor.count, MHA_GRADCHECK_TAYLOR_STEPS);
    assert_curve();
    prepare_check(&example_matrix_product, ROWS, 1.0);
    run_taylor();
    ck_assert_double_eq_tol(taylor.order, 2.0, 0.02);
    under_test.subject.block_count = 1; /* w stands still */
    run_taylor();
    ck_assert(isinf(taylor.order) && taylor.order > 0.0);
    example off = example_identity;
    off.spoil = factor;
    prepare_check(&off, ROWS, 1.0);
    run_taylor();
    ck_assert_double_eq_tol(taylor.order, 1.0, 0.05);
}
END_TEST

static void assert_nothing(void) {
    run_taylor();
    ck_assert(isnan(taylor.order));
}

START_TEST(what_is_not_finite_has_no_order) {
    prepare_check(&example_fault_nan, ROWS, 1.0);
    assert_nothing();
    prepare_check(&example_fault_infinity, ROWS, 1.0);
    assert_nothing();
    prepare_check(&example_polynomial, ROWS, 1.0);
    under_test.m.x[SPOILED] = (double)NAN;
    assert_nothing();
    prepare_check(&example_blocked_square, ROWS, 1.0);
    assert_nothing();
}
END_TEST

/* What is blocked stays out, as in a check. */
START_TEST(keeps_excluded_outputs_out) {
    static const unsigned char excluded[ROWS * COLUMNS] = {[SPOILED] = 1};
    prepare_check(&example_blocked_square, ROWS, 1.0);
    under_test.output.excluded = excluded;
    run_taylor();
    ck_assert_double_eq_tol(taylor.order, 2.0, 0.02);
    prepare_check(&example_fault_leaking, ROWS, 1.0);
    under_test.output.excluded = excluded;
    run_taylor();
    ck_assert_double_eq_tol(taylor.order, 1.0, 0.05);
}
END_TEST

START_TEST(nothing_to_move_has_no_order) {
    prepare_check(&example_matrix_product, 0, 1.0);
    assert_nothing();
    prepare_check(&example_polynomial, ROWS, 1.0);
    under_test.options.directions = 0;
    assert_nothing();
    prepare_check(&example_polynomial, ROWS, 1.0);
    under_test.subject.output_count = 0;
    assert_nothing();
}
END_TEST

/* Forward and backward at x, then forward both ways at each step of each direction. */
START_TEST(calls_that_fail_have_no_order) {
    const int all = 2 + 2 * MHA_GRADCHECK_TAYLOR_STEPS * 4;
    for (int call = 1; call <= all + 1; call++) {
        prepare_check(&example_gated_product, ROWS, 1.0);
        under_test.failing_call = call;
        run_taylor();
        ck_assert_int_eq(isnan(taylor.order), call <= all);
    }
    ck_assert_int_eq(under_test.calls, all);
}
END_TEST

static double origin;

/* Not defined at steps between 2^-9 and 2^-5, on either side. */
static void gapped_forward(model *m) {
    example_polynomial.forward(m);
    const double u = fabs(m->x[SPOILED] - origin);
    if (u > 0x1p-9 && u < 0x1p-5) {
        m->y[SPOILED] = (double)NAN;
    }
}

START_TEST(leaves_out_steps_that_are_not_finite) {
    example gapped = example_polynomial;
    gapped.forward = gapped_forward;
    prepare_check(&gapped, ROWS, 1.0);
    origin = under_test.m.x[SPOILED];
    run_taylor();
    ck_assert_uint_lt(taylor.count, MHA_GRADCHECK_TAYLOR_STEPS);
    ck_assert_uint_gt(taylor.count, MHA_GRADCHECK_TAYLOR_STEPS / 2);
    ck_assert_double_eq_tol(taylor.order, 2.0, 0.02);
    assert_curve();
}
END_TEST

/* Forward or backward that move x: it is put back, and only what they changed at x counts. */
static void changing_backward(model *m) {
    example_polynomial.backward(m);
    m->x[SPOILED] = -m->x[SPOILED];
}

START_TEST(puts_back_what_backward_changed) {
    example changing = example_polynomial;
    changing.backward = changing_backward;
    prepare_check(&changing, ROWS, 1.0);
    run_taylor();
    ck_assert_double_eq_tol(taylor.order, 2.0, 0.02);
}
END_TEST

START_TEST(gradients_are_as_backward_left_them) {
    static double left[ROWS * COLUMNS];
    prepare_check(&example_polynomial, ROWS, 1.0);
    run_taylor();
    memcpy(left, under_test.m.dx, sizeof left);
    memset(under_test.m.dx, 0, sizeof under_test.m.dx);
    example_polynomial.backward(&under_test.m);
    ck_assert_mem_eq(left, under_test.m.dx, sizeof left);
}
END_TEST

static void assert_refused(mha_gradcheck_taylor *to, mha_status status, const char *part) {
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(
        mha_gradcheck_taylor_run(to, &under_test.subject, &under_test.options, &error), status);
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    ck_assert_int_eq(under_test.calls, 0);
}

START_TEST(refuses_what_a_check_refuses) {
    prepare_check(&example_matrix_product, ROWS, 1.0);
    assert_refused(NULL, MHA_ERROR_ARGUMENT, "needs");
    under_test.subject.backward = NULL;
    assert_refused(&taylor, MHA_ERROR_ARGUMENT, "needs");
    prepare_check(&example_matrix_product, ROWS, 1.0);
    under_test.subject.block_count = 0;
    assert_refused(&taylor, MHA_ERROR_ARGUMENT, "needs");
    prepare_check(&example_matrix_product, ROWS, 1.0);
    under_test.blocks[1].rank = 5;
    assert_refused(&taylor, MHA_ERROR_ARGUMENT, "block 1 (w) has rank 5, not 1 to 4");
    prepare_check(&example_matrix_product, ROWS, 1.0);
    under_test.options.complex_tolerance = -1.0;
    assert_refused(&taylor, MHA_ERROR_ARGUMENT, "complex tolerance -1");
    prepare_check(&example_matrix_product, ROWS, 1.0);
    under_test.output.count = SIZE_MAX / 8;
    assert_refused(&taylor, MHA_ERROR_MEMORY, "not enough memory");
    ck_assert_int_eq(
        mha_gradcheck_taylor_run(&taylor, NULL, &under_test.options, NULL), MHA_ERROR_ARGUMENT);
    ck_assert_int_eq(
        mha_gradcheck_taylor_run(&taylor, &under_test.subject, NULL, NULL), MHA_ERROR_ARGUMENT);
}
END_TEST

TCase *gradcheck_taylor(void) {
    TCase *cases = tcase_create("taylor");
    tcase_add_loop_test(cases, right_gradients_have_order_two, 0, 2 * COUNT(curved));
    tcase_add_loop_test(cases, wrong_gradients_have_order_one, 0, 1 + COUNT(wrong));
    tcase_add_test(cases, linear_functions_have_none);
    tcase_add_test(cases, what_is_not_finite_has_no_order);
    tcase_add_test(cases, keeps_excluded_outputs_out);
    tcase_add_test(cases, nothing_to_move_has_no_order);
    tcase_add_test(cases, calls_that_fail_have_no_order);
    tcase_add_test(cases, leaves_out_steps_that_are_not_finite);
    tcase_add_test(cases, puts_back_what_backward_changed);
    tcase_add_test(cases, gradients_are_as_backward_left_them);
    tcase_add_test(cases, refuses_what_a_check_refuses);
    return cases;
}
