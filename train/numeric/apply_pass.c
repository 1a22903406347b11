#include "door.h"

#include "apply_pass.h"

#define apply_pass PRECISE(apply_pass)

static mha_status run_backward(
    const struct pass_arrays *arrays, const mha_tape *tape, mha_layer *layer, mha_error *error) {
    mha_weights dweights;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        dweights.matrix[i] = arrays->grad_weights[i];
    }
    return mha_backward(arrays->grad_query, arrays->grad_context, &dweights, arrays->grad_output,
        tape, layer, &arrays->shape, error);
}

static void copy_attention(mha_real *copy, const mha_tape *tape, const mha_shape *shape) {
    const size_t count = mha_value_count(MHA_ATTENTION_WEIGHTS, shape);
    const mha_real *attention = mha_tape_value(tape, MHA_ATTENTION_WEIGHTS);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = attention[i];
    }
}

static mha_status run_pass(
    const struct pass_arrays *arrays, mha_tape *tape, mha_layer *layer, mha_error *error) {
    const mha_weights weights = mha_weights_view(arrays->weights, arrays->shape.width);
    const mha_status status = mha_forward(arrays->output, tape, arrays->query, arrays->context,
        arrays->mask, &weights, layer, &arrays->shape, error);
    if (status != MHA_OK) {
        return status;
    }
    copy_attention(arrays->attention, tape, &arrays->shape);
    return arrays->grad_output == NULL ? MHA_OK : run_backward(arrays, tape, layer, error);
}

mha_status apply_pass(const struct pass_arrays *arrays, mha_error *error) {
    const mha_layer_options options = {
        .kernel = arrays->kernel, .mode = arrays->mode, .threads = arrays->threads};
    mha_layer *layer = NULL;
    mha_tape *tape = NULL;
    mha_status status = mha_layer_create(&layer, &arrays->shape, &options, error);
    if (status == MHA_OK) {
        status = mha_tape_create(&tape, &arrays->shape, &options, error);
    }
    if (status == MHA_OK) {
        status = run_pass(arrays, tape, layer, error);
    }
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
    return status;
}
