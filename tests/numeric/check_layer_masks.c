/* The layer under masks: hidden source rows may hold anything, a query without a key is exactly 0
 * and adds exactly 0, empty sizes are legal. All comparisons are exact. */
#include "base/real.h"

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

enum { B = 3, T = 3, S = 5, D = 6, H = 2 };
static const mha_shape shape = {B, T, S, D, H};
enum { WEIGHTS = MHA_WEIGHT_COUNT * D * D };

static const int64_t lengths[B] = {3, 5, 0};
static const unsigned char per_head[H * T * S] = {1, 0, 1, 0, 0, /**/ 0, 0, 0, 0, 0, /**/ 1, 0, 0,
    1, 0, //
    1, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 0, /**/ 0, 0, 1, 1, 0};
static const mha_mask masks[] = {
    {.lengths = lengths},            /* hides the ends, and all of sample 2 */
    {.causal = MHA_CAUSAL_TOP_LEFT}, /* hides keys 3 and 4 */
    {.allowed = per_head,
        .rank = 4,
        .dims = {1, H, T, S}}, /* hides keys 1 and 4; query 1 is empty */
    {.causal = MHA_CAUSAL_TOP_LEFT,
        .lengths = lengths,
        .allowed = per_head,
        .rank = 4,
        .dims = {1, H, T, S}},
};

/* ---- rows that nobody may see ---- */

/* Writes value into the source rows that no query may see; returns how many there are. */
static size_t fill_hidden(const trial *t, mha_real *rows, mha_real value) {
    size_t hidden = 0;
    for (size_t row = 0; row < B * S; row++) {
        if (!mha_mask_sees_source(t->mask, &shape, row / S, row % S)) {
            for (size_t i = 0; i < D; i++) {
                rows[row * D + i] = value;
            }
            hidden++;
        }
    }
    return hidden;
}

START_TEST(hidden_source_rows_may_hold_anything) {
    const mha_real values[] = {
        not_a_number, REAL_INFINITY, -REAL_INFINITY, REAL_LARGEST, -REAL_LARGEST};
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    ck_assert_uint_gt(fill_hidden(&expected, expected.source, REAL(0.0)), 0);
    trial_run(&expected);
    for (size_t i = 0; i < COUNT(values); i++) {
        const trial t = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
        fill_hidden(&t, t.source, values[i]);
        trial_run(&t);
        assert_trials_same(&t, &expected);
    }
}
END_TEST

/* The gradient rows of what nobody sees are not touched, whatever they hold. */
START_TEST(hidden_source_rows_get_no_gradient) {
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    trial t = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    trial_run(&expected);
    fill_hidden(&t, t.dx_source, not_a_number);
    trial_run(&t);
    fill_hidden(&t, expected.dx_source, not_a_number);
    assert_gradients_same(&t, &expected);
}
END_TEST

/* A row that one query sees and another does not: the bits of the other do not move. */
START_TEST(a_row_hidden_from_one_query_does_not_move_it) {
    const mha_real values[] = {REAL(0.0), REAL(1e5), REAL_LARGEST, REAL_INFINITY, not_a_number};
    static const mha_mask causal = {.causal = MHA_CAUSAL_TOP_LEFT};
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &causal, 1);
    trial_run(&expected);
    for (size_t i = 0; i < COUNT(values); i++) {
        const trial t = trial_new(&shape, CROSS_ATTENTION, &causal, 1);
        for (size_t j = 0; j < D; j++) {
            t.source[2 * D + j] = values[i]; /* key 2 of sample 0: only query 2 sees it */
        }
        trial_run(&t);
        assert_arrays_same("output", t.output, expected.output, 2 * D);
        assert_arrays_same("dx_query", t.dx_query, expected.dx_query, 2 * D);
        assert_arrays_same("output", t.output + T * D, expected.output + T * D, (B - 1) * T * D);
    }
}
END_TEST

/* ---- queries without a key ---- */

static bool row_is_empty(const mha_mask *mask, size_t b, size_t t) {
    bool empty = true;
    for (size_t h = 0; h < H; h++) {
        const mha_mask_row row = mha_mask_row_at(mask, &shape, b, h, t);
        for (size_t s = 0; s < S; s++) {
            empty = empty && !mha_mask_row_allows(&row, s);
        }
    }
    return empty;
}

