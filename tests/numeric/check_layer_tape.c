/* The tape: its entries, what it holds after a pass, and that backward only reads it; and the stages
 * that write them, walked by hand. */
#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 3, 5, 12, 4}; /* d = 3 */
static const mha_mask mask = {.causal = MHA_CAUSAL_BOTTOM_RIGHT};

typedef struct entry {
    mha_value value;
    const char *name, *axes, *readers; /* the stages that read it back */
    size_t count;
} entry;

enum { ENTRIES = 6 };

/* In the order of the table of values; sum is the count of all. */
static const struct {
    size_t count, sum;
    entry at[ENTRIES];
} tapes[WINGS] = {
    [WING_REFERENCE] = {5, 504,
        {{MHA_Q_HEADS, "q_heads", "BhTd", "scores", 72},
            {MHA_K_HEADS, "k_heads", "BhSd", "scores", 120},
            {MHA_V_HEADS, "v_heads", "BhSd", "context", 120},
            {MHA_ATTENTION_WEIGHTS, "attention_weights", "BhTS", "softmax context", 120},
            {MHA_CONTEXT, "context", "BTD", "project_output", 72}}},
    [WING_STORED] = {5, 504,
        {{MHA_Q, "q", "BTD", "attention", 72}, {MHA_K, "k", "BSD", "attention", 120},
            {MHA_V, "v", "BSD", "attention", 120},
            {MHA_ATTENTION_WEIGHTS, "attention_weights", "BhTS", "attention", 120},
            {MHA_CONTEXT, "context", "BTD", "attention project_output", 72}}},
    [WING_TILED] = {6, 432,
        {{MHA_Q, "q", "BTD", "attention", 72}, {MHA_K, "k", "BSD", "attention", 120},
            {MHA_V, "v", "BSD", "attention", 120},
            {MHA_ROW_MAXIMUM, "row_maximum", "BhT", "attention", 24},
            {MHA_ROW_INVERSE_SUM, "row_inverse_sum", "BhT", "attention", 24},
            {MHA_CONTEXT, "context", "BTD", "attention project_output", 72}}},
};

static const mha_stage *stages_now(size_t *count) {
    return mha_stages_of(count, wing_options()->kernel, wing_options()->mode);
}

START_TEST(the_tape_lists_what_backward_reads) {
    size_t bytes, sum = 0, stage_count;
    const mha_stage *stages = stages_now(&stage_count);
    ck_assert_uint_eq(mha_tape_entry_count(wing_options()), tapes[wing_now()].count);
    for (size_t i = 0; i < tapes[wing_now()].count; i++) {
        const entry *expected = &tapes[wing_now()].at[i];
        const mha_tape_entry listed = mha_tape_entry_at(i, &shape, wing_options());
        ck_assert_int_eq(listed.value, expected->value);
        ck_assert_str_eq(listed.shape.name, expected->name);
        ck_assert_str_eq(listed.shape.axes, expected->axes);
        ck_assert_uint_eq(listed.shape.count, expected->count);
        ck_assert_uint_eq(listed.bytes, expected->count * sizeof(mha_real));
        for (size_t stage = 0; stage < stage_count; stage++) {
            const bool reads = strstr(expected->readers, stages[stage].name) != NULL;
            ck_assert_int_eq((listed.read_back_by >> stage & 1) != 0, reads);
        }
        ck_assert_uint_eq(listed.read_back_by >> stage_count, 0);
        sum += listed.bytes;
    }
    ck_assert_int_eq(mha_tape_bytes(&bytes, &shape, wing_options(), NULL), MHA_OK);
    ck_assert_uint_eq(bytes, sum);
    ck_assert_uint_eq(bytes, tapes[wing_now()].sum * sizeof(mha_real));
    const mha_shape empty = {0, 0, 0, 12, 4};
    ck_assert_int_eq(mha_tape_bytes(&bytes, &empty, wing_options(), NULL), MHA_OK);
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

START_TEST(beyond_the_last_entry_there_is_none) {
    for (size_t beyond = 0; beyond < 3; beyond++) {
        const mha_tape_entry none =
            mha_tape_entry_at(tapes[wing_now()].count + beyond, &shape, wing_options());
        ck_assert_ptr_null(none.shape.name);
        ck_assert_uint_eq(none.bytes, 0);
        ck_assert_uint_eq(none.read_back_by, 0);
    }
}
END_TEST

START_TEST(the_tape_has_its_values_after_a_pass_and_no_others) {
    const trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
        ck_assert_ptr_null(mha_tape_value(t.tape, (mha_value)value));
    }
    trial_forward(&t);
    size_t saved = 0;
    for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
        bool listed = false;
        for (size_t i = 0; i < tapes[wing_now()].count; i++) {
            listed = listed || tapes[wing_now()].at[i].value == (mha_value)value;
        }
        const mha_real *at = mha_tape_value(t.tape, (mha_value)value);
        ck_assert_int_eq(at != NULL, listed);
        saved += at != NULL ? 1 : 0;
    }
    ck_assert_uint_eq(saved, tapes[wing_now()].count);
}
END_TEST

