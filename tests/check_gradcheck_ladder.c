/* The checker's ladder of steps on functions that are steep, kinked or not defined everywhere: right gradients pass,
 * one entry that is off by 1e-8 fails without the complex step, and no estimate is too small. */
#include <check.h>
#include <math.h>

#include "count.h"
#include "gradcheck_curves.h"
#include "gradcheck_setup.h"

enum { BLOCKS_OF_A_CURVE = 40 };

START_TEST(right_slopes_pass_and_estimates_are_honest) {
    const curve *of = &curves[_i];
    for (uint64_t seed = 0; seed < BLOCKS_OF_A_CURVE; seed++) {
        const curve_result found = check_curve(of, seed, 0.0);
        ck_assert_msg(found.report.verdict == MHA_GRADCHECK_PASS && found.report.margin <= 1.0,
            "%s, seed %d: %s, margin %g", of->name, (int)seed,
            mha_gradcheck_verdict_text(found.report.verdict), found.report.margin);
        ck_assert_msg(found.worst <= 1.0, "%s, seed %d: the error is %g of what is allowed",
            of->name, (int)seed, found.worst);
        ck_assert_uint_eq(found.observed, 1);
    }
}
END_TEST

/* The entry is named, and its distance is that of the fault. */
START_TEST(small_faults_fail) {
    const curve *of = &curves[_i];
    for (uint64_t seed = 0; seed < BLOCKS_OF_A_CURVE; seed++) {
        const curve_result found = check_curve(of, seed, of->fault);
        ck_assert_msg(found.report.verdict == MHA_GRADCHECK_WRONG && found.report.margin > 1.0,
            "%s, seed %d: %s, margin %g", of->name, (int)seed,
            mha_gradcheck_verdict_text(found.report.verdict), found.report.margin);
        ck_assert_uint_eq(found.report.index[0], found.largest);
        ck_assert_double_eq_tol(found.report.error, of->fault, 0.1 * of->fault);
        ck_assert_double_eq_tol(
            found.report.analytic / found.report.numeric - 1.0, of->fault, 0.1 * of->fault);
    }
}
END_TEST

static double unlike(double x) {
    return 1.0 + x;
}

/* Not the slope of any: each fails whatever the ladder ended with. */
START_TEST(other_slopes_fail) {
    curve wrong = curves[_i];
    wrong.wrong_slope = unlike;
    assert_slope_fails(&wrong, 4);
}
END_TEST

static double line(double x) {
    return 1.7 * x;
}

static long double line_slope(long double x) {
    (void)x;
    return (long double)1.7;
}

static double same(double normal) {
    return normal;
}

/* Two rungs of a right line and a look near x: forward once at x, six times an entry, once at the end. */
START_TEST(a_line_takes_two_rungs) {
    const curve of = {"1.7 x", line, line_slope, same, 0.0, NULL};
    const curve_result found = check_curve(&of, 3, 0.0);
    ck_assert_int_eq(found.report.verdict, MHA_GRADCHECK_PASS);
    ck_assert_uint_eq(found.calls, 6 * CURVE_ENTRIES + 2);
}
END_TEST

static double here_and_nowhere_else(double x) {
    return x == 0.25 ? 1.0 : (double)NAN;
}

static double here(double normal) {
    (void)normal;
    return 0.25;
}

START_TEST(nothing_passes_where_no_step_is_finite) {
    const curve of = {"a point", here_and_nowhere_else, line_slope, here, 0.0, NULL};
    const curve_result found = check_curve(&of, 4, 0.0);
    ck_assert_int_eq(found.report.verdict, MHA_GRADCHECK_NOT_FINITE);
    ck_assert(isnan(found.report.numeric) && isnan(found.report.error));
    ck_assert(isnan(found.report.margin));
    ck_assert_uint_eq(found.report.checked, 0);
    ck_assert_uint_eq(found.observed, 0);
}
END_TEST

/* One finite step has no neighbour to be compared with. */
static double one_step(double x) {
    const double u = fabs(x - 0.25);
    return u == 0.0 || u == 0x1p-10 ? x : (double)NAN;
}

START_TEST(one_finite_step_is_not_enough) {
    const curve of = {"one step", one_step, line_slope, here, 0.0, NULL};
    ck_assert_int_eq(check_curve(&of, 5, 0.0).report.verdict, MHA_GRADCHECK_NOT_FINITE);
}
END_TEST

TCase *gradcheck_ladder(void) {
    TCase *cases = tcase_create("ladder");
    tcase_add_loop_test(cases, right_slopes_pass_and_estimates_are_honest, 0, (int)curve_count);
    tcase_add_loop_test(cases, small_faults_fail, 0, (int)curve_count);
    tcase_add_loop_test(cases, other_slopes_fail, 0, (int)curve_count);
    tcase_add_test(cases, a_line_takes_two_rungs);
    tcase_add_test(cases, nothing_passes_where_no_step_is_finite);
    tcase_add_test(cases, one_finite_step_is_not_enough);
    return cases;
}
