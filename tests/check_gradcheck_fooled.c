/* Gradients that are wrong in ways that differences are blind to, or that hide behind rounding, noise, huge and
 * tiny numbers; and right ones of functions where all of that is real. */
#include <check.h>
#include <math.h>

#include <mha/gradcheck.h>

#include "gradcheck_entries.h"
#include "gradcheck_setup.h"

static double square(double x) {
    return x * x;
}

static double twice(double x) {
    return 2.0 * x;
}

static double claim_factor;
static double factor_slope(double x) {
    return claim_factor * 2.0 * x;
}

/* Every other entry is 0, where steps are never lost to rounding, and the others are 1, where small ones are. */
START_TEST(large_wrong_claims_do_not_pass_along_directions) {
    static const double factors[] = {1.0 + 1e-6, 2.0, 1e3, 1e4, 1e6, 1e12, -1e3};
    f.value = square;
    f.slope = factor_slope;
    f.count = ENTRIES_MOST;
    for (size_t k = 0; k < COUNT(factors); k++) {
        claim_factor = factors[k];
        for (size_t i = 0; i < ENTRIES_MOST; i++) {
            f.x[i] = _i == 0 ? (double)(i % 2) : sin((double)i);
        }
        const mha_gradcheck_report report = check_entries(false, 4096, 0);
        ck_assert_msg(report.verdict == MHA_GRADCHECK_WRONG, "times %g: %s, margin %g", factors[k],
            mha_gradcheck_verdict_text(report.verdict), report.margin);
    }
    claim_factor = 1.0;
    ck_assert_int_eq(check_entries(false, 4096, 0).verdict, MHA_GRADCHECK_PASS);
}
END_TEST

static double one_huge_slope(double x) {
    return x == f.x[77] ? 1e9 : 2.0 * x;
}

START_TEST(one_huge_entry_does_not_pass_along_directions) {
    f.value = square;
    f.slope = one_huge_slope;
    f.count = ENTRIES_MOST;
    for (size_t i = 0; i < ENTRIES_MOST; i++) {
        f.x[i] = sin((double)i);
    }
    ck_assert_int_eq(check_entries(false, 4096, 0).verdict, MHA_GRADCHECK_WRONG);
}
END_TEST

static double stairs(double x) {
    return floor(1024.0 * x) / 1024.0;
}

static double bump(double x) {
    return x + x * exp(-square(x / 1e-3));
}

static double ripple(double x) {
    return x + 1e-4 * sin(1e6 * x);
}

static double ripple_slope(double x) {
    return 1.0 + 100.0 * cos(1e6 * x);
}

static double one(double x) {
    (void)x;
    return 1.0;
}

static double two(double x) {
    (void)x;
    return 2.0;
}

static double rectified(double x) {
    return 1.0 + (x > 0.0 ? x : 0.0);
}

static double huge_square(double x) {
    return 1e160 * x * x;
}

static double huge_square_slope(double x) {
    return 2e160 * x;
}

static double reciprocal(double x) {
    return 1.0 / x;
}

static double same(double x) {
    return x;
}

/* Far steps of the first entry are e^31 times as large as it is, and no measure of its rounding; the others are
 * ordinary. */
static double steep(double x) {
    return x < 0.5 ? exp(500.0 * x) : 1000.0 * sin(x);
}

static double steep_slope(double x) {
    return x < 0.5 ? 500.0 * exp(500.0 * x) : 1000.0 * cos(x);
}

static double steep_factor;
static double steep_wrong(double x) {
    return x < 0.5 ? steep_factor * steep_slope(x) : steep_slope(x);
}

START_TEST(a_steep_entry_has_no_wide_bar) {
    static const double factors[] = {1.0, 1.001, 1.5, 0.0, -1.0};
    f.value = steep;
    f.slope = steep_wrong;
    f.count = 4;
    for (size_t k = 0; k < COUNT(factors); k++) {
        steep_factor = factors[k];
        f.x[0] = 0.0;
        f.x[1] = 1.0;
        f.x[2] = 2.0;
        f.x[3] = 3.0;
        const mha_gradcheck_report report = check_entries(false, 4096, 3);
        ck_assert_msg((report.verdict == MHA_GRADCHECK_PASS) == (k == 0), "times %g: %s",
            factors[k], mha_gradcheck_verdict_text(report.verdict));
    }
}
END_TEST

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double sigmoid_slope(double x) {
    return sigmoid(x) * sigmoid(-x);
}

static double swift(double x) {
    return sin(1e8 * x);
}

static double swift_slope(double x) {
    return 1e8 * cos(1e8 * x);
}

/* What every r stays below shows when the gradients of the outputs are larger. */
START_TEST(a_clipped_gradient_is_not_linear) {
    f.value = square;
    f.slope = twice;
    f.count = 4;
    f.most = 10.0;
    f.x[0] = f.x[1] = f.x[2] = f.x[3] = 0.5;
    const mha_gradcheck_verdict verdict = check_entries(false, 4096, 0).verdict;
    f.most = 0.0;
    ck_assert_int_eq(verdict, MHA_GRADCHECK_NOT_LINEAR);
}
END_TEST

/* Bars that are wider than the derivatives prove nothing. */
START_TEST(what_differences_cannot_tell_does_not_pass) {
    static double (*const slopes[])(double) = {swift_slope, one};
    f.value = swift;
    f.count = 1;
    for (size_t k = 0; k < COUNT(slopes); k++) {
        f.slope = slopes[k];
        f.x[0] = 1.7;
        const mha_gradcheck_verdict verdict = check_entries(false, 4096, 0).verdict;
        ck_assert_int_ne(verdict, MHA_GRADCHECK_PASS);
        ck_assert_int_ne(verdict, MHA_GRADCHECK_ALL_ZERO);
    }
}
END_TEST

