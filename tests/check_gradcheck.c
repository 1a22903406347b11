/* The gradient checker: right gradients pass, planted faults fail and are named. */
#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/gradcheck.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"
#include "suites.h"

static const example *const right[] = {&example_polynomial, &example_matrix_product,
    &example_gated_product, &example_softmax_row, &example_layer_normalisation};

START_TEST(passes_right_gradients) {
    prepare_check(right[_i], ROWS, 1.0);
    run_check();
    assert_check_passes();
    ck_assert(under_test.reports[0].error <= 1e-10);
    ck_assert(!under_test.reports[0].directional);
    ck_assert_uint_eq(under_test.reports[0].checked, ROWS * COLUMNS);
    ck_assert_uint_eq(under_test.reports[1].checked, right[_i]->w_rows * COLUMNS);
}
END_TEST

START_TEST(passes_right_gradients_along_directions) {
    prepare_check(right[_i], LARGEST_ROWS, 1.0);
    run_check();
    assert_check_passes();
    ck_assert(under_test.reports[0].error <= 1e-10);
    ck_assert(under_test.reports[0].directional && !under_test.reports[1].directional);
    ck_assert_uint_eq(under_test.reports[0].checked, 4);
}
END_TEST

/* Inputs of every size, with steps that are far larger than they are, or no larger. */
START_TEST(passes_tiny_and_huge_inputs) {
    const double scales[] = {1e-12, 1e6};
    const example *const functions[] = {&example_matrix_product, &example_gated_product};
    for (size_t i = 0; i < 4; i++) {
        prepare_check(functions[i / 2], ROWS, scales[i % 2]);
        run_check();
        assert_check_passes();
    }
    prepare_check(&example_layer_normalisation, ROWS, 1e6);
    run_check();
    assert_check_passes();
    prepare_check(&example_fault_transposed, ROWS, 1e-12);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_PASS);
    assert_check_verdict(1, MHA_GRADCHECK_WRONG);
}
END_TEST

static double origins[LARGEST_ROWS * COLUMNS];
static double narrow; /* how far from where it was x may be, in units of max(1, |x|) */

/* y = x within that, and not a number farther away. */
static void narrow_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        const double most = narrow * fmax(1.0, fabs(origins[i]));
        m->y[i] = fabs(m->x[i] - origins[i]) <= most ? m->x[i] : (double)NAN;
    }
}

/* Steps of a few thousand spacings of x and less: x + step and x - step are apart by another distance than
 * twice the step, and that distance counts. Where only such steps are left, differences are exact all the
 * same. */
START_TEST(divides_by_the_distance_really_moved) {
    const size_t rows[] = {ROWS, LARGEST_ROWS};
    const double scales[] = {1.0, 1e15};
    const double step = 0x1p-40 * 1.3;
    ck_assert(fabs(((1.3 + step) - (1.3 - step)) / (2.0 * step) - 1.0) > 1e-5);
    for (size_t i = 0; i < 4; i++) {
        example identity = example_identity;
        identity.forward = narrow_forward;
        narrow = rows[i / 2] == ROWS ? 0x1p-38
                                     : 0x1p-20; /* along a direction next to nothing may be lost */
        prepare_check(&identity, rows[i / 2], scales[i % 2]);
        under_test.m.x[0] = 1.3 * scales[i % 2];
        memcpy(origins, under_test.m.x, sizeof origins);
        run_check();
        ck_assert_int_eq(under_test.reports[0].directional, rows[i / 2] == LARGEST_ROWS);
        assert_check_passes();
        ck_assert(under_test.reports[0].error <= 1e-11);
    }
}
END_TEST

static const struct {
    const example *right, *fault;
    size_t block; /* the wrong one */
    double error; /* least */
} faults[] = {
    {&example_polynomial, &example_fault_sign, 0, 1.99},
    {&example_polynomial, &example_fault_factor, 0, 0.99e-5},
    {&example_polynomial, &example_fault_all_zero, 0, 0.99},
    {&example_polynomial, &example_fault_entry, 0, 1e-4},
    {&example_matrix_product, &example_fault_transposed, 1, 0.1},
    {&example_gated_product, &example_fault_overwritten, 0, 0.1},
    {&example_gated_product, &example_fault_lost_path, 0, 0.1},
    {&example_softmax_row, &example_fault_doubled, 0, 0.99},
    {&example_softmax_row, &example_fault_without_row_term, 0, 0.1},
};

