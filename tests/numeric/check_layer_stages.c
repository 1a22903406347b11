/* A table of stages with one exchanged, for the readable wing: it is honoured, sees what the tape has
 * and no more, and is refused when it is out of order. */
#include "base/real.h"

#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 3, 5, 12, 4}; /* d = 3 */

static mha_layer_options with_stages(const mha_stage *stages) {
    return (mha_layer_options){.kernel = MHA_KERNEL_REFERENCE, .stages = stages};
}

static size_t stage_index(const char *name) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        if (strcmp(mha_stages[i].name, name) == 0) {
            return i;
        }
    }
    ck_abort_msg("no stage %s", name);
}

static void twice_scaled_forward(mha_real *result, const mha_pass *pass) {
    mha_scale_forward(result, pass->value[MHA_SCORES], &pass->shape);
    for (size_t i = 0; i < mha_value_count(MHA_SCALED, &pass->shape); i++) {
        result[i] *= REAL(2.0);
    }
}

static void twice_scaled_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_scale_backward(pass->gradient[MHA_SCORES], dresult, &pass->shape);
    mha_scale_backward(pass->gradient[MHA_SCORES], dresult, &pass->shape);
}

/* Twice the scale, or twice wq: the same scores, and dwq is then once and twice the same. */
START_TEST(an_exchanged_stage_is_honoured) {
    mha_stage stages[MHA_STAGE_COUNT];
    memcpy(stages, mha_stages, sizeof stages);
    stages[stage_index("scale")].forward = twice_scaled_forward;
    stages[stage_index("scale")].backward = twice_scaled_backward;
    trial exchanged = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    const trial plain = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    const trial doubled = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    exchanged.options = with_stages(stages);
    exchanged.layer = trial_layer(&shape, &exchanged.options);
    for (size_t i = 0; i < 12 * 12; i++) {
        doubled.weights.matrix[0][i] *= REAL(2.0);
    }
    trial_run(&exchanged);
    trial_run(&plain);
    trial_run(&doubled);
    for (size_t i = 0; i < 12 * 12; i++) {
        doubled.dweights.matrix[0][i] *= REAL(2.0);
    }
    assert_trials_same(&exchanged, &doubled);
    ck_assert(exchanged.output[0] != plain.output[0]);
}
END_TEST

/* What a stage put in place of "mask" finds in its backward. */
static mha_pass seen_pass;

static void seeing_backward(const mha_pass *pass, const mha_real *dresult) {
    seen_pass = *pass;
    mha_mask_backward(pass->gradient[MHA_SCALED], dresult, pass->mask, &pass->shape);
}

/* Backward has the leaves and what is on the tape. What no stage of mha_stages reads back, such as
 * the scaled scores, is gone after forward, whatever a table of stages says. */
START_TEST(backward_sees_only_leaves_and_the_tape) {
    mha_stage stages[MHA_STAGE_COUNT];
    memcpy(stages, mha_stages, sizeof stages);
    stages[stage_index("mask")].backward = seeing_backward;
    stages[stage_index("mask")].reads_back = 1ul << MHA_SCALED;
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    t.options = with_stages(stages);
    t.layer = trial_layer(&shape, &t.options);
    memset(&seen_pass, 0, sizeof seen_pass);
    trial_run(&t);
    ck_assert_ptr_null(seen_pass.value[MHA_SCALED]);
    ck_assert_ptr_eq(seen_pass.value[MHA_QUERY], t.query);
    ck_assert_ptr_eq(seen_pass.value[MHA_SOURCE], t.source);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        ck_assert_ptr_eq(seen_pass.value[MHA_FIRST_WEIGHT + i], t.weights.matrix[i]);
    }
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_value result = mha_stages[i].result;
        ck_assert_ptr_eq(seen_pass.value[result], mha_tape_value(t.tape, result));
    }
}
END_TEST

/* ---- tables that are refused ---- */

