/* Backward under every mask and shape, and how it may be called. All on inputs that have gone wrong
 * elsewhere. */
#include "base/real.h"

#include <stdio.h>
#include <string.h>

#include "reports_case.h"

#define reports_backward_suite MHA_NAME(reports_backward_suite)

Suite *reports_backward_suite(void);

/* Gradients were right with a causal mask and wrong without, or the other way round. */
START_TEST(gradients_are_those_worked_out_by_hand) {
    static const struct {
        const char *name;
        wide weights[6], output[4], dwq[4], dwv[4];
    } cases[] = {
        {"no mask", {.40111209, .19777581, .40111209, .10838345, .44580827, .44580827},
            {.80222419, .59888791, .55419173, .89161655},
            {.1121899, -.0560950, .6988004, -.1366646}, {1.9106076, 0, 2.3821210, 0}},
        {"causal", {1, 0, 0, .19557032, .80442968, 0}, {1, 0, .19557032, .80442968},
            {0, 0, .4449754, -.4449754}, {1.3911406, 0, 1.6088594, 0}},
    };
    const wide *dwq = cases[_i].dwq;
    const mha_mask mask = {.causal = MHA_CAUSAL_TOP_LEFT};
    layer_case c;
    open_case(&c, (mha_shape){1, 2, 3, 2, 1}, false);
    c.mask = _i == 0 ? NULL : &mask;
    set_identity(&c);
    set_numbers(c.query, (const wide[]){1, 0, 0, 2}, 4);
    set_numbers(c.source, (const wide[]){1, 0, 0, 1, 1, 1}, 6);
    set_numbers(c.doutput, (const wide[]){1, 0, 2, 0}, 4);
    run_forward(&c);
    run_backward(&c);
    assert_numbers("attention weights", attention_of(&c), cases[_i].weights, 6, 5e-9);
    assert_numbers("output", c.output, cases[_i].output, 4, 5e-9);
    assert_numbers("dwq", c.dweights, dwq, 4, 5e-8);
    assert_numbers("dwk", c.dweights + 4, (const wide[]){dwq[0], dwq[2], dwq[1], dwq[3]}, 4, 5e-8);
    assert_numbers("dwv", c.dweights + 8, cases[_i].dwv, 4, 5e-8);
    assert_numbers("dwo", c.dweights + 12, cases[_i].dwv, 4, 5e-8);
    assert_reference(&c);
    close_case(&c);
}
END_TEST

enum { MASKS = 6, LENGTHS = 4, SIZES = 2, COMBINATIONS = MASKS * LENGTHS * SIZES };

/* Every mask with T = S in self- and cross-attention, T < S and T > S, one head and heads of
 * width 1. */
START_TEST(gradients_hold_for_every_mask_and_shape) {
    static const size_t lengths[LENGTHS][2] = {{4, 4}, {4, 4}, {3, 5}, {5, 3}};
    static const int64_t padding[] = {3, 2};
    const size_t kind = (size_t)_i % MASKS, stream = (size_t)_i / MASKS % LENGTHS;
    const size_t T = lengths[stream][0], S = lengths[stream][1];
    const mha_shape shape = {2, T, S, 4, (size_t)_i / MASKS / LENGTHS == 0 ? 1 : 4};
    unsigned char allowed[2 * 4 * 5 * 5];
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){14}, 1);
    for (size_t i = 0; i < COUNT(allowed); i++) {
        allowed[i] = mha_rng_integers(&rng, 3) > 0;
    }
    mha_mask mask = {0};
    if (kind == 1 || kind == 5) {
        mask.causal = MHA_CAUSAL_BOTTOM_RIGHT;
    } else if (kind == 2) {
        mask.causal = MHA_CAUSAL_TOP_LEFT;
    }
    mask.lengths = kind == 3 || kind == 5 ? padding : NULL;
    if (kind >= 4) {
        mask.allowed = allowed;
        mask.rank = 4;
        memcpy(mask.dims, (const size_t[]){2, shape.heads, T, S}, sizeof mask.dims);
    }
    layer_case c;
    open_case(&c, shape, stream == 0);
    c.mask = kind == 0 ? NULL : &mask;
    draw_case(&c, 15);
    assert_gradients(&c, 0);
    close_case(&c);
}
END_TEST

