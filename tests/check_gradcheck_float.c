/* mha gradcheck --float: float is held against double, entry by entry, and is shown to fail. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

#include "checks/float/case.h"
#include "count.h"
#include "float_faults.h"
#include "program_cases.h"

static struct subject subject_named(const char *name, mha_kernel kernel, mha_mode mode) {
    struct subject subjects[SUBJECT_COUNT];
    list_subjects(subjects);
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        const bool is_loss = subjects[i].is_loss;
        if (strcmp(subjects[i].name, name) == 0 &&
            (is_loss || (subjects[i].kernel == kernel && subjects[i].mode == mode))) {
            return subjects[i];
        }
    }
    ck_abort_msg("no subject %s", name);
}

static struct subject stage_named(const char *name) {
    return subject_named(name, MHA_KERNEL_REFERENCE, MHA_MODE_STORED);
}

static void make_case(
    struct float_case *made, const struct subject *subject, bool is_long, enum mask_kind mask) {
    const struct check_plan plan = {
        .shape = {3, is_long ? 50 : 4, is_long ? 70 : 5, is_long ? 12 : 6, 2},
        .mask = mask,
        .kernel = subject->kernel,
        .mode = subject->mode,
        .threads = 1};
    mha_error error;
    ck_assert_msg(float_case_create(made, subject, &plan, &error) == MHA_OK, "%s", error.text);
}

/* The names of the arrays that fail, in a row. */
static void judge(char *failed, size_t size, const struct float_case *made) {
    struct float_report reports[FLOAT_REPORTS];
    const size_t count = float_case_judge(reports, made);
    failed[0] = '\0';
    for (size_t i = 0, used = 0; i < count; i++) {
        if (!reports[i].passed) {
            used += (size_t)snprintf(failed + used, size - used, "%s%s%s", used > 0 ? " " : "",
                reports[i].is_gradient ? "d" : "", reports[i].name);
        }
    }
}

static void run(struct float_case *made) {
    mha_error error;
    ck_assert_msg(routine_pass_f32(&made->call, &error) == MHA_OK, "%s", error.text);
}

static void assert_passes(struct float_case *made) {
    char failed[256];
    run(made);
    judge(failed, sizeof failed, made);
    ck_assert_str_eq(failed, "");
}

/* Each fault fails in the arrays of its stage that it spoils, and in no others. */
START_TEST(a_fault_of_a_stage_is_caught) {
    const float_fault *const fault = &mha_f32_float_faults[_i];
    const struct subject stage = stage_named(mha_stages[case_stage_of(fault->result)].name);
    struct float_case made;
    char failed[256];
    make_case(&made, &stage, false, MASK_NONE);
    assert_passes(&made);
    made.call.stages = mha_f32_float_fault_stages((size_t)_i);
    run(&made);
    judge(failed, sizeof failed, &made);
    ck_assert_msg(strcmp(failed, fault->fails) == 0, "%s: '%s' fails", fault->name, failed);
    float_case_destroy(&made);
}
END_TEST

/* The same in the whole layer, by the bounds of each wing: larger ones, which hide the smallest faults. */
START_TEST(a_fault_of_the_layer_is_caught) {
    const float_fault *const fault = &mha_f32_float_faults[_i / 2];
    const mha_kernel kernel = _i % 2 == 0 ? MHA_KERNEL_REFERENCE : MHA_KERNEL_FUSED;
    const struct subject layer = subject_named("layer", kernel, MHA_MODE_STORED);
    struct float_case made;
    char failed[256];
    make_case(&made, &layer, false, MASK_NONE);
    made.call.kernel = MHA_KERNEL_REFERENCE; /* which takes a table of stages */
    assert_passes(&made);
    made.call.stages = mha_f32_float_fault_stages((size_t)_i / 2);
    run(&made);
    judge(failed, sizeof failed, &made);
    ck_assert_msg((failed[0] != '\0') == fault->in_layer, "%s: '%s' fails", fault->name, failed);
    float_case_destroy(&made);
}
END_TEST

/* What the fused wing would compute if it read one of its inputs in 16 bits, had log2(e) off by 1e-5, or left
 * out a key; and results that are off in one entry. */

enum {
    QUERIES_COARSE,
    KEYS_COARSE,
    VALUES_COARSE,
    SCALE_OFF,
    KEY_LEFT_OUT,
    ENTRY_OFF,
    FUSED_FAULTS
};

static void spoil_input(struct float_case *made, int fault) {
    static const mha_value inputs[] = {MHA_Q, MHA_K, MHA_V, MHA_K};
    const mha_value value = inputs[fault];
    double *const x = made->pass.value[value].x; /* the reference has been computed */
    for (size_t i = 0; i < mha_value_count(value, &made->inputs.shape); i++) {
        int exponent;
        const double mantissa = frexp(x[i], &exponent);
        x[i] = fault == SCALE_OFF ? x[i] * (1 + 1e-5)
                                  : ldexp(rint(ldexp(mantissa, 16)), exponent - 16);
    }
}