/* The reported entry is the one that is farthest off, and the other block is not blamed. */
START_TEST(catches_faults) {
    static double expected[WEIGHTS];
    const size_t block = faults[_i].block;
    const double *gradient = block == 0 ? under_test.m.dx : under_test.m.dw;
    prepare_check(faults[_i].right, ROWS, 1.0);
    const size_t count = under_test.blocks[block].dims[0] * COLUMNS;
    run_check();
    memcpy(expected, gradient, count * sizeof *expected);
    prepare_check(faults[_i].fault, ROWS, 1.0);
    run_check();
    const mha_gradcheck_report *report = &under_test.reports[block];
    assert_check_verdict(block, MHA_GRADCHECK_WRONG);
    ck_assert(report->error >= faults[_i].error);
    const size_t entry = report->index[0] * COLUMNS + report->index[1];
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs(gradient[entry] - expected[entry]);
        ck_assert(fabs(gradient[i] - expected[i]) <= distance * (1.0 + 1e-6));
    }
    ck_assert(report->analytic == gradient[entry]);
    ck_assert(report->margin > 1.0);
    ck_assert_double_eq_tol(report->numeric, expected[entry], 1e-9);
    if (under_test.subject.block_count == 2) {
        assert_check_verdict(1 - block, MHA_GRADCHECK_PASS);
    }
}
END_TEST

START_TEST(catches_faults_along_directions) {
    prepare_check(faults[_i].fault, LARGEST_ROWS, 1.0);
    run_check();
    assert_check_verdict(faults[_i].block, MHA_GRADCHECK_WRONG);
}
END_TEST

/* The two errors cancel when all entries are moved alike. */
START_TEST(moves_along_random_directions) {
    prepare_check(&example_fault_pair, LARGEST_ROWS, 1.0);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
}
END_TEST

/* Against d(L)/dy = 1 both gradients of the softmax are zero, and the fault does not exist. */
START_TEST(catches_what_a_plain_sum_hides) {
    prepare_check(&example_fault_doubled, ROWS, 1.0);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
    ck_assert_double_eq_tol(under_test.reports[0].error, 1.0, 1e-6);
    example_softmax_row.forward(&under_test.m);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        under_test.m.dx[i] = 0.0;
        under_test.m.dy[i] = 1.0;
    }
    example_fault_doubled.backward(&under_test.m);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        ck_assert_double_eq_tol(under_test.m.dx[i], 0.0, 1e-15);
    }
}
END_TEST

START_TEST(names_the_entry) {
    const size_t dims[] = {1, 3, 2, 2};
    prepare_check(&example_fault_entry, ROWS, 1.0);
    under_test.blocks[0].rank = 4;
    memcpy(under_test.blocks[0].dims, dims, sizeof dims);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
    ck_assert_mem_eq(under_test.reports[0].index, ((const size_t[]){0, 1, 1, 0}), sizeof dims);
}
END_TEST

/* Entry by entry and, in a large block, without moving it. */
START_TEST(catches_what_is_not_finite) {
    const example *const functions[] = {&example_fault_nan, &example_fault_infinity};
    const size_t rows[] = {ROWS, LARGEST_ROWS};
    for (size_t i = 0; i < 4; i++) {
        prepare_check(functions[i / 2], rows[i % 2], 1.0);
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_NOT_FINITE);
        assert_check_index(0, SPOILED);
        ck_assert(!isfinite(under_test.reports[0].analytic) && isnan(under_test.reports[0].error));
        ck_assert_uint_eq(under_test.reports[0].checked, rows[i % 2] == ROWS ? SPOILED : 0);
    }
}
END_TEST

Suite *gradcheck_suite(void) {
    Suite *suite = suite_create("gradcheck");
    TCase *cases = tcase_create("faults");
    tcase_add_loop_test(cases, passes_right_gradients, 0, COUNT(right));
    tcase_add_loop_test(cases, passes_right_gradients_along_directions, 0, COUNT(right));
    tcase_add_test(cases, passes_tiny_and_huge_inputs);
    tcase_add_test(cases, divides_by_the_distance_really_moved);
    tcase_add_loop_test(cases, catches_faults, 0, COUNT(faults));
    tcase_add_loop_test(cases, catches_faults_along_directions, 0, COUNT(faults));
    tcase_add_test(cases, moves_along_random_directions);
    tcase_add_test(cases, catches_what_a_plain_sum_hides);
    tcase_add_test(cases, names_the_entry);
    tcase_add_test(cases, catches_what_is_not_finite);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, gradcheck_ladder());
    suite_add_tcase(suite, gradcheck_noise());
    suite_add_tcase(suite, gradcheck_fooled());
    suite_add_tcase(suite, gradcheck_order());
    suite_add_tcase(suite, gradcheck_observer());
    suite_add_tcase(suite, gradcheck_taylor());
    suite_add_tcase(suite, gradcheck_limits());
    suite_add_tcase(suite, gradcheck_complex());
    suite_add_tcase(suite, gradcheck_invariants());
    return suite;
}
