/* Cases of the whole layer. */
#include "checks/given.h"

#include <math.h>

/* Blocks in the order query, source (cross-attention only), wq, wk, wv, wo. */
static mha_weights weights_of(const struct check_case *made, bool gradients) {
    const size_t first = made->subject.block_count - MHA_WEIGHT_COUNT;
    mha_weights weights;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        const mha_gradcheck_block *block = &made->blocks[first + i];
        weights.matrix[i] = gradients ? block->gradient : block->values;
    }
    return weights;
}

static bool is_self_attention(const struct check_case *made) {
    return made->subject.block_count == MHA_WEIGHT_COUNT + 1;
}

static bool layer_forward(void *context) {
    struct check_case *made = context;
    const mha_weights weights = weights_of(made, false);
    const double *source = is_self_attention(made) ? NULL : made->blocks[1].values;
    return mha_forward(made->result, made->tape, made->blocks[0].values, source, made->mask,
               &weights, made->layer, &made->shape, NULL) == MHA_OK;
}

static bool layer_backward(void *context) {
    struct check_case *made = context;
    const mha_weights dweights = weights_of(made, true);
    double *dsource = is_self_attention(made) ? NULL : made->blocks[1].gradient;
    return mha_backward(made->blocks[0].gradient, dsource, &dweights, made->output.gradient,
               made->tape, made->layer, &made->shape, NULL) == MHA_OK;
}

/* N(0,1)/sqrt(D), as the layer starts: larger weights make attention a choice of one key, whose
 * differences are dominated by curvature at large widths. */
static void scale_weights(struct check_case *made) {
    const mha_weights weights = weights_of(made, false);
    const size_t D = made->shape.width;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        for (size_t j = 0; weights.matrix[i] != NULL && j < D * D; j++) {
            weights.matrix[i][j] /= sqrt((double)D);
        }
    }
}

/* With at most one key to see, attention weights are constant, and Wq, Wk and, in cross-attention,
 * the query do not matter; with none, nothing does. */
static void make_blocks(struct check_case *made, bool self_attention) {
    const bool no_choice = made->most_visible < 2, nothing_seen = made->most_visible < 1;
    made->result = case_output(made, MHA_OUTPUT);
    case_block(made, MHA_QUERY, self_attention ? nothing_seen : no_choice);
    if (!self_attention) {
        case_block(made, MHA_SOURCE, nothing_seen);
    }
    case_block(made, MHA_WQ, no_choice);
    case_block(made, MHA_WK, no_choice);
    case_block(made, MHA_WV, nothing_seen);
    case_block(made, MHA_WO, nothing_seen);
}

static mha_status finish_layer(
    struct check_case *made, const mha_layer_options *options, mha_error *error) {
    case_stages(made, 0, MHA_STAGE_COUNT - 1);
    mha_status status = mha_layer_create(&made->layer, &made->shape, options, error);
    if (status == MHA_OK) {
        status = mha_tape_create(&made->tape, &made->shape, options, error);
    }
    if (status != MHA_OK) {
        check_case_destroy(made);
        return status;
    }
    return case_end(made, layer_forward, layer_backward, error);
}

mha_status check_layer_create(struct check_case *made, const struct check_plan *plan,
    const mha_stage *stages, mha_error *error) {
    const mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    make_blocks(made, plan->self_attention);
    scale_weights(made);
    const mha_layer_options options = {
        .kernel = stages == NULL ? plan->kernel : MHA_KERNEL_REFERENCE,
        .mode = plan->mode,
        .threads = plan->threads,
        .stages = stages};
    return finish_layer(made, &options, error);
}

/* A source row that no query sees may hold anything; 0 can be moved as numbers are. */
static void take_values(struct check_case *made, const struct walk_leaves *leaves) {
    for (size_t b = 0; b < made->subject.block_count; b++) {
        const mha_value value = made->block_value[b];
        const double *values = value == MHA_QUERY    ? leaves->query
                               : value == MHA_SOURCE ? leaves->source
                                                     : leaves->weights[value - MHA_FIRST_WEIGHT];
        double *copy = made->blocks[b].values;
        const size_t count = mha_value_count(value, &made->shape);
        for (size_t i = 0; copy != NULL && values != NULL && i < count; i++) {
            copy[i] = isfinite(values[i]) ? values[i] : 0.0;
        }
    }
}

mha_status check_given_create(struct check_case *made, const struct walk_leaves *leaves,
    const mha_mask *mask, const mha_shape *shape, mha_error *error) {
    const struct check_plan plan = {.shape = *shape, .mask = MASK_NONE};
    const mha_status status = case_begin(made, &plan, error);
    if (status != MHA_OK) {
        return status;
    }
    case_take_mask(made, mask);
    make_blocks(made, leaves->source == NULL);
    take_values(made, leaves);
    return finish_layer(made, &(mha_layer_options){.kernel = MHA_KERNEL_REFERENCE}, error);
}
