/* mha gradcheck --case on gradients of passes in which stages were exchanged. */
#include "case_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_explained.h"
#include "checks/case.h"
#include "checks/faults/faults.h"
#include "checks/faults/wrong_passes.h"
#include "folder.h"

/* Faults that come out as another one does, or that a file cannot show. */
static const char *same_as(const char *name) {
    static const char *const same[][2] = {
        {"shared input overwritten", "value path of the shared input lost"},
        {"one entry wrong in a large block", "one entry wrong by a hundredth"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        name = strcmp(name, same[i][0]) == 0 ? same[i][1] : name;
    }
    return name;
}

/* d = 3, so that no factor has two meanings. */
START_TEST(planted_faults) {
    const struct fault *fault = &faults[_i / 2];
    const mha_shape shape = {3, fault->self_attention ? 5 : 3, 5, 6, 2};
    mha_stage stages[MHA_STAGE_COUNT];
    char mistake[128];
    fill_both(&shape, fault->self_attention, CASE_EXPLICIT, _i % 2);
    const bool small = strstr(fault->name, "millionth") != NULL;
    if (fault->mark == MARK_NOT_FINITE || (small && _i % 2 == 1)) {
        return; /* NaN is like nothing, and floats do not show so little */
    }
    plant_fault(stages, fault);
    case_file_walk(&file, stages, &file.mask);
    snprintf(mistake, sizeof mistake, "%s, in backward", same_as(fault->name));
    if (small) {
        assert_case_called(&file, fault->name,
            fault->stage[0] == 'p' ? "grad_wk" : "grad_query grad_context grad_wq grad_wk",
            WORDS(mistake, "FAIL: "));
    } else if (strcmp(fault->name, "shared input overwritten") == 0) {
        assert_explained(mistake, "project_value");
    } else {
        assert_explained(mistake, fault->stage);
    }
}
END_TEST

START_TEST(wrong_passes_are_explained) {
    const struct wrong_pass *wrong = &wrong_passes[_i / 4];
    const bool self_attention = _i / 2 % 2 == 1;
    const mha_shape shape = {3, self_attention ? 5 : 4, 5, 6, 2};
    mha_stage stages[MHA_STAGE_COUNT];
    fill_both(&shape, self_attention, CASE_EXPLICIT, _i % 2);
    plant_wrong_pass(stages, wrong);
    case_file_walk(&file, stages, &file.mask);
    const char *stage = NULL;
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        stage = mha_stages[i].result == wrong->stages[0].result ? mha_stages[i].name : stage;
    }
    assert_explained(wrong->name, stage);
}
END_TEST

/* One path of a shared stream. */

static mha_value lost_result, lost_input;

static void path_lost(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[lost_input] = NULL;
    mha_stages[case_stage_of(lost_result)].backward(&changed, dresult);
}

/* In self-attention the query's, the key's and the value's; in cross-attention of the context the last two. */
START_TEST(paths_missing) {
    static const mha_value results[] = {MHA_Q, MHA_K, MHA_V};
    static const char *const texts[] = {"    the query path is missing\n",
        "    the key path is missing\n", "    the value path is missing\n"};
    const bool self_attention = _i % 2 == 0;
    const mha_shape shape = {3, self_attention ? 5 : 4, 5, 12, 2};
    mha_stage stages[MHA_STAGE_COUNT];
    lost_result = results[_i / 4];
    lost_input = _i / 4 == 0 ? MHA_QUERY : MHA_SOURCE;
    fill_both(&shape, self_attention, CASE_EXPLICIT, _i / 2 % 2);
    memcpy(stages, mha_stages, sizeof stages);
    stages[case_stage_of(lost_result)].backward = path_lost;
    case_file_walk(&file, stages, &file.mask);
    const bool alone = !self_attention && lost_input == MHA_QUERY;
    assert_case_called(&file, "path", self_attention || alone ? "grad_query" : "grad_context",
        WORDS(alone ? "    zero everywhere: no gradient reaches it\n" : texts[_i / 4],
            "first wrong stage on the way back"));
}
END_TEST

static mha_value headed;

