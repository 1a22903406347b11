/* The checker on functions with noise above that of double precision, above all those computed in single precision:
 * right gradients pass, what their noise can show to be wrong fails, and no estimate is too small. */
#include <check.h>
#include <math.h>

#include "gradcheck_curves.h"
#include "gradcheck_setup.h"

enum { BLOCKS_OF_A_CURVE = 100 };

START_TEST(right_slopes_pass_and_estimates_are_honest) {
    const curve *of = &noisy_curves[_i];
    for (uint64_t seed = 0; seed < BLOCKS_OF_A_CURVE; seed++) {
        const curve_result found = check_curve(of, seed, 0.0);
        ck_assert_msg(found.report.verdict == MHA_GRADCHECK_PASS && found.report.margin <= 1.0,
            "%s, seed %d: %s, margin %g", of->name, (int)seed,
            mha_gradcheck_verdict_text(found.report.verdict), found.report.margin);
        ck_assert_msg(found.worst <= 1.0, "%s, seed %d: the error is %g of what is allowed",
            of->name, (int)seed, found.worst);
    }
}
END_TEST

/* By a factor of two, and by the smallest that this noise can show. */
START_TEST(faults_fail) {
    const curve *of = &noisy_curves[_i / 2];
    const double fault = _i % 2 == 0 ? 1.0 : of->fault;
    for (uint64_t seed = 0; seed < BLOCKS_OF_A_CURVE; seed++) {
        const curve_result found = check_curve(of, seed, fault);
        ck_assert_msg(found.report.verdict == MHA_GRADCHECK_WRONG && found.report.margin > 1.0,
            "%s, seed %d: %s, margin %g", of->name, (int)seed,
            mha_gradcheck_verdict_text(found.report.verdict), found.report.margin);
        ck_assert_uint_eq(found.report.index[0], found.largest);
    }
}
END_TEST

static double forgotten(double x) {
    (void)x;
    return 0.0;
}

/* At steps below single precision nothing moves: a gradient that says so is wrong all the same. */
START_TEST(what_small_steps_do_not_move_fails) {
    for (size_t i = 0; i < noisy_curve_count; i++) {
        curve wrong = noisy_curves[i];
        wrong.wrong_slope = forgotten;
        assert_slope_fails(&wrong, 8);
    }
}
END_TEST

/* Forward and backward both in single precision. */
static double single_forward(double x) {
    const float a = (float)x;
    return (double)(expf(0.5F * a) * a);
}

static double single_backward(double x) {
    const float a = (float)x, e = expf(0.5F * a);
    return (double)(e + 0.5F * e * a);
}

static double wrong_single_backward(double x) {
    return 1.001 * single_backward(x);
}

static double normal_entry(double normal) {
    return normal;
}

static long double unused_slope(long double x) {
    return x;
}

START_TEST(single_precision_passes_as_a_whole) {
    curve of = {"a exp a/2", single_forward, unused_slope, normal_entry, 0.0, single_backward};
    for (uint64_t seed = 0; seed < BLOCKS_OF_A_CURVE; seed++) {
        of.wrong_slope = single_backward;
        ck_assert_int_eq(check_curve(&of, seed, 0.0).report.verdict, MHA_GRADCHECK_PASS);
        ck_assert_int_eq(check_curve(&of, seed, 1.0).report.verdict, MHA_GRADCHECK_WRONG);
        ck_assert_int_eq(check_curve(&of, seed, 1e-3).report.verdict, MHA_GRADCHECK_WRONG);
        of.wrong_slope = wrong_single_backward;
        ck_assert_int_eq(check_curve(&of, seed, 0.0).report.verdict, MHA_GRADCHECK_WRONG);
    }
}
END_TEST

TCase *gradcheck_noise(void) {
    TCase *cases = tcase_create("noise");
    const int count = (int)noisy_curve_count;
    tcase_add_loop_test(cases, right_slopes_pass_and_estimates_are_honest, 0, count);
    tcase_add_loop_test(cases, faults_fail, 0, 2 * count);
    tcase_add_test(cases, what_small_steps_do_not_move_fails);
    tcase_add_test(cases, single_precision_passes_as_a_whole);
    return cases;
}