/* Exactly 0 in output, weights and gradient; and neither its query nor its doutput moves a bit. */
START_TEST(a_query_without_a_key_adds_nothing) {
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    const trial t = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    size_t empty = 0;
    trial_run(&expected);
    for (size_t row = 0; row < B * T; row++) {
        if (row_is_empty(&masks[_i], row / T, row % T)) {
            assert_array_is("output", expected.output + row * D, REAL(0.0), D);
            assert_array_is("dx_query", expected.dx_query + row * D, REAL(0.0), D);
            for (size_t h = 0; h < H; h++) {
                assert_array_is("attention weights",
                    trial_attention(&expected) + ((row / T * H + h) * T + row % T) * S, REAL(0.0),
                    S);
            }
            for (size_t i = 0; i < D; i++) {
                t.query[row * D + i] = REAL(-7.0);
                t.doutput[row * D + i] = REAL(1e5);
            }
            empty++;
        }
    }
    ck_assert(empty > 0 || masks[_i].causal != MHA_CAUSAL_OFF);
    trial_run(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

/* Finite numbers so large that their projections are not: they stay with their query all the same.
 */
START_TEST(a_huge_query_without_a_key_adds_nothing) {
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &masks[2], 1);
    const trial t = trial_new(&shape, CROSS_ATTENTION, &masks[2], 1);
    trial_run(&expected);
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < D; i++) { /* query 1 sees no key */
            (_i == 0 ? t.query : t.doutput)[(b * T + 1) * D + i] = REAL_LARGEST;
        }
    }
    trial_run(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

START_TEST(without_any_key_everything_is_0) {
    static const unsigned char none = 0;
    static const int64_t no_lengths[B] = {0};
    static const mha_mask blocked[] = {
        {.lengths = no_lengths}, {.allowed = &none, .rank = 4, .dims = {1, 1, 1, 1}}};
    trial t = trial_new(&shape, CROSS_ATTENTION, &blocked[_i], 1);
    t.source = array_new(B * S * D);
    trial_run(&t);
    assert_array_is("output", t.output, REAL(0.0), B * T * D);
    assert_array_is("weights", trial_attention(&t), REAL(0.0), B * H * T * S);
    assert_array_is("dx_query", t.dx_query, REAL(0.0), B * T * D);
    assert_array_is("dx_source", t.dx_source, REAL(0.0), B * S * D);
    assert_array_is("dweights", t.dblock, REAL(0.0), WEIGHTS);
}
END_TEST

/* A sample of length 0 changes no bit of the weight gradients of the others. */
START_TEST(a_sample_of_length_0_adds_nothing) {
    static const int64_t first_two[2] = {3, 5};
    const mha_mask two = {.lengths = first_two};
    const trial whole = trial_new(&shape, CROSS_ATTENTION, &masks[0], 1);
    trial part = trial_new(&(mha_shape){2, T, S, D, H}, CROSS_ATTENTION, &two, 1);
    part.query = array_copy(whole.query, 2 * T * D);
    part.source = array_copy(whole.source, 2 * S * D);
    part.doutput = array_copy(whole.doutput, 2 * T * D);
    trial_run(&whole);
    trial_run(&part);
    assert_arrays_same("dweights", part.dblock, whole.dblock, WEIGHTS);
    assert_arrays_same("output", part.output, whole.output, 2 * T * D);
}
END_TEST

/* One merged mask and the rules it is merged from are the same. */
START_TEST(merged_masks_have_the_bits_of_their_parts) {
    const mha_mask *parts = &masks[3];
    unsigned char merged[B * H * T * S];
    for (size_t i = 0; i < sizeof merged; i++) {
        const mha_mask_row row =
            mha_mask_row_at(parts, &shape, i / (H * T * S), i / (T * S) % H, i / S % T);
        merged[i] = mha_mask_row_allows(&row, i % S) ? 1 : 0;
    }
    const mha_mask one = {.allowed = merged, .rank = 4, .dims = {B, H, T, S}};
    const trial expected = trial_new(&shape, CROSS_ATTENTION, parts, 1);
    const trial t = trial_new(&shape, CROSS_ATTENTION, &one, 1);
    trial_run(&expected);
    trial_run(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

/* ---- empty sizes ---- */

START_TEST(empty_sizes_are_legal) {
    static const mha_shape empty[] = {
        {0, 3, 3, 4, 2}, {2, 0, 3, 4, 2}, {2, 3, 0, 4, 2}, {0, 0, 0, 4, 2}, {2, 0, 0, 4, 2}};
    static const int64_t none[] = {0, 0};
    const mha_mask mask = {.causal = MHA_CAUSAL_BOTTOM_RIGHT, .lengths = none};
    for (size_t i = 0; i < 2 * COUNT(empty); i++) {
        const trial t = trial_new(&empty[i / 2], CROSS_ATTENTION, i % 2 == 0 ? NULL : &mask, 1);
        trial_run(&t);
        assert_array_is("output", t.output, REAL(0.0), trial_count(&t, MHA_OUTPUT));
        assert_array_is("dx_query", t.dx_query, REAL(0.0), trial_count(&t, MHA_QUERY));
        assert_array_is("dx_source", t.dx_source, REAL(0.0), trial_count(&t, MHA_SOURCE));
        assert_array_is("dweights", t.dblock, REAL(0.0), 4 * 4 * 4);
        ck_assert_ptr_nonnull(trial_attention(&t));
    }
}
END_TEST

/* An array without an entry may be NULL. */
START_TEST(empty_arrays_may_be_missing) {
    trial t = trial_new(&(mha_shape){0, 3, 3, 4, 2}, SELF_ATTENTION, NULL, 1);
    t.output = t.doutput = t.query = t.dx_query = NULL;
    trial_run(&t);
    assert_array_is("dweights", t.dblock, REAL(0.0), 4 * 4 * 4);
}
END_TEST

TCase *layer_masks_case(wing chosen) {
    TCase *cases = wing_case("masks", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, hidden_source_rows_may_hold_anything, 0, COUNT(masks));
    tcase_add_loop_test(cases, hidden_source_rows_get_no_gradient, 0, COUNT(masks));
    tcase_add_test(cases, a_row_hidden_from_one_query_does_not_move_it);
    tcase_add_loop_test(cases, a_query_without_a_key_adds_nothing, 0, COUNT(masks));
    tcase_add_loop_test(cases, a_huge_query_without_a_key_adds_nothing, 0, 2);
    tcase_add_loop_test(cases, without_any_key_everything_is_0, 0, 2);
    tcase_add_test(cases, a_sample_of_length_0_adds_nothing);
    tcase_add_test(cases, merged_masks_have_the_bits_of_their_parts);
    tcase_add_test(cases, empty_sizes_are_legal);
    tcase_add_test(cases, empty_arrays_may_be_missing);
    return cases;
}
