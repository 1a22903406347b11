/* mha gradcheck: what it sweeps over, and that it can fail. */
#include <stdio.h>
#include <string.h>

#include "checks/case.h"
#include "folder.h"
#include "program_cases.h"

static void assert_line(const struct outcome *outcome, const char *what, const char *kernel,
    size_t threads, const char *sizes) {
    char line[256];
    snprintf(line, sizeof line, "\n%-32s %-12s %3zu 3 %s", what, kernel, threads, sizes);
    ck_assert_msg(strstr(outcome->out, line) != NULL, "no check of %s", line);
}

static const char *const masks[] = {
    "no mask", "causal top-left", "causal bottom-right", "lengths", "explicit", "combined"};
static const char *const kernels[] = {"reference", "fused stored", "fused tiled"};
enum { MASKS = sizeof masks / sizeof *masks, KERNELS = sizeof kernels / sizeof *kernels };

/* Attention and the layer under one mask in one kernel, short and long. */
static void assert_wing(const struct outcome *outcome, const char *mask, const char *kernel) {
    static const char *const shapes[] = {"4 4", "3 5", "5 3"};
    static const char *const heads[] = {"1 ", "2 ", "6 "};
    static const char *const long_sizes[] = {"70 70 12 2 ", "50 70 12 2 "};
    char attention[64], self[64], cross[64], sizes[64];
    snprintf(attention, sizeof attention, "attention, %s", mask);
    snprintf(self, sizeof self, "layer self, %s", mask);
    snprintf(cross, sizeof cross, "layer cross, %s", mask);
    for (size_t i = 0; i < 9; i++) {
        snprintf(sizes, sizeof sizes, "%s 6 %s", shapes[i / 3], heads[i % 3]);
        assert_line(outcome, attention, kernel, 1, sizes);
        assert_line(outcome, cross, kernel, 1, sizes);
        if (i / 3 == 0) {
            assert_line(outcome, self, kernel, 1, sizes);
        }
    }
    for (size_t i = 0; i < 2 && strcmp(kernel, "reference") != 0; i++) {
        assert_line(outcome, attention, kernel, 1, long_sizes[i]);
        assert_line(outcome, attention, kernel, 2, long_sizes[i]);
        assert_line(outcome, i == 0 ? self : cross, kernel, 1, long_sizes[i]);
    }
}

/* The whole sweep: every routine, and attention and the layer under each mask in each kernel. */
START_TEST(sweeps_over_everything) {
    struct outcome outcome = run_well(WORDS("gradcheck"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "855 checks, 0 failed"));
    static const char *const routines[] = {"project_query", "project_key, explicit",
        "project_value, lengths", "split_query", "split_key", "split_value", "scores, combined",
        "scale", "mask, causal top-left", "softmax, combined", "context, explicit", "combine",
        "project_output"};
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        assert_line(&outcome, routines[i], "reference", 1, "4 4 6 2 ");
    }
    assert_line(&outcome, "mse", "-", 1, "5 3 6 6 ");
    assert_line(&outcome, "cross_entropy", "-", 1, "3 5 6 1 ");
    for (size_t i = 0; i < MASKS * KERNELS; i++) {
        assert_wing(&outcome, masks[i % MASKS], kernels[i / MASKS]);
    }
    outcome_free(&outcome);
}
END_TEST

START_TEST(checks_one_routine_alone) {
    struct outcome outcome = run_well(WORDS("gradcheck", "--op", "softmax"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "54 checks, 0 failed"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    outcome_free(&outcome);
}
END_TEST

/* Every fault that is planted is caught, found in its stage and, but for one, named, whatever the seed. */
START_TEST(tests_itself) {
    static const char *const seeds[] = {"0", "7", "23"};
    struct outcome outcome;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        outcome = run_well(WORDS("gradcheck", "--self-test", "--seed", seeds[i]));
        ck_assert_ptr_null(strstr(outcome.out, "missed"));
        ck_assert_ptr_null(strstr(outcome.out, "(not "));
        ck_assert_ptr_nonnull(strstr(outcome.out, "\n27 of 27 faults caught, 27 found in the right "
                                                  "stage, 26 diagnosed rightly; the right "
                                                  "layer passes\n"));
        ck_assert_ptr_nonnull(
            strstr(outcome.out, "\none entry NaN                        caught  not finite\n"));
        ck_assert_ptr_nonnull(strstr(outcome.out, ": -1 times what is right: the sign is wrong\n"));
        ck_assert_ptr_nonnull(strstr(outcome.out,
            "\n    project_key, source: overwrites what it should add to: = in place of +=\n"));
        outcome_free(&outcome);
    }
    outcome = run_program(folder_path(""), WORDS("gradcheck", "--self-test", "--heads", "2"));
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "--self-test has sizes"));
    outcome_free(&outcome);
}
END_TEST

