/* What the checker shows to an observer, and that its numbers are those of its reports. */
#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/gradcheck.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

/* What was shown, block by block. */
typedef struct view {
    size_t calls, block, count;
    bool directional, has_complex;
    double analytic[WEIGHTS], numeric[WEIGHTS], estimate[WEIGHTS], complex_step[WEIGHTS];
} view;

static view seen[BLOCKS];
static size_t shown;

static void look(void *observer, const mha_gradcheck_derivatives *derivatives) {
    ck_assert_ptr_eq(observer, seen);
    ck_assert_uint_lt(shown, BLOCKS);
    ck_assert_uint_le(derivatives->count, WEIGHTS);
    view *to = &seen[shown++];
    to->block = derivatives->block;
    to->count = derivatives->count;
    to->directional = derivatives->directional;
    to->has_complex = derivatives->complex_step != NULL;
    for (size_t i = 0; i < to->count; i++) {
        to->analytic[i] = derivatives->analytic[i];
        to->numeric[i] = derivatives->numeric[i];
        to->estimate[i] = derivatives->estimate[i];
        to->complex_step[i] = to->has_complex ? derivatives->complex_step[i] : (double)NAN;
    }
}

static void prepare_view(const example *chosen, size_t rows) {
    shown = 0;
    memset(seen, 0, sizeof seen);
    prepare_check(chosen, rows, 1.0);
    under_test.options.observe = look;
    under_test.options.observer = seen;
}

/* The sizes are those of a layer normalisation: w has fewer entries than x. */
START_TEST(shows_each_block_once) {
    prepare_view(&example_layer_normalisation, ROWS);
    run_check();
    assert_check_passes();
    ck_assert_uint_eq(shown, BLOCKS);
    for (size_t b = 0; b < BLOCKS; b++) {
        const view *of = &seen[b];
        const double *gradient = b == 0 ? under_test.m.dx : under_test.m.dw;
        ck_assert_uint_eq(of->block, b);
        ck_assert_uint_eq(of->count, under_test.reports[b].checked);
        ck_assert_uint_eq(of->count, under_test.blocks[b].dims[0] * COLUMNS);
        ck_assert(!of->directional && !of->has_complex);
        for (size_t i = 0; i < of->count; i++) {
            ck_assert(of->analytic[i] == gradient[i]);
            ck_assert_double_eq_tol(of->numeric[i], gradient[i], 1e-9);
            ck_assert(of->estimate[i] > 0.0 && of->estimate[i] < 1e-9);
        }
    }
}
END_TEST

START_TEST(shows_directions) {
    prepare_view(&example_gated_product, LARGEST_ROWS);
    under_test.options.directions = 3;
    under_test.options.entry_limit = WEIGHTS;
    run_check();
    assert_check_passes();
    ck_assert_uint_eq(shown, BLOCKS);
    ck_assert(seen[0].directional && !seen[1].directional);
    ck_assert_uint_eq(seen[0].count, 3);
    ck_assert_uint_eq(seen[1].count, WEIGHTS);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(
            fabs(seen[0].numeric[i] - seen[0].analytic[i]) <= 1e-9 * fabs(seen[0].analytic[i]));
    }
}
END_TEST

static bool cubic(void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    const setup *called = context;
    for (size_t i = 0; i < called->m.rows * COLUMNS; i++) {
        const mha_complex x = blocks[0][i];
        outputs[0][i] = x * x * x - 2.0 * x;
    }
    return true;
}

START_TEST(shows_the_complex_step) {
    prepare_view(&example_polynomial, ROWS);
    under_test.subject.forward_complex = cubic;
    run_check();
    ck_assert_uint_eq(shown, 1);
    ck_assert(seen[0].has_complex);
    for (size_t i = 0; i < seen[0].count; i++) {
        ck_assert_double_eq_tol(seen[0].complex_step[i], under_test.m.dx[i], 1e-13);
    }
}
END_TEST

/* Wrong blocks are shown too, those that are not finite are not, nor is anything when a call fails at x. */
START_TEST(shows_what_is_finite) {
    prepare_view(&example_fault_sign, ROWS);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
    ck_assert_uint_eq(shown, 1);
    prepare_view(&example_unused_w_nan, ROWS);
    run_check();
    assert_check_verdict(1, MHA_GRADCHECK_NOT_FINITE);
    ck_assert_uint_eq(shown, 1);
    ck_assert_uint_eq(seen[0].block, 0);
    prepare_view(&example_polynomial, ROWS);
    under_test.failing_call = 2;
    run_check();
    ck_assert_uint_eq(shown, 0);
}
END_TEST

static double allowed_of(const view *of, size_t i) {
    double largest = 0.0;
    for (size_t k = 0; k < of->count; k++) {
        largest = fmax(largest, fabs(of->numeric[k]));
    }
    return fmax(MHA_GRADCHECK_ESTIMATES * of->estimate[i], MHA_GRADCHECK_SHARE * largest);
}

/* The margin is the largest distance in units of what is allowed, and says PASS or FAIL. */
START_TEST(margins_are_those_of_the_entries) {
    static const example *const functions[] = {&example_polynomial, &example_softmax_row,
        &example_layer_normalisation, &example_fault_sign, &example_fault_factor,
        &example_fault_entry, &example_fault_transposed, &example_fault_without_row_term};
    for (size_t f = 0; f < COUNT(functions); f++) {
        prepare_view(functions[f], ROWS);
        run_check();
        for (size_t b = 0; b < under_test.subject.block_count; b++) {
            const mha_gradcheck_report *report = &under_test.reports[b];
            const bool passed = report->verdict == MHA_GRADCHECK_PASS;
            double margin = 0.0;
            for (size_t i = 0; i < seen[b].count; i++) {
                const double distance = fabs(seen[b].analytic[i] - seen[b].numeric[i]);
                margin = fmax(margin, distance / allowed_of(&seen[b], i));
            }
            ck_assert_double_eq_tol(report->margin, margin, 1e-9 * margin);
            ck_assert_int_eq(passed, report->margin <= 1.0);
            const size_t entry = report->index[0] * COLUMNS + report->index[1];
            ck_assert(report->estimate == seen[b].estimate[entry]);
            ck_assert(report->numeric == seen[b].numeric[entry]);
        }
    }
}
END_TEST

/* Of a declared zero the margin is that of the largest number, in units of what may be rounding. */
START_TEST(margins_of_zeros) {
    prepare_view(&example_unused_w, ROWS);
    under_test.blocks[1].zero_expected = true;
    run_check();
    assert_check_verdict(1, MHA_GRADCHECK_PASS);
    ck_assert(under_test.reports[1].margin == 0.0);
    prepare_view(&example_unused_w_not_zero, ROWS);
    under_test.blocks[1].zero_expected = true;
    run_check();
    assert_check_verdict(1, MHA_GRADCHECK_NOT_ZERO);
    ck_assert(under_test.reports[1].margin > 1.0);
    assert_check_index(1, SPOILED + 1);
}
END_TEST

TCase *gradcheck_observer(void) {
    TCase *cases = tcase_create("observer");
    tcase_add_test(cases, shows_each_block_once);
    tcase_add_test(cases, shows_directions);
    tcase_add_test(cases, shows_the_complex_step);
    tcase_add_test(cases, shows_what_is_finite);
    tcase_add_test(cases, margins_are_those_of_the_entries);
    tcase_add_test(cases, margins_of_zeros);
    return cases;
}
