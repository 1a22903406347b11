/* Causal masks: the same on every route, and with a named alignment where T and S differ. All on
 * inputs that have gone wrong elsewhere. */
#include "base/real.h"

#include <string.h>

#include "reports_case.h"

#define reports_causal_suite MHA_NAME(reports_causal_suite)

Suite *reports_causal_suite(void);

static const wide causal_means[] = {1, 1.5, 2};

/* x = 1 2 3 under a causal mask; without it every mean would be 2. */
static void open_means(layer_case *c, mha_causal causal, mha_mask *mask) {
    open_case(c, (mha_shape){1, 3, 3, 1, 1}, true);
    *mask = (mha_mask){.causal = causal};
    c->mask = mask;
    set_uniform(c);
    set_numbers(c->query, (const wide[]){1, 2, 3}, 3);
}

/* Asking for the weights, or training in place of evaluation, took a route without the mask. */
START_TEST(training_and_evaluation_are_causal) {
    const mha_causal alignments[] = {
        MHA_CAUSAL_SQUARE, MHA_CAUSAL_TOP_LEFT, MHA_CAUSAL_BOTTOM_RIGHT};
    mha_mask mask;
    layer_case c;
    open_means(&c, alignments[_i], &mask);
    run_forward(&c); /* evaluation: no backward pass */
    assert_numbers("evaluation", c.output, causal_means, 3, 0);
    mha_real evaluated[3];
    memcpy(evaluated, c.output, sizeof evaluated);
    assert_numbers("attention weights", attention_of(&c),
        (const wide[]){1, 0, 0, .5, .5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 9, 0);
    for (size_t t = 0; t < 3; t++) {
        assert_zeros("above the diagonal", attention_of(&c) + t * 3 + t + 1, 2 - t);
    }
    c.doutput[2] = REAL(0.0); /* the future may not be blamed for what rows 0 and 1 say */
    run_backward(&c);
    assert_numbers("dx", c.dx_query, (const wide[]){1.5, .5, 0}, 3, 0);
    assert_zeros("dx of the future", c.dx_query + 2, 1);

    /* a step that changes nothing, then training again: the same bits */
    mha_real velocity[4] = {REAL(0.0)};
    const mha_sgd_options options = {.learning_rate = 0};
    ck_assert_int_eq(mha_sgd_step(c.weights, velocity, c.dweights, 4,
                         mha_gradient_norm(c.dweights, 4), &options, NULL),
        MHA_OK);
    run_forward(&c);
    assert_same_bits("training", c.output, evaluated, 3);
    close_case(&c);
}
END_TEST

/* The operator by itself against the walk of the stages, on random heads. */
START_TEST(attention_by_itself_is_the_layer) {
    enum { B = 2, H = 2, T = 3, S = 4, D = 6, PAIRS = B * H * T * S };
    static const mha_causal alignments[] = {
        MHA_CAUSAL_OFF, MHA_CAUSAL_TOP_LEFT, MHA_CAUSAL_BOTTOM_RIGHT};
    const mha_mask mask = {.causal = alignments[_i]};
    layer_case c;
    open_case(&c, (mha_shape){B, T, S, D, H}, false);
    c.mask = &mask;
    draw_case(&c, 9);
    run_forward(&c);
    mha_real context[B * T * D], weights[PAIRS], scratch[2 * PAIRS], combined[B * T * D];
    mha_attention_forward(context, weights, scratch, mha_tape_value(c.tape, MHA_Q_HEADS),
        mha_tape_value(c.tape, MHA_K_HEADS), mha_tape_value(c.tape, MHA_V_HEADS), &mask, &c.shape);
    assert_same_bits("attention weights", weights, attention_of(&c), PAIRS);
    mha_combine_heads_forward(combined, context, B, T, H, D / H);
    assert_same_bits("context", combined, mha_tape_value(c.tape, MHA_CONTEXT), B * T * D);
    close_case(&c);
}
END_TEST

/* One library lines the triangle up with the first key, another with the last. */
START_TEST(alignments_are_as_named) {
    static const struct {
        mha_causal causal;
        size_t T, S;
        wide expected[5];
    } cases[] = {
        {MHA_CAUSAL_TOP_LEFT, 2, 5, {1, 1.5}},
        {MHA_CAUSAL_TOP_LEFT, 5, 2, {1, 1.5, 1.5, 1.5, 1.5}},
        {MHA_CAUSAL_BOTTOM_RIGHT, 2, 5, {2.5, 3}},
        {MHA_CAUSAL_BOTTOM_RIGHT, 5, 2, {0, 0, 0, 1, 1.5}},
    };
    const size_t T = cases[_i].T, S = cases[_i].S;
    const mha_mask mask = {.causal = cases[_i].causal};
    layer_case c;
    open_case(&c, (mha_shape){1, T, S, 1, 1}, false);
    c.mask = &mask;
    set_uniform(&c);
    set_numbers(c.source, (const wide[]){1, 2, 3, 4, 5}, S);
    run_forward(&c);
    assert_numbers("output", c.output, cases[_i].expected, T, 0);
    for (size_t t = 0; t < T; t++) {
        if (cases[_i].expected[t] == 0) {
            assert_zeros("row without a key", c.output + t, 1);
            assert_zeros("its weights", attention_of(&c) + t * S, S);
        }
    }
    draw_case(&c, 13);
    run_forward(&c);
    run_backward(&c);
    assert_reference(&c);
    close_case(&c);
}
END_TEST

/* Without a name there is no alignment to guess. */
START_TEST(unnamed_alignment_is_refused) {
    const mha_mask mask = {.causal = MHA_CAUSAL_SQUARE};
    layer_case c;
    open_case(&c, (mha_shape){1, 2, 5, 1, 1}, false);
    c.mask = &mask;
    assert_refused(&c, try_forward(&c), MHA_ERROR_MASK,
        "causal with target length 2 and source length 5 needs an alignment: top-left or "
        "bottom-right");
    ck_assert(isnan(c.output[0]) && isnan(c.output[1]));
    ck_assert_ptr_null(attention_of(&c));
    close_case(&c);
}
END_TEST

Suite *reports_causal_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "reports causal (float)" : "reports causal (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("causal", chosen);
        tcase_add_loop_test(cases, training_and_evaluation_are_causal, 0, 3);
        tcase_add_loop_test(cases, alignments_are_as_named, 0, 4);
        tcase_add_test(cases, unnamed_alignment_is_refused);
        suite_add_tcase(suite, cases);
    }
    TCase *others = tcase_create("operator");
    tcase_add_loop_test(others, attention_by_itself_is_the_layer, 0, 3);
    suite_add_tcase(suite, others);
    return suite;
}
