#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "trial.h"

static void destroy_layer(void *layer) {
    mha_layer_destroy(layer);
}

static void destroy_tape(void *tape) {
    mha_tape_destroy(tape);
}

mha_layer *trial_layer(const mha_shape *largest, const mha_layer_options *options) {
    mha_layer *layer;
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(mha_layer_create(&layer, largest, options, &error) == MHA_OK, "%s", error.text);
    arrays_keep(layer, destroy_layer);
    return layer;
}

mha_tape *trial_tape(const mha_shape *largest, const mha_layer_options *options) {
    mha_tape *tape;
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(mha_tape_create(&tape, largest, options, &error) == MHA_OK, "%s", error.text);
    arrays_keep(tape, destroy_tape);
    return tape;
}

size_t trial_count(const trial *t, mha_value value) {
    return mha_value_count(value, &t->shape);
}

static size_t block_count(const trial *t) {
    return MHA_WEIGHT_COUNT * t->shape.width * t->shape.width;
}

void trial_clear(trial *t) {
    t->dx_query = array_constant(trial_count(t, MHA_QUERY), REAL(0.0));
    t->dx_source = t->source == NULL ? NULL : array_constant(trial_count(t, MHA_SOURCE), REAL(0.0));
    t->dblock = array_constant(block_count(t), REAL(0.0));
    t->dweights = mha_weights_view(t->dblock, t->shape.width);
}

trial trial_on(const mha_layer_options *options, const mha_shape *shape, streams kind,
    const mha_mask *mask, uint64_t seed) {
    trial t = {.options = *options, .shape = *shape, .mask = mask};
    const uint64_t entropy[] = {seed, 1};
    mha_rng rng;
    mha_rng_seed(&rng, entropy, COUNT(entropy));
    t.block = array_new(block_count(&t));
    t.weights = mha_weights_view(t.block, shape->width);
    mha_weights_draw(&t.weights, &rng, shape->width);
    t.query = array_normal(trial_count(&t, MHA_QUERY), 1000 * seed + 1);
    if (kind == CROSS_ATTENTION) {
        t.source = array_normal(trial_count(&t, MHA_SOURCE), 1000 * seed + 2);
    }
    t.output = array_new(trial_count(&t, MHA_OUTPUT));
    t.doutput = array_normal(trial_count(&t, MHA_OUTPUT), 1000 * seed + 3);
    t.layer = trial_layer(shape, options);
    t.tape = trial_tape(shape, options);
    trial_clear(&t);
    return t;
}

trial trial_new(const mha_shape *shape, streams kind, const mha_mask *mask, uint64_t seed) {
    return trial_on(wing_options(), shape, kind, mask, seed);
}

static mha_status forward(const trial *t, mha_error *error) {
    return mha_forward(
        t->output, t->tape, t->query, t->source, t->mask, &t->weights, t->layer, &t->shape, error);
}

static mha_status backward(const trial *t, mha_error *error) {
    return mha_backward(
        t->dx_query, t->dx_source, &t->dweights, t->doutput, t->tape, t->layer, &t->shape, error);
}

void trial_forward(const trial *t) {
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(forward(t, &error) == MHA_OK, "%s", error.text);
}

void trial_backward(const trial *t) {
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(backward(t, &error) == MHA_OK, "%s", error.text);
}

void trial_run(const trial *t) {
    trial_forward(t);
    trial_backward(t);
}

const mha_real *trial_attention(const trial *t) {
    const bool has_weights = mha_tape_value(t->tape, MHA_ATTENTION_WEIGHTS) != NULL;
    mha_real *computed = has_weights ? NULL : array_new(trial_count(t, MHA_ATTENTION_WEIGHTS));
    const mha_real *weights = wing_attention(computed, t->tape, t->mask, &t->shape);
    ck_assert_ptr_nonnull(weights);
    return weights;
}

static void assert_says(
    mha_status actual, const mha_error *error, mha_status status, const char *text) {
    ck_assert_str_eq(error->text, text);
    ck_assert_int_eq(actual, status);
    ck_assert_int_eq(error->status, status);
}

/* The output is compared only where there is one. */
void assert_forward_refused(const trial *t, mha_status status, const char *text) {
    const size_t count = t->output == NULL ? 0 : trial_count(t, MHA_OUTPUT);
    const mha_real *kept = array_copy(t->output, count);
    mha_error error = {MHA_OK, ""};
    assert_says(forward(t, &error), &error, status, text);
    ck_assert_int_eq(forward(t, NULL), status);
    assert_arrays_same("output", t->output, kept, count);
}

void assert_backward_refused(const trial *t, mha_status status, const char *text) {
    const mha_real *kept = array_copy(t->dblock, block_count(t));
    mha_error error = {MHA_OK, ""};
    assert_says(backward(t, &error), &error, status, text);
    ck_assert_int_eq(backward(t, NULL), status);
    assert_arrays_same("dweights", t->dblock, kept, block_count(t));
}

void assert_gradients_same(const trial *actual, const trial *expected) {
    assert_arrays_same(
        "dx_query", actual->dx_query, expected->dx_query, trial_count(expected, MHA_QUERY));
    ck_assert_int_eq(actual->dx_source == NULL, expected->dx_source == NULL);
    if (expected->dx_source != NULL) {
        assert_arrays_same(
            "dx_source", actual->dx_source, expected->dx_source, trial_count(expected, MHA_SOURCE));
    }
    assert_arrays_same("dweights", actual->dblock, expected->dblock, block_count(expected));
}

void assert_trials_same(const trial *actual, const trial *expected) {
    assert_arrays_same(
        "output", actual->output, expected->output, trial_count(expected, MHA_OUTPUT));
    assert_arrays_same("attention weights", trial_attention(actual), trial_attention(expected),
        trial_count(expected, MHA_ATTENTION_WEIGHTS));
    assert_gradients_same(actual, expected);
}
