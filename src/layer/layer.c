#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#include "layer/checks.h"
#include "layer/tape.h"

struct mha_layer {
    mha_shape largest;
    stage_list stages; /* that are walked, */
    stage_list own;    /* and the layer's own in their place, which say what is saved */
    mha_fused *fused;  /* NULL in the readable wing */
    mha_real *scratch_block;
    mha_real *scratch[MHA_VALUE_COUNT]; /* activations that no backward reads */
    mha_real *gradient_block;
    mha_real *gradient[MHA_VALUE_COUNT]; /* of every activation but the output */
};

/* The activations that the stages write, and those of them that no tape saves. */
static void sort_activations(
    unsigned long *activations, unsigned long *unsaved, stage_list stages) {
    *activations = *unsaved = 0;
    for (size_t i = 0; i < stages.count; i++) {
        const mha_value result = stages.at[i].result;
        if (result != MHA_OUTPUT) {
            *activations |= 1ul << result;
            *unsaved |= value_is_saved(result, stages) ? 0 : 1ul << result;
        }
    }
}

static mha_status allocate(mha_layer *layer, size_t threads, mha_error *error) {
    size_t bytes;
    unsigned long activations, unsaved;
    sort_activations(&activations, &unsaved, layer->own);
    mha_status status = values_carve(&layer->scratch_block, &bytes, layer->scratch, unsaved,
        &layer->largest, "layer's activations", error);
    if (status == MHA_OK) {
        status = values_carve(&layer->gradient_block, &bytes, layer->gradient, activations,
            &layer->largest, "layer's gradients", error);
    }
    if (status == MHA_OK && layer->own.at != mha_stages) {
        status = mha_fused_create(&layer->fused, &layer->largest, threads, error);
    }
    return status;
}

mha_status mha_layer_create(mha_layer **layer, const mha_shape *largest,
    const mha_layer_options *options, mha_error *error) {
    *layer = NULL;
    mha_status status = mha_shape_check(largest, error);
    if (status == MHA_OK) {
        status = check_options(options, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_layer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for a layer");
    }
    made->largest = *largest;
    made->own = made->stages = stages_for(options);
    if (options != NULL && options->stages != NULL) {
        made->stages.at = options->stages;
    }
    status = allocate(made, options == NULL ? 0 : options->threads, error);
    if (status != MHA_OK) {
        mha_layer_destroy(made);
        return status;
    }
    *layer = made;
    return MHA_OK;
}

void mha_layer_destroy(mha_layer *layer) {
    if (layer != NULL) {
        mha_fused_destroy(layer->fused);
        free(layer->scratch_block);
        free(layer->gradient_block);
        free(layer);
    }
}

/* NULL stands for the query's own stream, or for a source without rows. */
static const mha_real *source_of(
    const mha_real *query, const mha_real *source, const mha_shape *shape) {
    const bool has_rows = shape->batch > 0 && shape->source_length > 0;
    const bool same_lengths = shape->source_length == shape->target_length;
    return source == NULL && (has_rows || same_lengths) ? query : source;
}

static void walk_forward(mha_real *output, mha_tape *tape, mha_pass *pass, const mha_layer *layer) {
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        pass->saved[i] = tape->value[i];
    }
    for (size_t i = 0; i < layer->stages.count; i++) {
        const mha_stage *stage = &layer->stages.at[i];
        mha_real *result = stage->result == MHA_OUTPUT          ? output
                           : tape->value[stage->result] != NULL ? tape->value[stage->result]
                                                                : layer->scratch[stage->result];
        stage->forward(result, pass);
        pass->value[stage->result] = result;
    }
    /* Only what is saved outlives the pass. */
    for (size_t i = 0; i < layer->stages.count; i++) {
        const mha_value result = layer->stages.at[i].result;
        pass->value[result] = tape->value[result];
    }
}

mha_status mha_forward(mha_real *output, mha_tape *tape, const mha_real *query,
    const mha_real *source, const mha_mask *mask, const mha_weights *weights, mha_layer *layer,
    const mha_shape *shape, mha_error *error) {
    mha_status status = check_handles(tape, layer, shape, error);
    if (status == MHA_OK) {
        status = check_same_wing(tape, layer->own, error);
    }
    if (status == MHA_OK) {
        status = check_shape_fits(shape, &layer->largest, "layer", error);
    }
    if (status == MHA_OK) {
        status = check_shape_fits(shape, &tape->largest, "tape", error);
    }
    if (status == MHA_OK) {
        status = mha_mask_check(mask, shape, error);
    }
    if (status == MHA_OK) {
        source = source_of(query, source, shape);
        status = check_forward_arrays(output, tape, query, source, mask, weights, shape, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_pass pass = {.shape = *shape, .mask = mask, .fused = layer->fused};
    pass.value[MHA_QUERY] = query;
    pass.value[MHA_SOURCE] = source;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        pass.value[MHA_FIRST_WEIGHT + i] = weights->matrix[i];
    }
    walk_forward(output, tape, &pass, layer);
    tape->pass = pass;
    tape->layer = layer;
    return MHA_OK;
}

/* An activation's gradient is wanted when that of an input of its stage is. Points
 * pass->gradient[] of the wanted activations at buffers, zeroed in the readable wing. */
static void prepare_gradients(mha_pass *pass, mha_layer *layer) {
    unsigned long wanted = 0;
    for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
        wanted |= (unsigned long)(pass->gradient[value] != NULL) << value;
    }
    for (size_t i = 0; i < layer->stages.count; i++) {
        const mha_stage *stage = &layer->stages.at[i];
        mha_real *const gradient =
            (stage->inputs & wanted) != 0 ? layer->gradient[stage->result] : NULL;
        pass->gradient[stage->result] = gradient;
        if (gradient == NULL) {
            continue;
        }
        wanted |= 1ul << stage->result;
        if (layer->fused == NULL) {
            memset(gradient, 0, mha_value_count(stage->result, &pass->shape) * sizeof *gradient);
        }
    }
}

mha_status mha_backward(mha_real *dx_query, mha_real *dx_source, const mha_weights *dweights,
    const mha_real *doutput, const mha_tape *tape, mha_layer *layer, const mha_shape *shape,
    mha_error *error) {
    mha_status status = check_handles(tape, layer, shape, error);
    if (status == MHA_OK) {
        status = check_tape_state(tape, layer, shape, error);
    }
    if (status == MHA_OK) {
        status = check_shape_fits(shape, &layer->largest, "layer", error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_pass pass = tape->pass;
    const bool self_attention = is_self_attention(&pass);
    status = check_backward_arrays(dx_query, dx_source, dweights, doutput, tape, error);
    if (status != MHA_OK) {
        return status;
    }
    pass.gradient[MHA_QUERY] = dx_query;
    pass.gradient[MHA_SOURCE] = self_attention ? dx_query : dx_source;
    for (size_t i = 0; dweights != NULL && i < MHA_WEIGHT_COUNT; i++) {
        pass.gradient[MHA_FIRST_WEIGHT + i] = dweights->matrix[i];
    }
    prepare_gradients(&pass, layer);
    for (size_t i = layer->stages.count; i-- > 0;) {
        const mha_stage *stage = &layer->stages.at[i];
        const mha_real *dresult =
            stage->result == MHA_OUTPUT ? doutput : pass.gradient[stage->result];
        if (dresult != NULL) {
            stage->backward(&pass, dresult);
        }
    }
    return MHA_OK;
}
