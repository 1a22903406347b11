/* The complex step of the gradient checker, and the stages in complex numbers that it is for. */
#include <check.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/gradcheck.h>
#include <mha/mha64.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

static int complex_calls, failing_complex_call;

/* x^3 - 2 x, as the example's. */
static bool polynomial(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    const setup *called = context;
    for (size_t i = 0; i < called->m.rows * COLUMNS; i++) {
        const mha_complex x = blocks[0][i];
        outputs[0][i] = x * x * x - 2.0 * x;
    }
    return ++complex_calls != failing_complex_call;
}

static bool not_a_number(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    polynomial(context, outputs, blocks);
    outputs[0][0] = (double)NAN * (mha_complex)I;
    return true;
}

static void prepare_polynomial(const example *chosen, size_t rows) {
    prepare_check(chosen, rows, 1.0);
    under_test.subject.forward_complex = polynomial;
    complex_calls = failing_complex_call = 0;
}

/* Entry by entry and along directions, to the last digits. */
START_TEST(agrees_to_the_last_digits) {
    const size_t rows[] = {ROWS, LARGEST_ROWS};
    for (size_t i = 0; i < COUNT(rows); i++) {
        prepare_polynomial(&example_polynomial, rows[i]);
        run_check();
        assert_check_passes();
        ck_assert_int_eq(under_test.reports[0].directional, i == 1);
        ck_assert(under_test.reports[0].complex_error < 1e-14);
        ck_assert(fabs(under_test.reports[0].complex_step - under_test.reports[0].analytic) <
                  1e-13 * fabs(under_test.reports[0].analytic));
        ck_assert_int_eq(complex_calls, (int)under_test.reports[0].checked);
    }
}
END_TEST

static void one_entry_off(model *m) {
    m->dx[SPOILED] += 3e-11 * m->dy[SPOILED];
}

/* Below what differences are asked for. */
START_TEST(sees_what_differences_do_not) {
    example fault = example_polynomial;
    fault.spoil = one_entry_off;
    prepare_check(&fault, ROWS, 1.0);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_PASS);
    ck_assert(isnan(under_test.reports[0].complex_step));
    ck_assert(isnan(under_test.reports[0].complex_error));
    prepare_polynomial(&fault, ROWS);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
    assert_check_index(0, SPOILED);
    ck_assert(under_test.reports[0].error <= MHA_GRADCHECK_SHARE);
    ck_assert(under_test.reports[0].margin <= 1.0);
    ck_assert(under_test.reports[0].complex_error > 1e-12);
    under_test.options.complex_tolerance = 1e-6;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_PASS);
}
END_TEST

START_TEST(reports_complex_calls_that_fail) {
    for (int call = 1; call <= ROWS * COLUMNS; call++) {
        prepare_polynomial(&example_polynomial, ROWS);
        failing_complex_call = call;
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_CALL_FAILED);
        assert_check_index(0, (size_t)call - 1);
    }
    prepare_polynomial(&example_polynomial, ROWS);
    under_test.subject.forward_complex = not_a_number;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_NOT_FINITE);
    ck_assert(isnan(under_test.reports[0].complex_step));
}
END_TEST

/* Declared zero, it is not, whatever differences and the analytic gradient say. */
static void forgetful_forward(model *m) {
    memset(m->y, 0, sizeof m->y);
}

static void forgetful_backward(model *m) {
    (void)m;
}

START_TEST(denies_a_zero) {
    const example forgetful = {forgetful_forward, forgetful_backward, 0, NULL};
    prepare_polynomial(&forgetful, ROWS);
    under_test.blocks[0].zero_expected = true;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_NOT_ZERO);
    prepare_check(&forgetful, ROWS, 1.0);
    under_test.blocks[0].zero_expected = true;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_PASS);
}
END_TEST

/* Of real numbers each stage gives what the real stage gives, and stays real. */
START_TEST(complex_stages_are_the_real_ones) {
    const mha_shape shape = {2, 3, 5, 6, 2};
    const int64_t lengths[] = {4, 0};
    const mha_mask mask = {.lengths = lengths, .causal = MHA_CAUSAL_BOTTOM_RIGHT};
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){7}, 1);
    mha_pass pass = {.shape = shape, .mask = &mask};
    mha_complex *value[MHA_VALUE_COUNT] = {NULL};
    double *real[MHA_VALUE_COUNT] = {NULL};
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t count = mha_value_count((mha_value)i, &shape);
        real[i] = calloc(count, sizeof *real[i]);
        value[i] = calloc(count, sizeof *value[i]);
        ck_assert(real[i] != NULL && value[i] != NULL);
        for (size_t k = 0; i < MHA_Q && k < count; k++) {
            value[i][k] = real[i][k] = mha_rng_normal(&rng);
        }
        pass.value[i] = real[i];
    }
    for (size_t stage = 0; stage < MHA_STAGE_COUNT; stage++) {
        const mha_value result = mha_stages[stage].result;
        mha_stages[stage].forward(real[result], &pass);
        mha_complex_stage(stage, value[result], (const mha_complex *const *)value, &mask, &shape);
        for (size_t k = 0; k < mha_value_count(result, &shape); k++) {
            const double expected = real[result][k];
            ck_assert(cimag(value[result][k]) == 0.0);
            ck_assert(creal(value[result][k]) == expected ||
                      fabs(creal(value[result][k]) - expected) <= 1e-14 * (1.0 + fabs(expected)));
        }
    }
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        free(real[i]);
        free(value[i]);
    }
}
END_TEST

TCase *gradcheck_complex(void) {
    TCase *cases = tcase_create("complex step");
    tcase_add_test(cases, agrees_to_the_last_digits);
    tcase_add_test(cases, sees_what_differences_do_not);
    tcase_add_test(cases, reports_complex_calls_that_fail);
    tcase_add_test(cases, denies_a_zero);
    tcase_add_test(cases, complex_stages_are_the_real_ones);
    return cases;
}