/* One pointer for query and source: dx is the sum of the query, key and value paths. */
START_TEST(self_attention_sums_all_paths) {
    enum { L = 3, D = 4 };
    layer_case self, pointer, cross;
    open_case(&self, (mha_shape){1, L, L, D, 2}, true);
    open_case(&pointer, self.shape, true);
    open_case(&cross, self.shape, false);
    layer_case *const all[] = {&self, &pointer, &cross};
    for (size_t i = 0; i < 3; i++) {
        draw_case(all[i], 16);
    }
    assert_gradients(&self, 0);
    for (size_t i = 1; i < 3; i++) {
        memcpy(all[i]->doutput, self.doutput, L * D * sizeof *self.doutput);
    }
    memcpy(cross.source, cross.query, L * D * sizeof *cross.query);
    clear_gradients(&self);
    run_forward(&self);
    run_backward(&self);
    pointer.source = pointer.query;
    pointer.dx_source = pointer.dx_query;
    run_forward(&pointer);
    run_backward(&pointer);
    run_forward(&cross);
    run_backward(&cross);
    assert_same_bits("dx", pointer.dx_query, self.dx_query, L * D);
    assert_same_bits("dweights", pointer.dweights, self.dweights, 4 * D * D);
    wide sum[L * D];
    for (size_t i = 0; i < L * D; i++) {
        sum[i] = (wide)cross.dx_query[i] + (wide)cross.dx_source[i];
    }
    assert_near("dx", self.dx_query, sum, L * D, MHA_PRECISION == 32 ? 1e-6 : 1e-15);
    pointer.source = pointer.dx_source = NULL;
    for (size_t i = 0; i < 3; i++) {
        close_case(all[i]);
    }
}
END_TEST

/* Two streams may share one gradient buffer, which then gets both; it was written where it should
 * have been added to. */
START_TEST(two_streams_may_share_one_gradient) {
    enum { L = 3, D = 4 };
    layer_case apart, shared;
    open_case(&apart, (mha_shape){1, L, L, D, 2}, false);
    open_case(&shared, apart.shape, false);
    draw_case(&apart, 17);
    draw_case(&shared, 17);
    run_forward(&apart);
    run_backward(&apart);
    mha_real *const own = shared.dx_source;
    shared.dx_source = shared.dx_query;
    run_forward(&shared);
    run_backward(&shared);
    wide sum[L * D];
    for (size_t i = 0; i < L * D; i++) {
        sum[i] = (wide)apart.dx_query[i] + (wide)apart.dx_source[i];
    }
    assert_near("dx", shared.dx_query, sum, L * D, MHA_PRECISION == 32 ? 1e-6 : 1e-15);
    assert_same_bits("dweights", shared.dweights, apart.dweights, 4 * D * D);
    shared.dx_source = own;
    close_case(&apart);
    close_case(&shared);
}
END_TEST

/* A second backward pass doubles every gradient. */
START_TEST(backward_adds) {
    layer_case c;
    open_case(&c, (mha_shape){1, 3, 3, 4, 2}, _i == 0);
    draw_case(&c, 18);
    run_forward(&c);
    run_backward(&c);
    leaf leaves[CASE_LEAVES];
    wide doubled[CASE_LEAVES][16];
    const size_t count = leaves_of(leaves, &c);
    for (size_t l = 0; l < count; l++) {
        for (size_t i = 0; i < leaves[l].shape.count; i++) {
            doubled[l][i] = 2 * (wide)leaves[l].gradient[i];
        }
    }
    run_backward(&c);
    for (size_t l = 0; l < count; l++) {
        assert_near(leaves[l].shape.name, leaves[l].gradient, doubled[l], leaves[l].shape.count,
            MHA_PRECISION == 32 ? 1e-6 : 1e-15);
    }
    close_case(&c);
}
END_TEST

