/* The gradient checker on the whole layer: right gradients are not called wrong, wrong ones are
 * named. All on inputs that have gone wrong elsewhere. */
#define MHA_PRECISION 64 /* what the checker works in */
#include "base/real.h"

#include <string.h>

#include "numeric/reports_case.h"

Suite *reports_checker_suite(void);

/* Leaves of self-attention: query wq wk wv wo; of cross-attention: query source wq wk wv wo. */
enum { SELF_QUERY_KEY = 1 << 1 | 1 << 2, CROSS_SCORES = 1 << 0 | 1 << 2 | 1 << 3 };

static void assert_all_pass(
    layer_case *c, unsigned zero_expected, const mha_gradcheck_options *options) {
    mha_gradcheck_report reports[CASE_LEAVES];
    const size_t count = check_gradients(reports, c, zero_expected, options);
    for (size_t l = 0; l < count; l++) {
        ck_assert_msg(reports[l].verdict == MHA_GRADCHECK_PASS, "leaf %zu: %s, error %g", l,
            mha_gradcheck_verdict_text(reports[l].verdict), reports[l].error);
        ck_assert_uint_gt(reports[l].checked, 0);
    }
}

static void round_to_float(double *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)(float)x[i];
    }
}

/* In single precision a loss near 1 and a step of 1e-6 give errors of 3 %, and users loosened the
 * tolerance until it proved nothing. The weights of a float model are checked in double. */
START_TEST(single_precision_models_pass) {
    layer_case c;
    open_case(&c, (mha_shape){2, 4, 4, 4, 2}, true);
    draw_case(&c, 25);
    round_to_float(c.query, 2 * 4 * 4);
    round_to_float(c.weights, 4 * 4 * 4);
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    assert_all_pass(&c, 0, &options);
    close_case(&c);
}
END_TEST

/* With one key the gradients of Wq and Wk are 0, and the differences rounding noise: not "100 %
 * wrong", yet no proof either where nobody has declared it. */
START_TEST(noise_against_zero_is_not_wrong) {
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    layer_case c;
    open_case(&c, (mha_shape){1, 1, 1, 4, 2}, true);
    draw_case(&c, 26);
    assert_all_pass(&c, SELF_QUERY_KEY, &options);
    assert_zeros("dwq and dwk", c.dweights, 2 * 4 * 4);
    mha_gradcheck_report reports[CASE_LEAVES];
    ck_assert_uint_eq(check_gradients(reports, &c, 0, &options), 5);
    ck_assert_int_eq(reports[1].verdict, MHA_GRADCHECK_ALL_ZERO);
    ck_assert_int_eq(reports[2].verdict, MHA_GRADCHECK_ALL_ZERO);
    ck_assert_int_eq(reports[0].verdict, MHA_GRADCHECK_PASS);
    ck_assert(reports[1].error <= 1e-13 && reports[2].error <= 1e-13);
    close_case(&c);
}
END_TEST

/* Scores of tiny inputs are all 0, those of huge ones leave one weight of 1: neither moves with Wq
 * and Wk, and all the rest is compared relatively. */
START_TEST(tiny_and_huge_inputs_pass) {
    const double scales[] = {1e-12, 1e6};
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    layer_case c;
    open_case(&c, (mha_shape){2, 3, _i >= 2 ? 3 : 4, 4, 2}, _i >= 2);
    draw_case(&c, 27);
    for (size_t i = 0; i < 2 * 3 * 4; i++) {
        c.query[i] *= scales[_i % 2];
    }
    for (size_t i = 0; i < 2 * 4 * 4 && _i < 2; i++) {
        c.source[i] *= scales[_i % 2];
    }
    assert_all_pass(&c, _i >= 2 ? SELF_QUERY_KEY : CROSS_SCORES, &options);
    close_case(&c);
}
END_TEST

static void scale_backward_without_scale(const mha_pass *pass, const double *dresult) {
    const size_t count = mha_value_count(MHA_SCORES, &pass->shape);
    double *const dscores = pass->gradient[MHA_SCORES];
    for (size_t i = 0; dscores != NULL && i < count; i++) {
        dscores[i] += dresult[i];
    }
}

/* The scale is forgotten in backward: Wq and Wk are off by a factor of sqrt(d), Wv and Wo are
 * right. The report has the block, the entry and both of its values. */
START_TEST(a_wrong_entry_is_named) {
    enum { WQ = 2, WK, WV, WO };
    mha_stage stages[MHA_STAGE_COUNT];
    memcpy(stages, mha_stages, sizeof stages);
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        if (stages[i].result == MHA_SCALED) {
            stages[i].backward = scale_backward_without_scale;
        }
    }
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    layer_case c;
    open_case(&c, (mha_shape){2, 3, 4, 8, 2}, false);
    mha_layer_destroy(c.layer);
    ck_assert_int_eq(
        mha_layer_create(&c.layer, &c.shape,
            &(mha_layer_options){.kernel = MHA_KERNEL_REFERENCE, .stages = stages}, NULL),
        MHA_OK);
    draw_case(&c, 28);
    mha_gradcheck_report reports[CASE_LEAVES];
    check_gradients(reports, &c, 0, &options);
    for (size_t l = WQ; l <= WK; l++) {
        ck_assert_int_eq(reports[l].verdict, MHA_GRADCHECK_WRONG);
        const double ratio = reports[l].analytic / reports[l].numeric;
        ck_assert_double_eq_tol(ratio, 2.0, 1e-6);
        const size_t entry = reports[l].index[0] * 8 + reports[l].index[1];
        ck_assert(reports[l].analytic == c.dweights[(l - WQ) * 64 + entry]);
        ck_assert_double_eq_tol(reports[l].error, 1.0, 1e-6); /* the worst is the largest */
    }
    ck_assert_int_eq(reports[WV].verdict, MHA_GRADCHECK_PASS);
    ck_assert_int_eq(reports[WO].verdict, MHA_GRADCHECK_PASS);
    close_case(&c);
}
END_TEST

Suite *reports_checker_suite(void) {
    Suite *suite = suite_create("reports checker");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("checker", chosen);
        tcase_add_test(cases, single_precision_models_pass);
        tcase_add_test(cases, noise_against_zero_is_not_wrong);
        tcase_add_loop_test(cases, tiny_and_huge_inputs_pass, 0, 4);
        suite_add_tcase(suite, cases);
    }
    TCase *cases = tcase_create("faults");
    tcase_add_test(cases, a_wrong_entry_is_named);
    suite_add_tcase(suite, cases);
    return suite;
}