static void assert_stages_refused(const mha_stage *stages, size_t index) {
    const mha_layer_options options = with_stages(stages);
    mha_layer *layer = trial_layer(&shape, wing_options());
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_layer_create(&layer, &shape, &options, &error), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_null(layer);
    ck_assert_int_eq(error.status, MHA_ERROR_ARGUMENT);
    char place[32];
    snprintf(place, sizeof place, "stage %zu ", index);
    ck_assert_msg(strncmp(error.text, place, strlen(place)) == 0, "%s", error.text);
    ck_assert_msg(strstr(error.text, mha_stages[index].name) != NULL, "%s", error.text);
    ck_assert_int_eq(mha_layer_create(&layer, &shape, &options, NULL), MHA_ERROR_ARGUMENT);
}

/* Stage _i with another result or other inputs, or without a function. */
START_TEST(a_stage_out_of_its_place_is_refused) {
    const size_t index = (size_t)_i;
    for (size_t wrong = 0; wrong < 6; wrong++) {
        mha_stage stages[MHA_STAGE_COUNT];
        memcpy(stages, mha_stages, sizeof stages);
        mha_stage *stage = &stages[index];
        switch (wrong) {
        case 0:
            stage->forward = NULL;
            break;
        case 1:
            stage->backward = NULL;
            break;
        case 2:
            stage->inputs |= 1ul << stage->result;
            break;
        case 3:
            stage->inputs = 0;
            break;
        case 4:
            stage->result = mha_stages[(index + 1) % MHA_STAGE_COUNT].result;
            break;
        default:
            stage->result = MHA_VALUE_COUNT;
        }
        assert_stages_refused(stages, index);
    }
}
END_TEST

START_TEST(stages_in_another_order_are_refused) {
    mha_stage stages[MHA_STAGE_COUNT];
    memcpy(stages, mha_stages, sizeof stages);
    const size_t first = stage_index("project_key"), second = stage_index("project_value");
    stages[first] = mha_stages[second];
    stages[second] = mha_stages[first];
    assert_stages_refused(stages, first);
    memset(stages, 0, sizeof stages);
    assert_stages_refused(stages, 0);
}
END_TEST

static void nothing_backward(const mha_pass *pass, const mha_real *dresult) {
    (void)pass, (void)dresult;
}

/* Without the backward of one stage, the gradients that pass through it alone are exactly 0 and all
 * others keep their bits. */
START_TEST(a_stage_without_backward_cuts_its_path) {
    static const struct {
        const char *name;
        bool survives[MHA_WEIGHT_COUNT]; /* dwq dwk dwv dwo */
    } cuts[] = {{"project_query", {false, true, true, true}},
        {"project_key", {true, false, true, true}}, {"split_value", {true, true, false, true}},
        {"softmax", {false, false, true, true}}, {"context", {false, false, false, true}},
        {"project_output", {false, false, false, false}}};
    const trial plain = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial_run(&plain);
    for (size_t i = 0; i < COUNT(cuts); i++) {
        mha_stage stages[MHA_STAGE_COUNT];
        memcpy(stages, mha_stages, sizeof stages);
        stages[stage_index(cuts[i].name)].backward = nothing_backward;
        trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
        t.options = with_stages(stages);
        t.layer = trial_layer(&shape, &t.options);
        trial_run(&t);
        for (size_t j = 0; j < MHA_WEIGHT_COUNT; j++) {
            if (cuts[i].survives[j]) {
                assert_arrays_same(
                    cuts[i].name, t.dweights.matrix[j], plain.dweights.matrix[j], 12 * 12);
            } else {
                assert_array_is(cuts[i].name, t.dweights.matrix[j], REAL(0.0), 12 * 12);
            }
        }
    }
}
END_TEST

TCase *layer_stages_case(void) {
    TCase *cases = tcase_create("stages");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, an_exchanged_stage_is_honoured);
    tcase_add_test(cases, backward_sees_only_leaves_and_the_tape);
    tcase_add_loop_test(cases, a_stage_out_of_its_place_is_refused, 0, MHA_STAGE_COUNT);
    tcase_add_test(cases, stages_in_another_order_are_refused);
    tcase_add_test(cases, a_stage_without_backward_cuts_its_path);
    return cases;
}
