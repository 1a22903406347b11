/* Gradients that are wrong in ways that differences are blind to, or that hide behind rounding, noise, huge and
 * tiny numbers; and right ones of functions where all of that is real. */
#include <check.h>
#include <math.h>

#include <mha/gradcheck.h>

#include "gradcheck_setup.h"

enum { MANY = 5000 };

/* y_i = value(x_i), with slope as its claimed gradient. */
static struct {
    double (*value)(double x);
    double (*slope)(double x);
    size_t count;
    double constant; /* one more output */
    double x[MANY], dx[MANY], y[MANY + 1], dy[MANY + 1];
} f;

static bool forward(void *context) {
    (void)context;
    for (size_t i = 0; i < f.count; i++) {
        f.y[i] = f.value(f.x[i]);
    }
    f.y[f.count] = f.constant;
    return true;
}

static bool backward(void *context) {
    (void)context;
    for (size_t i = 0; i < f.count; i++) {
        f.dx[i] += f.dy[i] * f.slope(f.x[i]);
    }
    return true;
}

static mha_gradcheck_report check_block(bool zero_expected, size_t entry_limit, uint64_t seed) {
    const mha_gradcheck_block block = {"x", f.x, f.dx, 1, {f.count}, zero_expected};
    const mha_gradcheck_output output = {"y", f.y, f.dy, f.count + 1, NULL};
    const mha_gradcheck_case subject = {NULL, forward, backward, &block, 1, &output, 1, NULL};
    mha_gradcheck_options options = mha_gradcheck_defaults();
    mha_gradcheck_report report;
    options.entry_limit = entry_limit;
    options.seed = seed;
    ck_assert_int_eq(mha_gradcheck_run(&report, &subject, &options, NULL), MHA_OK);
    return report;
}

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
    f.count = MANY;
    for (size_t k = 0; k < COUNT(factors); k++) {
        claim_factor = factors[k];
        for (size_t i = 0; i < MANY; i++) {
            f.x[i] = _i == 0 ? (double)(i % 2) : sin((double)i);
        }
        const mha_gradcheck_report report = check_block(false, 4096, 0);
        ck_assert_msg(report.verdict == MHA_GRADCHECK_WRONG, "times %g: %s, margin %g", factors[k],
            mha_gradcheck_verdict_text(report.verdict), report.margin);
    }
    claim_factor = 1.0;
    ck_assert_int_eq(check_block(false, 4096, 0).verdict, MHA_GRADCHECK_PASS);
}
END_TEST

static double one_huge_slope(double x) {
    return x == f.x[77] ? 1e9 : 2.0 * x;
}

START_TEST(one_huge_entry_does_not_pass_along_directions) {
    f.value = square;
    f.slope = one_huge_slope;
    f.count = MANY;
    for (size_t i = 0; i < MANY; i++) {
        f.x[i] = sin((double)i);
    }
    ck_assert_int_eq(check_block(false, 4096, 0).verdict, MHA_GRADCHECK_WRONG);
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
};

START_TEST(looks_near_x) {
    f.value = cases[_i].value;
    f.slope = cases[_i].slope;
    f.count = 4;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (size_t i = 0; i < f.count; i++) {
            f.x[i] = cases[_i].x * (1.0 + 1e-3 * (double)i);
        }
        const mha_gradcheck_report report = check_block(false, cases[_i].entry_limit, seed);
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
    ck_assert_int_eq(check_block(false, 4096, 1).verdict, MHA_GRADCHECK_PASS);
    ck_assert_int_eq(check_block(true, 4096, 1).verdict, MHA_GRADCHECK_NOT_ZERO);
    ck_assert_int_eq(check_block(false, 0, 1).verdict, MHA_GRADCHECK_PASS);
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
    ck_assert_int_eq(check_block(true, 4096, 0).verdict, MHA_GRADCHECK_NOT_FINITE);
}
END_TEST

TCase *gradcheck_fooled(void) {
    TCase *tests = tcase_create("fooled");
    tcase_add_loop_test(tests, large_wrong_claims_do_not_pass_along_directions, 0, 2);
    tcase_add_test(tests, one_huge_entry_does_not_pass_along_directions);
    tcase_add_loop_test(tests, looks_near_x, 0, COUNT(cases));
    tcase_add_test(tests, a_large_constant_is_no_measure_of_zero);
    tcase_add_test(tests, a_sum_that_overflows_is_not_finite);
    return tests;
}