/* Overlaps that would leave a partial sum are refused, and nothing is added. */
START_TEST(other_overlaps_are_refused) {
    enum { L = 3, D = 4 };
    const size_t bytes = L * D * sizeof(mha_real);
    char text[128];
    layer_case c;
    open_case(&c, (mha_shape){1, L, L, D, 2}, false);
    draw_case(&c, 19);
    mha_real *const output = c.output, *const own = c.dx_source;
    c.output = c.query;
    snprintf(text, sizeof text, "output (%zu bytes) and query (%zu bytes) overlap", bytes, bytes);
    assert_refused(&c, try_forward(&c), MHA_ERROR_ARGUMENT, text);
    c.output = output;
    run_forward(&c);
    c.dx_source = c.source;
    snprintf(
        text, sizeof text, "dx_source (%zu bytes) and source (%zu bytes) overlap", bytes, bytes);
    assert_refused(&c, try_backward(&c), MHA_ERROR_ARGUMENT, text);
    c.dx_source = c.dx_query + 1;
    snprintf(
        text, sizeof text, "dx_query (%zu bytes) and dx_source (%zu bytes) overlap", bytes, bytes);
    assert_refused(&c, try_backward(&c), MHA_ERROR_ARGUMENT, text);
    assert_zeros("dx_query", c.dx_query, L * D);
    assert_zeros("dweights", c.dweights, 4 * D * D);
    c.dx_source = own;
    run_backward(&c);
    assert_reference(&c);
    close_case(&c);
}
END_TEST

/* Backward without a matching forward reads nothing stale and says what is missing. */
START_TEST(backward_needs_its_forward) {
    layer_case c, other;
    open_case(&c, (mha_shape){4, 8, 8, 4, 2}, true);
    open_case(&other, c.shape, true);
    draw_case(&c, 20);
    assert_refused(&c, try_backward(&c), MHA_ERROR_STATE, "the tape holds no forward pass");
    run_forward(&c);
    c.shape.batch = 2;
    assert_refused(&c, try_backward(&c), MHA_ERROR_STATE,
        "the tape holds a forward pass with batch 4, backward asks for 2");
    c.shape.batch = 4;
    c.shape.target_length = c.shape.source_length = 3;
    assert_refused(&c, try_backward(&c), MHA_ERROR_STATE,
        "the tape holds a forward pass with target length 8, backward asks for 3");
    c.shape = other.shape;
    mha_layer *const layer = c.layer;
    c.layer = other.layer;
    assert_refused(
        &c, try_backward(&c), MHA_ERROR_STATE, "the tape holds the forward pass of another layer");
    c.layer = layer;
    assert_zeros("dx", c.dx_query, 4 * 8 * 4);
    assert_zeros("dweights", c.dweights, 4 * 4 * 4);
    run_backward(&c);
    close_case(&c);
    close_case(&other);
}
END_TEST

/* After two forward passes backward is that of the second; a refused third one changes nothing. */
START_TEST(backward_is_of_the_last_forward) {
    layer_case c, second;
    open_case(&c, (mha_shape){2, 8, 8, 4, 2}, true);
    open_case(&second, (mha_shape){2, 3, 3, 4, 2}, true);
    draw_case(&c, 21);
    run_forward(&c);
    draw_case(&second, 22);
    memcpy(c.query, second.query, 2 * 3 * 4 * sizeof *c.query);
    memcpy(c.weights, second.weights, 4 * 4 * 4 * sizeof *c.weights);
    memcpy(c.doutput, second.doutput, 2 * 3 * 4 * sizeof *c.doutput);
    c.shape = second.shape;
    run_forward(&c);
    c.shape.target_length = c.shape.source_length = 9;
    assert_refused(&c, try_forward(&c), MHA_ERROR_SHAPE, "target length 9 exceeds the layer's 8");
    c.shape = second.shape;
    run_backward(&c);
    run_forward(&second);
    run_backward(&second);
    assert_same_results(&c, &second);
    assert_reference(&second);
    close_case(&c);
    close_case(&second);
}
END_TEST

Suite *reports_backward_suite(void) {
    Suite *suite = suite_create(
        MHA_PRECISION == 32 ? "reports backward (float)" : "reports backward (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("backward", chosen);
        tcase_add_loop_test(cases, gradients_are_those_worked_out_by_hand, 0, 2);
        tcase_add_loop_test(cases, gradients_hold_for_every_mask_and_shape, 0, COMBINATIONS);
        tcase_add_test(cases, self_attention_sums_all_paths);
        tcase_add_test(cases, two_streams_may_share_one_gradient);
        tcase_add_loop_test(cases, backward_adds, 0, 2);
        tcase_add_test(cases, other_overlaps_are_refused);
        tcase_add_test(cases, backward_needs_its_forward);
        tcase_add_test(cases, backward_is_of_the_last_forward);
        suite_add_tcase(suite, cases);
    }
    return suite;
}
