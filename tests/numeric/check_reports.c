/* Rows that may see nothing, the layout of heads, and the attention weights that are shown. All on
 * inputs that have gone wrong elsewhere; right values are worked out by hand. */
#include "base/real.h"

#include <string.h>

#include "reports_case.h"

#define reports_suite MHA_NAME(reports_suite)

Suite *reports_suite(void);

static const mha_mask no_rule;

/* A window of two keys and padding leave the last query of sample 1 without a key: 0/0 in its
 * softmax must not reach the gradients that all rows share. */
START_TEST(empty_row_does_not_poison_weight_gradients) {
    static const unsigned char window[16] = {1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
    const int64_t lengths[] = {4, 2};
    const mha_mask mask = {.lengths = lengths, .allowed = window, .rank = 2, .dims = {4, 4}};
    layer_case c;
    open_case(&c, (mha_shape){2, 4, 4, 1, 1}, true);
    c.mask = &mask;
    set_identity(&c);
    set_numbers(c.query, (const wide[]){.1, .2, .3, .4, .5, .6, .7, .8}, 8);
    run_forward(&c);
    run_backward(&c);
    assert_numbers(
        "output", c.output, (const wide[]){.1, .1505, .25075, .351, .5, .5515, .6, 0}, 8, 5e-7);
    assert_zeros("output of the empty row", c.output + 7, 1);
    assert_zeros("weights of the empty row", attention_of(&c) + 28, 4);
    assert_numbers("dweights", c.dweights,
        (const wide[]){.00374803, .00374803, 2.50374934, 2.50374934}, 4, 5e-9);
    assert_reference(&c);
    mha_real with_row[4];
    memcpy(with_row, c.dweights, sizeof with_row);
    clear_gradients(&c);
    c.doutput[7] = REAL(0.0); /* the row is left out of the loss */
    run_backward(&c);
    assert_same_bits("dweights", c.dweights, with_row, 4);
    close_case(&c);
}
END_TEST

/* Weights of a row without keys are neither NaN nor uniform, in one head and in several. */
START_TEST(blocked_row_is_exactly_zero) {
    static const unsigned char allowed[4] = {1, 0, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 4, .dims = {1, 1, 4, 1}};
    layer_case c;
    open_case(&c, (mha_shape){1, 4, 4, 2, (size_t)_i}, true);
    c.mask = &mask;
    set_uniform(&c);
    set_numbers(c.query, (const wide[]){1, 10, 2, 20, 3, 30, 4, 40}, 8);
    run_forward(&c);
    assert_numbers("output", c.output, (const wide[]){2.5, 25, 0, 0, 2.5, 25, 2.5, 25}, 8, 0);
    assert_zeros("blocked row", c.output + 2, 2);
    for (size_t h = 0; h < c.shape.heads; h++) {
        const mha_real *weights = attention_of(&c) + h * 16;
        assert_numbers("weights", weights, (const wide[]){.25, .25, .25, .25, 0, 0, 0, 0}, 8, 0);
        assert_zeros("weights of the blocked row", weights + 4, 4);
    }
    draw_case(&c, 1);
    assert_gradients(&c, 0);
    close_case(&c);
}
END_TEST

/* The same with every row blocked, by each kind of rule. */
START_TEST(blocked_batch_is_exactly_zero) {
    static const unsigned char nothing[4];
    static const int64_t empty[1];
    mha_mask mask = no_rule;
    if (_i == 0) {
        mask.lengths = empty;
    } else {
        mask.allowed = nothing;
        mask.rank = 4;
        const size_t dims[2][4] = {{1, 1, 4, 1}, {1, 1, 1, 4}};
        memcpy(mask.dims, dims[_i - 1], sizeof mask.dims);
    }
    layer_case c;
    open_case(&c, (mha_shape){1, 4, 4, 2, 1}, true);
    c.mask = &mask;
    draw_case(&c, 2);
    assert_gradients(&c, 0x1f);
    assert_zeros("output", c.output, 8);
    assert_zeros("attention weights", attention_of(&c), 16);
    assert_zeros("dweights", c.dweights, 16);
    assert_zeros("dx", c.dx_query, 8);
    static const mha_real target[8];
    ck_assert(mha_mse_loss(NULL, c.output, target, NULL, 4, 2) == 0);
    close_case(&c);
}
END_TEST

/* One sum over all samples in the readable wing; the fused one adds up runs of source rows. */
static void assert_weights_alike(const layer_case *c, const layer_case *without) {
    if (wing_now() == WING_REFERENCE) {
        assert_same_bits("dweights", c->dweights, without->dweights, 4);
    }
    for (size_t i = 0; i < 4; i++) {
        const wide expected = (wide)without->dweights[i];
        assert_near("dweights", c->dweights + i, &expected, 1, MHA_PRECISION == 32 ? 1e-6 : 2e-15);
    }
}

/* Random padding gives samples of length zero; they are zero and leave the others alone. */
START_TEST(sample_of_length_zero_is_alone) {
    static const wide x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, expected[] = {2, 0, 7.5};
    static const wide mixing[] = {.125, .5, 1, -1};
    const int64_t lengths[] = {3, 0, 2}, lengths_without[] = {3, 2};
    const mha_mask mask = {.lengths = lengths}, mask_without = {.lengths = lengths_without};
    layer_case c, without;
    open_case(&c, (mha_shape){3, 3, 3, 1, 1}, true);
    open_case(&without, (mha_shape){2, 3, 3, 1, 1}, true);
    c.mask = &mask;
    without.mask = &mask_without;
    set_uniform(&c);
    set_uniform(&without);
    set_numbers(c.query, x, 9);
    set_numbers(without.query, x, 3);
    set_numbers(without.query + 3, x + 6, 3);
    for (size_t pass = 0; pass < 2; pass++) { /* means, then matrices that make all paths count */
        run_forward(&c);
        run_forward(&without);
        run_backward(&c);
        run_backward(&without);
        assert_reference(&c);
        for (size_t t = 0; t < 9 && pass == 0; t++) {
            assert_numbers("output", c.output + t, expected + t / 3, 1, 0);
        }
        assert_zeros("output of sample 1", c.output + 3, 3);
        assert_zeros("dx of sample 1", c.dx_query + 3, 3);
        assert_same_bits("dx of sample 0", c.dx_query, without.dx_query, 3);
        assert_same_bits("dx of sample 2", c.dx_query + 6, without.dx_query + 3, 3);
        assert_weights_alike(&c, &without);
        clear_gradients(&c);
        clear_gradients(&without);
        set_numbers(c.weights, mixing, 4);
        set_numbers(without.weights, mixing, 4);
    }
    close_case(&c);
    close_case(&without);
}
END_TEST

/* Splitting heads by a reshape mixes positions and channels. Each query sees only the other
 * position, so the rows must come out exchanged. */
START_TEST(heads_keep_positions_apart) {
    static const unsigned char other[4] = {0, 1, 1, 0};
    static const wide x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const wide exchanged[] = {5, 6, 7, 8, 1, 2, 3, 4, 13, 14, 15, 16, 9, 10, 11, 12};
    const size_t batch = (size_t)_i;
    const mha_mask mask = {.allowed = other, .rank = 2, .dims = {2, 2}};
    layer_case c;
    open_case(&c, (mha_shape){batch, 2, 2, 4, 2}, true);
    c.mask = &mask;
    set_identity(&c);
    set_numbers(c.query, x, 8 * batch);
    run_forward(&c);
    assert_numbers("output", c.output, exchanged, 8 * batch, 0);
    draw_case(&c, 3);
    assert_gradients(&c, 1u << 1 | 1u << 2); /* one key leaves nothing to choose */
    close_case(&c);
}
END_TEST

/* Maps that were asked for head by head came averaged over heads. */
START_TEST(attention_weights_are_per_head) {
    const wide ln3 = log(3);
    layer_case c;
    open_case(&c, (mha_shape){1, 1, 2, 2, 2}, false);
    set_identity(&c);
    set_numbers(c.query, (const wide[]){1, 1}, 2);
    set_numbers(c.source, (const wide[]){ln3, 0, 0, ln3}, 4);
    run_forward(&c);
    assert_numbers("attention weights", attention_of(&c), (const wide[]){.75, .25, .25, .75}, 4, 0);
    const mha_value_shape shape = mha_value_shape_of(MHA_ATTENTION_WEIGHTS, &c.shape);
    ck_assert_str_eq(shape.axes, "BhTS");
    ck_assert_mem_eq(shape.dims, ((const size_t[]){1, 2, 1, 2}), sizeof shape.dims);
    close_case(&c);
}
END_TEST

/* The output of one query, from the attention weights of the tape and V, to expected (D). */
static void mix_values(wide *expected, const layer_case *c, size_t b, size_t t) {
    const size_t D = c->shape.width, d = D / c->shape.heads, S = c->shape.source_length;
    const mha_real *wv = c->weights + 2 * D * D, *wo = c->weights + 3 * D * D;
    for (size_t i = 0; i < D; i++) {
        expected[i] = 0;
    }
    for (size_t c_in = 0; c_in < D; c_in++) {
        const size_t row = (b * c->shape.heads + c_in / d) * c->shape.target_length + t;
        wide context = 0;
        for (size_t s = 0; s < S; s++) {
            wide v = 0;
            for (size_t i = 0; i < D; i++) {
                v += (wide)c->source[(b * S + s) * D + i] * (wide)wv[i * D + c_in];
            }
            context += (wide)attention_of(c)[row * S + s] * v;
        }
        for (size_t i = 0; i < D; i++) {
            expected[i] += context * (wide)wo[c_in * D + i];
        }
    }
}

/* Rows of the maps added up to more than 1, or were not those that had been used. */
START_TEST(attention_weights_are_those_used) {
    enum { B = 2, T = 3, S = 4, D = 4, HEADS = 2 };
    const int64_t lengths[B] = {3, 0};
    const mha_mask mask = {.causal = MHA_CAUSAL_TOP_LEFT, .lengths = lengths};
    layer_case c;
    open_case(&c, (mha_shape){B, T, S, D, HEADS}, false);
    c.mask = &mask;
    draw_case(&c, 4);
    run_forward(&c);
    for (size_t row = 0; row < B * HEADS * T; row++) {
        wide sum = 0;
        for (size_t s = 0; s < S; s++) {
            const wide weight = (wide)attention_of(&c)[row * S + s];
            ck_assert(weight >= 0 && weight <= 1 + 1e-6);
            sum += weight;
        }
        ck_assert(row < HEADS * T ? fabs(sum - 1) <= 1e-6 : sum == 0);
    }
    for (size_t b = 0; b < B; b++) {
        for (size_t t = 0; t < T; t++) {
            wide expected[D];
            mix_values(expected, &c, b, t);
            assert_near("output", c.output + (b * T + t) * D, expected, D, CASE_TOLERANCE);
        }
    }
    close_case(&c);
}
END_TEST

Suite *reports_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "reports (float)" : "reports (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("rows and heads", chosen);
        tcase_add_test(cases, empty_row_does_not_poison_weight_gradients);
        tcase_add_loop_test(cases, blocked_row_is_exactly_zero, 1, 3);
        tcase_add_loop_test(cases, blocked_batch_is_exactly_zero, 0, 3);
        tcase_add_test(cases, sample_of_length_zero_is_alone);
        tcase_add_loop_test(cases, heads_keep_positions_apart, 1, 3);
        tcase_add_test(cases, attention_weights_are_per_head);
        tcase_add_test(cases, attention_weights_are_those_used);
        suite_add_tcase(suite, cases);
    }
    return suite;
}
