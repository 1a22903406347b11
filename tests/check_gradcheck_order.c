/* The order of Taylor's remainder where L has noise or kinks, and what the checker says of calls that change what they
 * should leave alone. */
#include <check.h>
#include <complex.h>
#include <math.h>

#include <mha/gradcheck.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

static double order_of(void) {
    mha_gradcheck_taylor taylor;
    ck_assert_int_eq(
        mha_gradcheck_taylor_run(&taylor, &under_test.subject, &under_test.options, NULL), MHA_OK);
    return taylor.order;
}

static void single_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->y[i] = (double)sinf((float)m->x[i]);
    }
}

static void single_backward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += m->dy[i] * cos(m->x[i]);
    }
}

static void single_backward_wrong(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += 1.5 * m->dy[i] * cos(m->x[i]);
    }
}

/* What single precision leaves at small steps is no slope. */
START_TEST(noise_has_no_order) {
    const example right = {single_forward, single_backward, 0, NULL};
    const example wrong = {single_forward, single_backward_wrong, 0, NULL};
    for (uint64_t seed = 0; seed < 10; seed++) {
        prepare_check(&right, ROWS, 1.0);
        under_test.options.seed = seed;
        ck_assert(order_of() > 1.8);
        prepare_check(&wrong, ROWS, 1.0);
        under_test.options.seed = seed;
        ck_assert_double_eq_tol(order_of(), 1.0, 0.1);
    }
}
END_TEST

static int calls;

static void late_forward(model *m) {
    example_polynomial.forward(m);
    m->x[SPOILED] += ++calls > 5 ? 0.25 : 0.0;
}

static void late_backward(model *m) {
    example_polynomial.backward(m);
    m->x[SPOILED] += ++calls > 1 ? 0.25 : 0.0;
}

static void grasping_backward(model *m) {
    example_polynomial.backward(m);
    m->dy[SPOILED] *= 2.0;
}

/* At whatever call: both are put back. */
START_TEST(late_changes_are_seen) {
    const example changing[] = {{late_forward, example_polynomial.backward, 0, NULL},
        {example_polynomial.forward, late_backward, 0, NULL},
        {example_polynomial.forward, grasping_backward, 0, NULL}};
    calls = 0;
    prepare_check(&changing[_i], ROWS, 1.0);
    const double x = under_test.m.x[SPOILED];
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_INPUTS_CHANGED);
    ck_assert(under_test.m.x[SPOILED] == x);
}
END_TEST

/* Of all outputs but one, once it has been called for all. */
static bool forgetful_complex(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    const setup *called = context;
    for (size_t i = 0; i < called->m.rows * COLUMNS; i++) {
        const mha_complex x = blocks[0][i];
        if (calls == 0 || i != SPOILED) {
            outputs[0][i] = x * x * x - 2.0 * x;
        }
    }
    calls++;
    return true;
}

START_TEST(what_is_not_written_is_not_finite) {
    prepare_check(&example_polynomial, ROWS, 1.0);
    under_test.subject.forward_complex = forgetful_complex;
    calls = 0;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_NOT_FINITE);
}
END_TEST

TCase *gradcheck_order(void) {
    TCase *tests = tcase_create("order");
    tcase_add_test(tests, noise_has_no_order);
    tcase_add_loop_test(tests, late_changes_are_seen, 0, 3);
    tcase_add_test(tests, what_is_not_written_is_not_finite);
    return tests;
}