START_TEST(a_fault_of_the_fused_wing_is_caught) {
    const int fault = _i / 4;
    const bool is_long = _i % 2 == 1;
    const struct subject fused = subject_named(
        "attention", MHA_KERNEL_FUSED, _i / 2 % 2 == 0 ? MHA_MODE_STORED : MHA_MODE_TILED);
    struct float_case made;
    char failed[256];
    make_case(&made, &fused, is_long, MASK_LENGTHS);
    assert_passes(&made);
    int64_t lengths[3];
    const mha_mask shorter = {.lengths = lengths};
    if (fault < KEY_LEFT_OUT) {
        spoil_input(&made, fault);
    } else if (fault == KEY_LEFT_OUT) {
        memcpy(lengths, made.inputs.mask->lengths, sizeof lengths);
        lengths[1]--;
        made.call.mask = &shorter;
    }
    run(&made);
    if (fault == ENTRY_OFF) {
        double *const results[] = {made.call.result, made.call.gradient[MHA_Q],
            made.call.gradient[MHA_K], made.call.gradient[MHA_V]};
        for (size_t i = 0; i < COUNT(results); i++) {
            results[i][1] *= 1 + 0x1p-17;
        }
    }
    judge(failed, sizeof failed, &made);
    ck_assert_msg(failed[0] != '\0', "fault %d is not caught", fault);
    float_case_destroy(&made);
}
END_TEST

/* Copies have the same numbers; and double is far inside what float may be off by, in both wings, so that
 * what is measured is float's. */
START_TEST(copies_are_exact) {
    static const char *const copies[] = {
        "split_query", "split_key", "split_value", "mask", "combine"};
    for (size_t i = 0; i < COUNT(copies); i++) {
        const struct subject stage = stage_named(copies[i]);
        struct float_case made;
        struct float_report reports[FLOAT_REPORTS];
        make_case(&made, &stage, false, stage.masked ? MASK_COMBINED : MASK_NONE);
        run(&made);
        ck_assert_uint_eq(float_case_judge(reports, &made), 2);
        for (size_t j = 0; j < 2; j++) {
            ck_assert_msg(reports[j].bound == 0 && reports[j].error == 0 && reports[j].passed,
                "%s: %g of %g", copies[i], reports[j].error, reports[j].bound);
        }
        float_case_destroy(&made);
    }
}
END_TEST

START_TEST(double_is_far_inside_the_bounds) {
    struct subject subjects[SUBJECT_COUNT];
    list_subjects(subjects);
    struct float_case made;
    struct float_report reports[FLOAT_REPORTS];
    make_case(&made, &subjects[_i], false, subjects[_i].masked ? MASK_COMBINED : MASK_NONE);
    mha_error error;
    ck_assert_msg(routine_pass_f64(&made.call, &error) == MHA_OK, "%s", error.text);
    const size_t count = float_case_judge(reports, &made);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(reports[i].error <= 1e-7, "%s, %s: %g ulps", subjects[_i].name,
            reports[i].name, reports[i].error);
    }
    float_case_destroy(&made);
}
END_TEST

/* Of a product of inputs the magnitude is sum |a||b|, and of a weight P (1 + a + sum P a), a = |x - max|. */
START_TEST(magnitudes_are_those_of_the_formulas) {
    struct float_case made;
    const struct subject projection = stage_named("project_query"),
                         softmax = stage_named("softmax");
    make_case(&made, &projection, false, MASK_NONE);
    const double *const x = made.call.value[MHA_QUERY], *const w = made.call.value[MHA_WQ];
    double sum = 0;
    for (size_t k = 0; k < 6; k++) {
        sum += fabs(x[2 * 6 + k]) * fabs(w[k * 6 + 4]);
    }
    ck_assert_double_eq_tol(made.result.magnitude[2 * 6 + 4], sum, 1e-14);
    ck_assert_double_eq_tol(made.result.bound, sqrt(6), 1e-14);
    float_case_destroy(&made);
    make_case(&made, &softmax, false, MASK_NONE);
    const double *const s = made.call.value[MHA_MASKED], *const p = made.result.x;
    double maximum = s[0], mean = 0;
    for (size_t i = 1; i < 5; i++) {
        maximum = fmax(maximum, s[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        mean += p[i] * (maximum - s[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        ck_assert_double_eq_tol(
            made.result.magnitude[i], p[i] * (1 + maximum - s[i] + mean), 1e-14);
    }
    float_case_destroy(&made);
}
END_TEST

/* A NaN is never within a bound, nor a number where an infinity belongs. */
START_TEST(numbers_that_are_not_finite_fail) {
    struct float_case made;
    char failed[256];
    const struct subject scores = stage_named("scores"), mask = stage_named("mask");
    make_case(&made, &scores, false, MASK_NONE);
    run(&made);
    made.call.result[3] = (double)NAN;
    made.call.gradient[MHA_K_HEADS][0] = (double)INFINITY;
    judge(failed, sizeof failed, &made);
    ck_assert_str_eq(failed, "scores dk_heads");
    float_case_destroy(&made);
    make_case(&made, &mask, false, MASK_TOP_LEFT);
    run(&made);
    ck_assert(isinf(made.call.result[4]));
    made.call.result[4] = -1e30;
    judge(failed, sizeof failed, &made);
    ck_assert_str_eq(failed, "masked");
    float_case_destroy(&made);
}
END_TEST

Suite *gradcheck_float_suite(void) {
    Suite *suite = suite_create("gradcheck_float");
    TCase *cases = tcase_create("bounds");
    tcase_add_loop_test(cases, a_fault_of_a_stage_is_caught, 0, FLOAT_FAULTS);
    tcase_add_loop_test(cases, a_fault_of_the_layer_is_caught, 0, 2 * FLOAT_FAULTS);
    tcase_add_loop_test(cases, a_fault_of_the_fused_wing_is_caught, 0, 4 * FUSED_FAULTS);
    tcase_add_test(cases, copies_are_exact);
    tcase_add_loop_test(cases, double_is_far_inside_the_bounds, 0, SUBJECT_COUNT);
    tcase_add_test(cases, magnitudes_are_those_of_the_formulas);
    tcase_add_test(cases, numbers_that_are_not_finite_fail);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, program_gradcheck_float());
    return suite;
}
