/* Results that may not depend on what else is there: other samples, later tokens, what memory held
 * before, an earlier pass, the size of the layer. All comparisons are of bits. */
#include "base/real.h"

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

enum { B = 5, T = 3, S = 7, D = 10, H = 2 };
static const mha_shape shape = {B, T, S, D, H};

static const int64_t lengths[B] = {7, 0, 1, 5, 6};
static const unsigned char allowed[B * T * S] = {1, 0, 1, 1, 0, 1, 1, /**/ 0, 1, 1, 0, 1, 1, 0,
    /**/ 1, 1, 1, 1, 1, 1, 1,                                                //
    1, 1, 1, 1, 1, 1, 1, /**/ 0, 0, 0, 0, 0, 0, 1, /**/ 1, 0, 1, 0, 1, 0, 1, //
    0, 0, 0, 0, 0, 0, 0, /**/ 1, 0, 1, 0, 1, 0, 1, /**/ 0, 1, 0, 1, 0, 1, 0, //
    1, 1, 0, 0, 1, 1, 0, /**/ 1, 0, 0, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 1, 1, 1, //
    1, 1, 1, 1, 1, 1, 0, /**/ 0, 1, 1, 1, 1, 1, 1, /**/ 1, 1, 0, 1, 1, 1, 1};
static const mha_mask masks[] = {{.causal = MHA_CAUSAL_OFF},
    {.causal = MHA_CAUSAL_BOTTOM_RIGHT, .lengths = lengths},
    {.lengths = lengths, .allowed = allowed, .rank = 3, .dims = {B, T, S}}};

/* ---- other samples ---- */

/* Samples first to first + count - 1 of the whole batch, with their part of the mask. */
static void assert_part_of_batch(const trial *whole, size_t first, size_t count) {
    const mha_shape part_shape = {count, T, S, D, H};
    mha_mask mask = *whole->mask;
    mask.lengths = mask.lengths == NULL ? NULL : mask.lengths + first;
    mask.allowed = mask.allowed == NULL ? NULL : mask.allowed + first * T * S;
    mask.dims[0] = count;
    if (mask.rank == 3 && count == H) { /* H samples of rank 3 could be H heads */
        mask = (mha_mask){mask.causal, mask.lengths, mask.allowed, 4, {count, 1, T, S}};
    }
    trial part = trial_new(&part_shape, CROSS_ATTENTION, &mask, 1);
    part.weights = whole->weights;
    part.query = array_copy(whole->query + first * T * D, count * T * D);
    part.source = array_copy(whole->source + first * S * D, count * S * D);
    part.doutput = array_copy(whole->doutput + first * T * D, count * T * D);
    trial_run(&part);
    assert_arrays_same("output", part.output, whole->output + first * T * D, count * T * D);
    assert_arrays_same("attention weights", trial_attention(&part),
        trial_attention(whole) + first * H * T * S, count * H * T * S);
    assert_arrays_same("dx_query", part.dx_query, whole->dx_query + first * T * D, count * T * D);
    assert_arrays_same(
        "dx_source", part.dx_source, whole->dx_source + first * S * D, count * S * D);
}

START_TEST(a_sample_has_the_same_bits_in_any_batch) {
    const trial whole = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    trial_run(&whole);
    for (size_t first = 0; first < B; first++) {
        for (size_t count = 1; first + count <= B; count++) {
            assert_part_of_batch(&whole, first, count);
        }
    }
}
END_TEST

/* Not a number in one sample stays there, but for the gradients of the weights. */
START_TEST(a_nan_stays_in_its_sample) {
    const trial clean = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    const trial spoilt = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    spoilt.query[2 * T * D] = not_a_number; /* query 0 of sample 2 */
    trial_run(&clean);
    trial_run(&spoilt);
    ck_assert(isnan(spoilt.output[2 * T * D]) && isnan(spoilt.dblock[0]));
    ck_assert(isnan(spoilt.dx_source[2 * S * D]));
    for (size_t row = 0; row < B * T; row++) {
        if (row != 2 * T) {
            assert_arrays_same("output", spoilt.output + row * D, clean.output + row * D, D);
        }
    }
    assert_arrays_same("dx_source", spoilt.dx_source, clean.dx_source, 2 * S * D);
    assert_arrays_same(
        "dx_source", spoilt.dx_source + 3 * S * D, clean.dx_source + 3 * S * D, 2 * S * D);
}
END_TEST

/* ---- later tokens ---- */