START_TEST(backward_only_reads_the_tape) {
    const trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    const entry *entries = tapes[wing_now()].at;
    const mha_real *before[ENTRIES];
    trial_forward(&t);
    for (size_t i = 0; i < tapes[wing_now()].count; i++) {
        before[i] = array_copy(mha_tape_value(t.tape, entries[i].value), entries[i].count);
    }
    trial_backward(&t);
    for (size_t i = 0; i < tapes[wing_now()].count; i++) {
        assert_arrays_same(
            entries[i].name, mha_tape_value(t.tape, entries[i].value), before[i], entries[i].count);
    }
}
END_TEST

/* ---- the stages by hand ---- */

static void destroy_fused(void *fused) {
    mha_fused_destroy(fused);
}

/* A pass with the leaves of the trial, and memory for what the stages save beside their results. */
static mha_pass pass_of(const trial *t) {
    mha_pass pass = {.shape = shape, .mask = t->mask};
    pass.value[MHA_QUERY] = t->query;
    pass.value[MHA_SOURCE] = t->source;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        pass.value[MHA_FIRST_WEIGHT + i] = t->weights.matrix[i];
    }
    if (wing_now() != WING_REFERENCE) {
        ck_assert_int_eq(mha_fused_create(&pass.fused, &shape, 1, NULL), MHA_OK);
        arrays_keep(pass.fused, destroy_fused);
    }
    size_t count;
    const mha_stage *stages = stages_now(&count);
    for (size_t value = 0; value < count * MHA_VALUE_COUNT; value++) {
        const size_t i = value % MHA_VALUE_COUNT;
        if ((stages[value / MHA_VALUE_COUNT].also_saves >> i & 1) != 0) {
            ck_assert_ptr_null(pass.saved[i]); /* written by one stage */
            pass.saved[i] = array_new(trial_count(t, (mha_value)i));
        }
    }
    return pass;
}

static void walk_forward(mha_pass *pass, const trial *t) {
    size_t count;
    const mha_stage *stages = stages_now(&count);
    for (size_t i = 0; i < count; i++) {
        const mha_value result = stages[i].result;
        mha_real *values = array_new(trial_count(t, result));
        for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
            ck_assert((stages[i].inputs >> value & 1) == 0 || pass->value[value] != NULL);
        }
        ck_assert_ptr_null(pass->value[result]); /* written by this stage alone */
        ck_assert_ptr_null(pass->saved[result]);
        stages[i].forward(values, pass);
        pass->value[result] = values;
    }
    ck_assert_int_eq(stages[count - 1].result, MHA_OUTPUT);
}

/* They give the layer's output and everything on its tape. */
START_TEST(the_tape_holds_what_the_stages_write) {
    const trial t = trial_new(&shape, CROSS_ATTENTION, &mask, 1);
    trial_forward(&t);
    mha_pass pass = pass_of(&t);
    walk_forward(&pass, &t);
    assert_arrays_same("output", t.output, pass.value[MHA_OUTPUT], trial_count(&t, MHA_OUTPUT));
    for (size_t i = 0; i < tapes[wing_now()].count; i++) {
        const entry *saved = &tapes[wing_now()].at[i];
        const mha_real *written =
            pass.saved[saved->value] != NULL ? pass.saved[saved->value] : pass.value[saved->value];
        assert_arrays_same(
            saved->name, mha_tape_value(t.tape, saved->value), written, saved->count);
    }
}
END_TEST

/* Upwards, with no more than the leaves and what a tape would hold, they give the layer's gradients. */
START_TEST(backward_is_the_stages_from_the_end) {
    const trial t = trial_new(&shape, CROSS_ATTENTION, &mask, 1);
    trial_run(&t);
    mha_pass pass = pass_of(&t);
    walk_forward(&pass, &t);
    size_t count;
    const mha_stage *stages = stages_now(&count);
    for (size_t value = MHA_QUERY; value < MHA_VALUE_COUNT; value++) {
        bool read_back = value <= MHA_WO;
        for (size_t i = 0; i < count; i++) {
            read_back = read_back || (stages[i].reads_back >> value & 1) != 0;
        }
        pass.value[value] = read_back ? pass.value[value] : NULL;
        pass.gradient[value] = array_constant(trial_count(&t, (mha_value)value), REAL(0.0));
    }
    for (size_t i = count; i-- > 0;) {
        const mha_value result = stages[i].result;
        stages[i].backward(&pass, result == MHA_OUTPUT ? t.doutput : pass.gradient[result]);
    }
    trial by_hand = t;
    by_hand.dx_query = pass.gradient[MHA_QUERY];
    by_hand.dx_source = pass.gradient[MHA_SOURCE];
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        assert_arrays_same(
            "dweights", pass.gradient[MHA_FIRST_WEIGHT + i], t.dweights.matrix[i], 12 * 12);
    }
    assert_gradients_same(&by_hand, &t);
}
END_TEST

TCase *layer_tape_case(wing chosen) {
    TCase *cases = wing_case("tape", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, the_tape_lists_what_backward_reads);
    tcase_add_test(cases, beyond_the_last_entry_there_is_none);
    tcase_add_test(cases, the_tape_has_its_values_after_a_pass_and_no_others);
    tcase_add_test(cases, backward_only_reads_the_tape);
    tcase_add_test(cases, the_tape_holds_what_the_stages_write);
    tcase_add_test(cases, backward_is_the_stages_from_the_end);
    return cases;
}