/* A layer whose weights the user can follow: every key but one is hidden, so the weights of Q and K
 * have zero gradients, and the check still passes. */
START_TEST(knows_gradients_that_are_zero) {
    struct outcome outcome =
        run_well(WORDS("gradcheck", "--target-length", "1", "--source-length", "1"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    outcome_free(&outcome);
}
END_TEST

/* Each option leaves what it names, and nothing else. */
START_TEST(options_narrow_the_sweep) {
    static const struct {
        const char *option, *value;
        bool left[KERNELS];
        const char *threads;
    } options[] = {{"--kernel", "reference", {true, false, false}, " 1 3 "},
        {"--kernel", "fused", {false, true, true}, " 1 3 "},
        {"--mode", "stored", {true, true, false}, " 1 3 "},
        {"--mode", "tiled", {false, false, true}, " 1 3 "},
        {"--threads", "3", {true, true, true}, " 3 3 "}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct outcome outcome = run_well(WORDS("gradcheck", "--target-length", "3", "--heads", "2",
            "--causal", options[i].option, options[i].value));
        for (size_t k = 0; k < KERNELS; k++) {
            ck_assert_msg((strstr(outcome.out, kernels[k]) != NULL) == options[i].left[k],
                "%s %s: %s", options[i].option, options[i].value, kernels[k]);
        }
        const bool losses = strcmp(options[i].option, "--threads") == 0;
        ck_assert_int_eq(strstr(outcome.out, "\nmse ") != NULL, losses);
        ck_assert_ptr_nonnull(strstr(outcome.out, options[i].threads));
        outcome_free(&outcome);
    }
}
END_TEST

static bool (*right_backward)(void *context);

/* What forward saved for one row of attention weights, off by a ten-thousandth. */
static bool spoiled_backward(void *context) {
    struct check_case *made = context;
    const bool stored = made->saved.weights != NULL;
    double *saved = stored ? made->saved.weights : made->saved.row_inverse_sum;
    double kept[128];
    const size_t count = stored ? made->shape.source_length : 1;
    ck_assert_uint_le(count, 128);
    memcpy(kept, saved, count * sizeof *kept);
    for (size_t i = 0; i < count; i++) {
        saved[i] *= 1.0001;
    }
    const bool done = right_backward(context);
    memcpy(saved, kept, count * sizeof *kept);
    return done;
}

/* Entry by entry and along directions, in both modes, on one thread and on two. */
START_TEST(a_fault_of_the_fused_kernel_is_caught) {
    const bool is_long = _i / 4 % 2 == 1, spoiled = _i / 8 == 1;
    const struct check_plan plan = {
        .shape = {3, is_long ? 50 : 3, is_long ? 70 : 5, is_long ? 12 : 6, 2},
        .mask = MASK_BOTTOM_RIGHT,
        .mode = _i % 2 == 0 ? MHA_MODE_STORED : MHA_MODE_TILED,
        .threads = 1 + (size_t)_i / 2 % 2};
    struct check_case made;
    mha_error error;
    ck_assert_msg(check_fused_create(&made, &plan, &error) == MHA_OK, "%s", error.text);
    right_backward = made.subject.backward;
    if (spoiled) {
        made.subject.backward = spoiled_backward;
    }
    mha_gradcheck_options options = mha_gradcheck_defaults();
    options.entry_limit = is_long ? 0 : options.entry_limit;
    mha_gradcheck_report reports[CASE_BLOCKS];
    ck_assert_int_eq(mha_gradcheck_run(reports, &made.subject, &options, NULL), MHA_OK);
    ck_assert_uint_eq(made.subject.block_count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(reports[i].directional, is_long);
        ck_assert_msg(reports[i].verdict == (spoiled ? MHA_GRADCHECK_WRONG : MHA_GRADCHECK_PASS),
            "%s: %s, error %g", made.blocks[i].name, mha_gradcheck_verdict_text(reports[i].verdict),
            reports[i].error);
    }
    check_case_destroy(&made);
}
END_TEST

TCase *program_gradcheck(void) {
    TCase *tests = tcase_create("gradcheck");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, sweeps_over_everything);
    tcase_add_test(tests, checks_one_routine_alone);
    tcase_add_test(tests, tests_itself);
    tcase_add_test(tests, knows_gradients_that_are_zero);
    tcase_add_test(tests, options_narrow_the_sweep);
    tcase_add_loop_test(tests, a_fault_of_the_fused_kernel_is_caught, 0, 16);
    return tests;
}