/* Head 1 lost on the way back, before the stage that writes `headed`. */
static void head_lost(const mha_pass *pass, const mha_real *dresult) {
    static double less[CASE_FILE_MOST];
    const size_t count = mha_value_count(headed, &pass->shape);
    ck_assert_uint_le(count, CASE_FILE_MOST);
    for (size_t i = 0; i < count; i++) {
        less[i] = i / (count / pass->shape.batch / pass->shape.heads) % pass->shape.heads == 1
                      ? 0.0
                      : dresult[i];
    }
    mha_stages[case_stage_of(headed)].backward(pass, less);
}

START_TEST(a_head_lost) {
    static const struct {
        mha_value value;
        const char *stage;
    } values[] = {{MHA_CONTEXT_HEADS, "combine"}, {MHA_V_HEADS, "context"}, {MHA_K_HEADS, "scores"},
        {MHA_Q_HEADS, "scores"}};
    const mha_shape shape = {3, 4, 5, 12, 3};
    mha_stage stages[MHA_STAGE_COUNT];
    char mistake[64];
    headed = values[_i / 2].value;
    fill_both(&shape, false, CASE_EXPLICIT, _i % 2);
    memcpy(stages, mha_stages, sizeof stages);
    stages[case_stage_of(headed)].backward = head_lost;
    case_file_walk(&file, stages, &file.mask);
    snprintf(mistake, sizeof mistake, "head 1 lost in the gradient of %s", mha_value_name(headed));
    assert_explained(mistake, values[_i / 2].stage);
}
END_TEST

/* All arrays apart and no longer than they are, so that sanitizers see what is read or written beside them. */
static void walk_apart(const mha_stage *stages, const mha_shape *shape) {
    double *value[MHA_VALUE_COUNT];
    mha_pass pass = {.shape = *shape};
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){33}, 1);
    for (int v = 0; v < MHA_VALUE_COUNT; v++) {
        const size_t count = mha_value_count((mha_value)v, shape);
        pass.value[v] = value[v] = calloc(count, sizeof(double));
        pass.gradient[v] = calloc(count, sizeof(double));
        ck_assert(value[v] != NULL && pass.gradient[v] != NULL);
        for (size_t i = 0; i < count; i++) {
            value[v][i] = mha_rng_normal(&rng);
            pass.gradient[v][i] = v == MHA_OUTPUT ? mha_rng_normal(&rng) : 0.0;
        }
    }
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        stages[i].forward(value[stages[i].result], &pass);
    }
    for (size_t i = MHA_STAGE_COUNT; i-- > 0;) {
        stages[i].backward(&pass, pass.gradient[stages[i].result]);
    }
    for (int v = 0; v < MHA_VALUE_COUNT; v++) {
        free(value[v]);
        free(pass.gradient[v]);
    }
}

/* Mistakes are made at whatever sizes a file has, not only at those of the self-test. */
START_TEST(mistakes_stay_within_their_arrays) {
    static const mha_shape shapes[] = {{1, 1, 1, 1, 1}, {2, 5, 3, 4, 2}, {1, 2, 6, 6, 3},
        {2, 1, 4, 2, 2}, {3, 4, 1, 3, 1}, {1, 4, 4, 5, 5}};
    mha_stage stages[MHA_STAGE_COUNT];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if ((size_t)_i < fault_count) {
            plant_fault(stages, &faults[_i]);
        } else {
            plant_wrong_pass(stages, &wrong_passes[(size_t)_i - fault_count]);
        }
        walk_apart(stages, &shapes[i]);
    }
}
END_TEST

TCase *case_wrong_stages(void) {
    TCase *tests = tcase_create("wrong stages");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, planted_faults, 0, 2 * (int)fault_count);
    tcase_add_loop_test(tests, wrong_passes_are_explained, 0, 4 * (int)wrong_pass_count);
    tcase_add_loop_test(tests, paths_missing, 0, 12);
    tcase_add_loop_test(tests, a_head_lost, 0, 8);
    tcase_add_loop_test(
        tests, mistakes_stay_within_their_arrays, 0, (int)(fault_count + wrong_pass_count));
    return tests;
}
