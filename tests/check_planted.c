/* The gradient checker is shown to fail: every planted fault must be caught in the blocks that it
 * spoils, and in no others, and the layer as it is passes the very same check. */
#include "suites.h"

#include <string.h>

#include "checks/faults/faults.h"

enum { WAYS = 3 };

/* The layer with these stages: exactly the blocks that `fails` names must fail. */
static void assert_blocks_fail(const char *what, const struct check_plan *plan,
    const mha_stage *stages, const char *fails, size_t count) {
    struct check_case made;
    mha_error error;
    ck_assert_msg(check_layer_create(&made, plan, stages, &error) == MHA_OK, "%s", error.text);
    mha_gradcheck_report reports[CASE_BLOCKS];
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    ck_assert_msg(
        mha_gradcheck_run(reports, &made.subject, &options, &error) == MHA_OK, "%s", error.text);
    size_t failed = 0;
    for (size_t i = 0; i < made.subject.block_count; i++) {
        const char *name = made.blocks[i].name;
        const bool passed = reports[i].verdict == MHA_GRADCHECK_PASS;
        const bool expected = strstr(fails, name) == NULL;
        failed += passed ? 0 : 1;
        ck_assert_msg(passed == expected, "'%s': %s is called %s, error %g", what, name,
            mha_gradcheck_verdict_text(reports[i].verdict), reports[i].error);
    }
    ck_assert_uint_eq(failed, count);
    check_case_destroy(&made);
}

static size_t count_words(const char *text) {
    size_t words = 1;
    for (; *text != '\0'; text++) {
        words += *text == ' ' ? 1 : 0;
    }
    return words;
}

START_TEST(fault_is_caught) {
    const struct fault *planted = &faults[_i];
    mha_stage stages[MHA_STAGE_COUNT];
    plant_fault(stages, planted);
    size_t exchanged = 0;
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        exchanged += stages[i].backward != mha_stages[i].backward;
    }
    ck_assert_uint_eq(exchanged, planted->backward[1] == NULL ? 1 : 2);
    const struct check_plan plan = fault_plan(planted->self_attention, planted->large, 0);
    assert_blocks_fail(planted->name, &plan, stages, planted->fails, count_words(planted->fails));
}
END_TEST

/* Plan _i % 4, whose bits say which, by kernel and mode _i / 4. */
START_TEST(right_layer_passes_the_same_check) {
    static const struct {
        const char *name;
        mha_kernel kernel;
        mha_mode mode;
    } ways[WAYS] = {{"reference", MHA_KERNEL_REFERENCE, MHA_MODE_STORED},
        {"stored", MHA_KERNEL_FUSED, MHA_MODE_STORED}, {"tiled", MHA_KERNEL_FUSED, MHA_MODE_TILED}};
    struct check_plan plan = fault_plan((_i & 1) != 0, (_i & 2) != 0, 0);
    plan.kernel = ways[_i / 4].kernel;
    plan.mode = ways[_i / 4].mode;
    assert_blocks_fail(ways[_i / 4].name, &plan, NULL, "", 0);
}
END_TEST

/* A mask dropped by the mask stage itself does not show in the layer, where softmax weights of 0
 * hide it; it shows where the stage is checked alone. */
static void everything_passes(const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < mha_value_count(MHA_SCALED, &pass->shape); i++) {
        pass->gradient[MHA_SCALED][i] += dresult[i];
    }
}

START_TEST(mask_forgotten_by_the_mask_stage_is_caught) {
    mha_stage stage = mha_stages[case_stage_of(MHA_MASKED)];
    const struct check_plan plan = {
        .shape = {.batch = 3, .target_length = 3, .source_length = 5, .width = 6, .heads = 2},
        .mask = _i == 0 ? MASK_TOP_LEFT : MASK_EXPLICIT};
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    for (int wrong = 0; wrong < 2; wrong++) {
        stage.backward = wrong ? everything_passes : stage.backward;
        struct check_case made;
        mha_gradcheck_report report;
        ck_assert_int_eq(check_stage_create(&made, &plan, &stage, NULL), MHA_OK);
        ck_assert_int_eq(mha_gradcheck_run(&report, &made.subject, &options, NULL), MHA_OK);
        ck_assert_int_eq(report.verdict, wrong ? MHA_GRADCHECK_WRONG : MHA_GRADCHECK_PASS);
        check_case_destroy(&made);
    }
}
END_TEST

Suite *planted_suite(void) {
    Suite *suite = suite_create("planted faults");
    TCase *layer = tcase_create("layer");
    tcase_set_timeout(layer, 60);
    tcase_add_loop_test(layer, fault_is_caught, 0, (int)fault_count);
    tcase_add_loop_test(layer, right_layer_passes_the_same_check, 0, 4 * WAYS);
    suite_add_tcase(suite, layer);
    TCase *stage = tcase_create("stage");
    tcase_add_loop_test(stage, mask_forgotten_by_the_mask_stage_is_caught, 0, 2);
    suite_add_tcase(suite, stage);
    return suite;
}
