/* The gradient checker at its limits: zero, excluded and missing numbers, failing calls, unusable
 * arguments. */
#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/gradcheck.h>
#include <mha/rng.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

START_TEST(treats_zero_gradients_as_declared) {
    const struct {
        const example *example;
        bool declared;
        mha_gradcheck_verdict verdict;
    } cases[] = {
        {&example_unused_w, true, MHA_GRADCHECK_PASS},
        {&example_unused_w, false, MHA_GRADCHECK_ALL_ZERO},
        {&example_unused_w_not_zero, true, MHA_GRADCHECK_NOT_ZERO},
        {&example_unused_w_not_zero, false, MHA_GRADCHECK_WRONG},
        {&example_unused_w_nan, true, MHA_GRADCHECK_NOT_FINITE},
        {&example_matrix_product, true, MHA_GRADCHECK_NOT_ZERO},
        {&example_forgotten_w, true, MHA_GRADCHECK_NOT_ZERO}, /* numeric alone says so */
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const bool large = i % 2 == 1;
        prepare_check(cases[i / 2].example, ROWS, 1.0);
        under_test.blocks[1].zero_expected = cases[i / 2].declared;
        under_test.options.entry_limit = large ? WEIGHTS - 1 : WEIGHTS;
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_PASS);
        assert_check_verdict(1, cases[i / 2].verdict);
        ck_assert(large || !under_test.reports[1].directional);
        ck_assert_int_eq(isnan(under_test.reports[1].error),
            isnan(under_test.reports[1].analytic) || isnan(under_test.reports[1].numeric));
    }
}
END_TEST

/* A ladder of a linear function has two rungs, and of a cubic one three. */
enum { LINEAR_CALLS = 6, CUBIC_CALLS = 8 };

static void spoil_by_rounding(model *m) {
    m->dw[SPOILED] += 1e-14 * m->dy[0];
}

/* The analytic entries settle it, by the first that is too large, and the block is not moved. */
START_TEST(does_not_move_a_large_block_that_is_not_zero) {
    prepare_check(&example_unused_w_not_zero, ROWS, 1.0);
    under_test.blocks[1].zero_expected = true;
    under_test.options.entry_limit = WEIGHTS - 1;
    run_check();
    const mha_gradcheck_report *report = &under_test.reports[1];
    assert_check_verdict(1, MHA_GRADCHECK_NOT_ZERO);
    assert_check_index(1, SPOILED);
    ck_assert(report->analytic == 2e-9 && isnan(report->numeric) && isnan(report->error));
    ck_assert(!report->directional);
    ck_assert_uint_eq(report->checked, 0);
    ck_assert_int_eq(under_test.calls, 2 + CUBIC_CALLS * ROWS * COLUMNS + 5); /* x alone */
    /* What may be rounding is zero, and is moved to see whether it really is. */
    example nearly = example_unused_w;
    nearly.spoil = spoil_by_rounding;
    prepare_check(&nearly, ROWS, 1.0);
    under_test.blocks[1].zero_expected = true;
    under_test.options.entry_limit = WEIGHTS - 1;
    run_check();
    assert_check_verdict(1, MHA_GRADCHECK_PASS);
    ck_assert(under_test.reports[1].directional);
    ck_assert_uint_eq(under_test.reports[1].checked, under_test.options.directions);
}
END_TEST

START_TEST(keeps_excluded_outputs_out) {
    static const unsigned char excluded[ROWS * COLUMNS] = {[SPOILED] = 1};
    prepare_check(&example_blocked_square, ROWS, 1.0);
    under_test.output.excluded = excluded;
    run_check();
    assert_check_passes();
    prepare_check(&example_fault_leaking, ROWS, 1.0);
    under_test.output.excluded = excluded;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_WRONG);
    assert_check_index(0, SPOILED);
}
END_TEST

START_TEST(fails_every_block_when_an_output_is_not_finite) {
    prepare_check(&example_matrix_product, ROWS, 1.0);
    under_test.m.x[SPOILED] = (double)NAN;
    run_check();
    for (size_t b = 0; b < BLOCKS; b++) {
        assert_check_verdict(b, MHA_GRADCHECK_NOT_FINITE);
        ck_assert(isnan(under_test.reports[b].analytic) && isnan(under_test.reports[b].numeric));
        ck_assert_uint_eq(under_test.reports[b].checked, 0);
    }
}
END_TEST

