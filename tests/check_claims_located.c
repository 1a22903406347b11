/* Faults are found in their stage: of layers that have one, of stages alone, and what is printed below a check that
 * failed. */
#include "claims_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/faults/faults.h"
#include "checks/marks/locate.h"
#include "commands/gradcheck_explain.h"
#include "folder.h"

static struct place place_of(
    const struct check_plan *plan, const mha_stage stages[MHA_STAGE_COUNT]) {
    struct check_case layer;
    struct place found;
    mha_error error;
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    ck_assert_msg(check_layer_create(&layer, plan, stages, &error) == MHA_OK, "%s", error.text);
    ck_assert_msg(
        locate(&found, &layer, plan, stages, &options, &error) == MHA_OK, "%s", error.text);
    check_case_destroy(&layer);
    return found;
}

/* Other numbers than the self-test has, and in self-attention whatever shows there. Bit 0: self-attention. */
START_TEST(faults_are_located) {
    const struct fault *fault = &faults[_i / 2];
    const bool self_attention = _i % 2 == 1;
    if (fault->self_attention && !self_attention) {
        return;
    }
    mha_stage stages[MHA_STAGE_COUNT];
    plant_fault(stages, fault);
    const struct check_plan plan = fault_plan(self_attention, false, 5);
    const struct place found = place_of(&plan, stages);
    ck_assert_msg(found.stage < MHA_STAGE_COUNT, "%s: no stage", fault->name);
    ck_assert_str_eq(mha_stages[found.stage].name, fault->stage);
    ck_assert_msg(fault->self_attention != self_attention || found.diagnosis.mark == fault->mark,
        "%s: mark %d, %s", fault->name, (int)found.diagnosis.mark, found.diagnosis.text);
    ck_assert_int_ne(found.diagnosis.mark, MARK_RIGHT);
    ck_assert_ptr_nonnull(memchr(found.entry, '\0', sizeof found.entry));
    ck_assert_str_ne(found.entry, "");
}
END_TEST

static const mha_shape shapes[] = {
    {3, 4, 4, 6, 2}, {1, 1, 1, 1, 1}, {2, 3, 3, 4, 4}, {1, 4, 4, 6, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Nothing is found where nothing is wrong: each mask, self- and cross-attention, sizes of 1. */
START_TEST(nothing_is_located_in_the_right_layer) {
    const struct check_plan plan = {.shape = shapes[_i / MASK_KIND_COUNT / 2],
        .self_attention = _i % 2 == 1,
        .mask = (enum mask_kind)(_i / 2 % MASK_KIND_COUNT),
        .seed = 3};
    const struct place found = place_of(&plan, mha_stages);
    ck_assert_uint_eq(found.stage, MHA_STAGE_COUNT);
    ck_assert_str_eq(found.diagnosis.text, "");
}
END_TEST

static const mha_stage *spoiled;

static void spoiled_backward(const mha_pass *pass, const mha_real *dresult) {
    spoiled->backward(pass, dresult);
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        const size_t count = mha_value_count((mha_value)value, &pass->shape);
        for (size_t i = 0; i < count && (spoiled->inputs >> value & 1) != 0; i++) {
            if (pass->gradient[value] != NULL) {
                pass->gradient[value][i] *= 2.0;
            }
        }
    }
}

/* What explain_failure prints, to be freed. */
static char *explanation_of(const struct subject *subject, const struct check_plan *plan) {
    const mha_gradcheck_options options = mha_gradcheck_defaults();
    mha_error error;
    size_t size;
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    ck_assert_int_ge(kept, 0);
    ck_assert_ptr_nonnull(freopen(folder_path("out"), "w", stdout));
    const mha_status status = explain_failure(subject, plan, &options, &error);
    printf("\n");
    fflush(stdout);
    ck_assert_int_ge(dup2(kept, STDOUT_FILENO), 0);
    close(kept);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    char *text = (char *)folder_read(&size, "out");
    text[size - 1] = '\0';
    return text;
}

/* Every stage, planted as a subject of its own. */
START_TEST(a_wrong_stage_is_named) {
    const mha_stage *stage = &mha_stages[_i];
    mha_stage wrong = *stage;
    char start[96];
    spoiled = stage;
    wrong.backward = spoiled_backward;
    const struct subject subject = {.name = "planted", .stage = &wrong};
    const struct check_plan plan = {.shape = shapes[0], .mask = MASK_EXPLICIT};
    char *text = explanation_of(&subject, &plan);
    snprintf(start, sizeof start, "    first wrong stage: %s, ", stage->name);
    ck_assert_msg(strncmp(text, start, strlen(start)) == 0, "%s: %s", stage->name, text);
    ck_assert_msg(strstr(text, "]: 2 times what is right: counted twice") != NULL ||
                      strstr(text, "): 2 times what is right: counted twice") != NULL,
        "%s: %s", stage->name, text);
    free(text);
}
END_TEST

START_TEST(no_wrong_stage_is_said_so) {
    struct subject subjects[SUBJECT_COUNT];
    list_subjects(subjects);
    const struct check_plan plan = {.shape = shapes[0], .mask = MASK_COMBINED};
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        const char *expected =
            subjects[i].is_loss ? "" : "    every stage of the readable wing passes by itself\n";
        char *text = explanation_of(&subjects[i], &plan);
        ck_assert_msg(strcmp(text, expected) == 0, "%s: %s", subjects[i].name, text);
        free(text);
    }
}
END_TEST

TCase *claims_located(void) {
    TCase *tests = tcase_create("located");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, faults_are_located, 0, 2 * (int)fault_count);
    tcase_add_loop_test(
        tests, nothing_is_located_in_the_right_layer, 0, 2 * MASK_KIND_COUNT * SHAPES);
    tcase_add_loop_test(tests, a_wrong_stage_is_named, 0, MHA_STAGE_COUNT);
    tcase_add_test(tests, no_wrong_stage_is_said_so);
    return tests;
}