static double exponential(double x) {
    return exp(x);
}

/* 0 at x, so that no output measures the rounding of what it comes of. */
static double exponential_less_one(double x) {
    return exp(x) - 1.0;
}

static double logarithm(double x) {
    return log(1.0 + x);
}

static double reciprocal_of_next(double x) {
    return 1.0 / (1.0 + x);
}

static double centred_sigmoid(double x) {
    return sigmoid(x) - 0.5;
}

static const struct {
    const char *name;
    double (*value)(double), (*slope)(double);
    double x;
    bool right;
    size_t entry_limit; /* 0: along directions */
} cases[] = {
    {"stairs that steps go over, their mean slope", stairs, one, 0.3, false, 4096},
    {"a bump about x, the slope beside it", bump, one, 0.0, false, 4096},
    {"a bump about x", bump, two, 0.0, true, 4096},
    {"a ripple, the slope without it", ripple, one, 0.37, false, 4096},
    {"a ripple", ripple, ripple_slope, 0.37, true, 4096},
    {"a kink 1e-8 away", rectified, one, 1e-8, true, 4096},
    {"a kink 1e-7 away", rectified, one, 1e-7, true, 4096},
    {"a kink 3e-7 away", rectified, one, 3e-7, true, 4096},
    {"a kink 1e-4 away", rectified, one, 1e-4, true, 4096},
    {"a kink 1e-4 away, twice", rectified, two, 1e-4, false, 4096},
    {"1e160 x^2", huge_square, huge_square_slope, 0.7, true, 0},
    {"1e160 x^2 entry by entry", huge_square, huge_square_slope, 0.7, true, 4096},
    {"log 1e-25", log, reciprocal, 1e-25, true, 4096},
    {"log 1e-25, twice", log, twice, 1e-25, false, 4096},
    {"exp x - 1 at 0", exponential_less_one, exponential, 0.0, true, 4096},
    {"exp x - 1 at 0, along directions", exponential_less_one, exponential, 0.0, true, 0},
    {"log(1 + x) at 0", logarithm, reciprocal_of_next, 0.0, true, 4096},
    {"sigmoid - 1/2 at 0, along directions", centred_sigmoid, sigmoid_slope, 0.0, true, 0},
    {"sigmoid 25", sigmoid, sigmoid_slope, 25.0, true, 4096},
    {"exp 600", exponential, exponential, 600.0, true, 4096},
    {"exp -600", exponential, exponential, -600.0, true, 4096},
};

START_TEST(looks_near_x) {
    f.value = cases[_i].value;
    f.slope = cases[_i].slope;
    f.count = 4;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (size_t i = 0; i < f.count; i++) {
            f.x[i] = cases[_i].x * (1.0 + 1e-3 * (double)i);
        }
        const mha_gradcheck_report report = check_entries(false, cases[_i].entry_limit, seed);
        ck_assert_msg((report.verdict == MHA_GRADCHECK_PASS) == cases[_i].right,
            "%s, seed %d: %s, %g for %g, estimate %g", cases[_i].name, (int)seed,
            mha_gradcheck_verdict_text(report.verdict), report.analytic, report.numeric,
            report.estimate);
    }
}
END_TEST

/* An output that no entry moves says nothing about how small their gradients may be. */
START_TEST(a_large_constant_is_no_measure_of_zero) {
    f.value = same;
    f.slope = one;
    f.count = 4;
    f.constant = 1e13;
    f.x[0] = f.x[1] = f.x[2] = f.x[3] = 0.5;
    const mha_gradcheck_verdict entries = check_entries(false, 4096, 1).verdict;
    const mha_gradcheck_verdict zero = check_entries(true, 4096, 1).verdict;
    const mha_gradcheck_verdict directions = check_entries(false, 0, 1).verdict;
    f.constant = 0.0;
    ck_assert_int_eq(entries, MHA_GRADCHECK_PASS);
    ck_assert_int_eq(zero, MHA_GRADCHECK_NOT_ZERO);
    ck_assert_int_eq(directions, MHA_GRADCHECK_PASS);
}
END_TEST

static double enormous(double x) {
    (void)x;
    return 1e308;
}

START_TEST(a_sum_that_overflows_is_not_finite) {
    f.value = enormous;
    f.slope = enormous;
    f.count = 8;
    ck_assert_int_eq(check_entries(true, 4096, 0).verdict, MHA_GRADCHECK_NOT_FINITE);
}
END_TEST

TCase *gradcheck_fooled(void) {
    TCase *tests = tcase_create("fooled");
    tcase_add_loop_test(tests, large_wrong_claims_do_not_pass_along_directions, 0, 2);
    tcase_add_test(tests, one_huge_entry_does_not_pass_along_directions);
    tcase_add_loop_test(tests, looks_near_x, 0, COUNT(cases));
    tcase_add_test(tests, a_steep_entry_has_no_wide_bar);
    tcase_add_test(tests, a_clipped_gradient_is_not_linear);
    tcase_add_test(tests, what_differences_cannot_tell_does_not_pass);
    tcase_add_test(tests, a_large_constant_is_no_measure_of_zero);
    tcase_add_test(tests, a_sum_that_overflows_is_not_finite);
    return tests;
}