/* Calls 1 and 2 are at the unmoved values; the next four move entry 0 of x, and so on. */
START_TEST(reports_calls_that_fail) {
    for (int call = 1; call <= 2 + LINEAR_CALLS * ROWS * COLUMNS; call++) {
        prepare_check(&example_matrix_product, ROWS, 1.0);
        under_test.failing_call = call;
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_CALL_FAILED);
        assert_check_verdict(1, call <= 2 ? MHA_GRADCHECK_CALL_FAILED : MHA_GRADCHECK_PASS);
        assert_check_index(0, call <= 2 ? 0 : (size_t)(call - 3) / LINEAR_CALLS);
        ck_assert(isnan(under_test.reports[0].numeric) && isnan(under_test.reports[0].error));
    }
    prepare_check(&example_matrix_product, LARGEST_ROWS, 1.0);
    under_test.failing_call = 2 + LINEAR_CALLS + 2; /* the second direction, the other way */
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_CALL_FAILED);
    assert_check_verdict(1, MHA_GRADCHECK_PASS);
    ck_assert_uint_eq(under_test.reports[0].checked, 1);
}
END_TEST

/* Before an entry is called wrong its noise is measured and its ladder gone down: a failure there too is one of the
 * call. */
START_TEST(reports_calls_that_fail_before_a_fault_is_found) {
    prepare_check(&example_fault_factor, ROWS, 1.0);
    run_check();
    const int all = under_test.calls;
    ck_assert_int_gt(all, 2 + CUBIC_CALLS * ROWS * COLUMNS + 5);
    for (int call = 3; call <= all; call++) {
        prepare_check(&example_fault_factor, ROWS, 1.0);
        under_test.failing_call = call;
        run_check();
        assert_check_verdict(0, call <= all - 5 ? MHA_GRADCHECK_CALL_FAILED : MHA_GRADCHECK_WRONG);
    }
}
END_TEST

START_TEST(proves_nothing_of_nothing) {
    prepare_check(&example_matrix_product, 0, 1.0);
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_EMPTY);
    assert_check_verdict(1, MHA_GRADCHECK_EMPTY);
    prepare_check(&example_polynomial, LARGEST_ROWS, 1.0);
    under_test.options.directions = 0;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_EMPTY);
}
END_TEST

/* Without an output that counts there is nothing to compare, whatever is declared, in blocks of
 * either size. */
START_TEST(proves_nothing_without_outputs) {
    static unsigned char excluded[ROWS * COLUMNS];
    memset(excluded, 1, sizeof excluded);
    for (unsigned i = 0; i < 12; i++) {
        prepare_check(&example_matrix_product, ROWS, 1.0);
        switch (i % 3) {
        case 0:
            under_test.subject.output_count = 0;
            under_test.subject.outputs = NULL;
            memset(under_test.m.dy, 0, sizeof under_test.m.dy);
            break;
        case 1:
            under_test.output.count = 0;
            memset(under_test.m.dy, 0, sizeof under_test.m.dy);
            break;
        default:
            under_test.output.excluded = excluded;
        }
        under_test.blocks[0].zero_expected = under_test.blocks[1].zero_expected = i / 3 % 2 == 1;
        under_test.options.entry_limit = i / 6 == 0 ? 4096 : 1;
        run_check();
        /* Entries of a large block deny the zero before it is moved. */
        const mha_gradcheck_verdict verdict =
            i == 11 ? MHA_GRADCHECK_NOT_ZERO : MHA_GRADCHECK_EMPTY;
        assert_check_verdict(0, verdict);
        assert_check_verdict(1, verdict);
    }
}
END_TEST

START_TEST(draws_the_named_stream) {
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){UINT64_MAX, 6}, 2);
    prepare_check(&example_softmax_row, ROWS, 1.0);
    under_test.options.seed = UINT64_MAX;
    run_check();
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        ck_assert(under_test.m.dy[i] == mha_rng_normal(&rng));
    }
}
END_TEST