START_TEST(causal_outputs_are_deaf_to_later_tokens) {
    static const mha_shape square = {2, 6, 6, 10, 2};
    static const mha_mask causal = {.causal = MHA_CAUSAL_SQUARE};
    const mha_real others[] = {REAL(-3.0), REAL(1e6), REAL_LARGEST};
    const trial first = trial_new(&square, SELF_ATTENTION, &causal, 1);
    trial_forward(&first);
    for (size_t later = 1; later < 6; later++) {
        for (size_t i = 0; i < COUNT(others); i++) {
            const trial second = trial_new(&square, SELF_ATTENTION, &causal, 1);
            for (size_t j = later * D; j < 6 * D; j++) { /* of sample 0 */
                second.query[j] = others[i];
            }
            trial_forward(&second);
            assert_arrays_same("output", second.output, first.output, later * D);
            assert_arrays_same("output", second.output + 6 * D, first.output + 6 * D, 6 * D);
            ck_assert(second.output[later * D] != first.output[later * D]);
        }
    }
}
END_TEST

/* Gradients of earlier tokens reach later ones, never the other way. */
START_TEST(causal_gradients_stay_before_their_query) {
    static const mha_shape square = {1, 6, 6, 10, 2};
    static const mha_mask causal = {.causal = MHA_CAUSAL_SQUARE};
    for (size_t t = 0; t < 6; t++) {
        trial one = trial_new(&square, SELF_ATTENTION, &causal, 1);
        for (size_t i = 0; i < 6 * D; i++) {
            one.doutput[i] = i / D == t ? one.doutput[i] : REAL(0.0);
        }
        trial_run(&one);
        assert_array_is("dx of later tokens", one.dx_query + (t + 1) * D, REAL(0.0), (5 - t) * D);
        ck_assert(one.dx_query[t * D] != REAL(0.0) && one.dx_query[0] != REAL(0.0));
    }
}
END_TEST

/* ---- what memory held ---- */

/* A pass that fills tape, scratch and gradients of the layer with NaN. */
static void spoil(mha_layer *layer, mha_tape *tape, const mha_shape *largest) {
    trial t = trial_new(largest, CROSS_ATTENTION, NULL, 9);
    t.layer = layer;
    t.tape = tape;
    for (size_t i = 0; i < trial_count(&t, MHA_QUERY); i++) {
        t.query[i] = not_a_number;
        t.doutput[i] = not_a_number;
    }
    for (size_t i = 0; i < trial_count(&t, MHA_SOURCE); i++) {
        t.source[i] = not_a_number;
    }
    trial_run(&t);
    ck_assert(isnan(t.output[0]) && isnan(t.dx_query[0]) && isnan(t.dblock[0]));
}

/* In a layer and on a tape that are larger, after a pass of nothing but NaN. */
START_TEST(smaller_shapes_after_a_spoilt_pass_have_the_same_bits) {
    static const mha_shape largest = {7, 6, 9, D, H};
    const trial expected = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    trial_run(&expected);
    trial t = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    t.layer = trial_layer(&largest, wing_options());
    t.tape = trial_tape(&largest, wing_options());
    spoil(t.layer, t.tape, &largest);
    trial_run(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

START_TEST(each_tape_keeps_its_own_pass) {
    const mha_shape other_shape = {2, 2, 4, D, H};
    const trial first = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    const trial second = trial_new(&other_shape, CROSS_ATTENTION, NULL, 2);
    trial_run(&first);
    trial_run(&second);
    trial a = trial_new(&shape, CROSS_ATTENTION, &masks[_i], 1);
    trial b = trial_new(&other_shape, CROSS_ATTENTION, NULL, 2);
    b.layer = a.layer;
    trial_forward(&a);
    trial_forward(&b);
    trial_backward(&a);
    trial_backward(&b);
    assert_trials_same(&a, &first);
    assert_trials_same(&b, &second);
}
END_TEST

/* A long pass, then a short one on the same tape: backward gives the gradients of the second. */
START_TEST(the_last_pass_on_a_tape_counts) {
    const mha_shape longer = {2, 8, 8, D, H}, shorter = {2, 3, 3, D, H};
    const trial expected = trial_new(&shorter, SELF_ATTENTION, NULL, 2);
    trial_run(&expected);
    const trial before = trial_new(&longer, SELF_ATTENTION, NULL, 1);
    trial t = trial_new(&shorter, SELF_ATTENTION, NULL, 2);
    t.layer = before.layer;
    t.tape = before.tape;
    trial_forward(&before);
    trial_forward(&t);
    trial_backward(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

TCase *layer_independence_case(wing chosen) {
    TCase *cases = wing_case("independence", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, a_sample_has_the_same_bits_in_any_batch, 0, COUNT(masks));
    tcase_add_test(cases, a_nan_stays_in_its_sample);
    tcase_add_test(cases, causal_outputs_are_deaf_to_later_tokens);
    tcase_add_test(cases, causal_gradients_stay_before_their_query);
    tcase_add_loop_test(
        cases, smaller_shapes_after_a_spoilt_pass_have_the_same_bits, 0, COUNT(masks));
    tcase_add_loop_test(cases, each_tape_keeps_its_own_pass, 0, COUNT(masks));
    tcase_add_test(cases, the_last_pass_on_a_tape_counts);
    return cases;
}