static void assert_refused(mha_status status, const char *part_of_text) {
    mha_error error = {MHA_OK, ""};
    mha_gradcheck_report *reports = under_test.reports;
    ck_assert_int_eq(
        mha_gradcheck_run(reports, &under_test.subject, &under_test.options, &error), status);
    ck_assert_int_eq(
        mha_gradcheck_run(reports, &under_test.subject, &under_test.options, NULL), status);
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strstr(error.text, part_of_text) != NULL, "%s", error.text);
    ck_assert_int_eq(under_test.calls, 0);
}

#define REFUSES(status, change, part_of_text)                                                      \
    do {                                                                                           \
        prepare_check(&example_matrix_product, ROWS, 1.0);                                         \
        change;                                                                                    \
        assert_refused(status, part_of_text);                                                      \
    } while (0)

START_TEST(refuses_unusable_arguments) {
    const mha_status refused = MHA_ERROR_ARGUMENT;
    REFUSES(refused, under_test.subject.block_count = 0, "needs");
    REFUSES(refused, under_test.subject.forward = NULL, "needs");
    REFUSES(refused, under_test.subject.outputs = NULL, "needs");
    REFUSES(refused, under_test.blocks[1].rank = 0, "block 1 (w) has rank 0, not 1 to 4");
    REFUSES(refused, under_test.blocks[1].rank = 5, "block 1 (w) has rank 5, not 1 to 4");
    REFUSES(refused, under_test.blocks[0].dims[1] = SIZE_MAX / 2, "block 0 (x) has more than");
    REFUSES(refused, under_test.blocks[0].values = NULL, "block 0 (x) has no room for 12 values");
    REFUSES(refused, under_test.output.gradient = NULL, "output 0 (y) has no room for 12 values");
    REFUSES(refused, under_test.options.complex_tolerance = (double)NAN, "complex tolerance nan");
    REFUSES(
        refused, under_test.options.complex_tolerance = (double)INFINITY, "complex tolerance inf");
    REFUSES(refused, under_test.options.complex_tolerance = -1.0, "complex tolerance -1");
    REFUSES(MHA_ERROR_MEMORY, under_test.output.count = SIZE_MAX / 8, "not enough memory");
    ck_assert_int_eq(
        mha_gradcheck_run(NULL, &under_test.subject, &under_test.options, NULL), refused);
    ck_assert_int_eq(
        mha_gradcheck_run(under_test.reports, NULL, &under_test.options, NULL), refused);
    ck_assert_int_eq(
        mha_gradcheck_run(under_test.reports, &under_test.subject, NULL, NULL), refused);
}
END_TEST

START_TEST(words_its_verdicts) {
    ck_assert_str_eq(mha_gradcheck_verdict_text(MHA_GRADCHECK_PASS), "PASS");
    for (int v = MHA_GRADCHECK_WRONG; v <= MHA_GRADCHECK_CALL_FAILED; v++) {
        const char *text = mha_gradcheck_verdict_text((mha_gradcheck_verdict)v);
        ck_assert_int_eq(strncmp(text, "FAIL", 4), 0);
    }
    ck_assert_str_eq(mha_gradcheck_verdict_text((mha_gradcheck_verdict)99), "unknown verdict");
}
END_TEST

TCase *gradcheck_limits(void) {
    TCase *cases = tcase_create("limits");
    tcase_add_test(cases, treats_zero_gradients_as_declared);
    tcase_add_test(cases, does_not_move_a_large_block_that_is_not_zero);
    tcase_add_test(cases, keeps_excluded_outputs_out);
    tcase_add_test(cases, fails_every_block_when_an_output_is_not_finite);
    tcase_add_test(cases, reports_calls_that_fail);
    tcase_add_test(cases, reports_calls_that_fail_before_a_fault_is_found);
    tcase_add_test(cases, proves_nothing_of_nothing);
    tcase_add_test(cases, proves_nothing_without_outputs);
    tcase_add_test(cases, draws_the_named_stream);
    tcase_add_test(cases, refuses_unusable_arguments);
    tcase_add_test(cases, words_its_verdicts);
    return cases;
}
