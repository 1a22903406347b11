#include "layer/projections.h"

/* Heads. */

static void split_forward(
    mha_real *result, const mha_pass *pass, mha_value side_by_side, size_t length) {
    const mha_shape *shape = &pass->shape;
    mha_split_heads_forward(result, pass->value[side_by_side], shape->batch, length, shape->heads,
        mha_head_width(shape));
}

static void split_backward(
    const mha_pass *pass, const mha_real *dresult, mha_value side_by_side, size_t length) {
    const mha_shape *shape = &pass->shape;
    mha_split_heads_backward(pass->gradient[side_by_side], dresult, shape->batch, length,
        shape->heads, mha_head_width(shape));
}

static void split_query_forward(mha_real *result, const mha_pass *pass) {
    split_forward(result, pass, MHA_Q, pass->shape.target_length);
}

static void split_query_backward(const mha_pass *pass, const mha_real *dresult) {
    split_backward(pass, dresult, MHA_Q, pass->shape.target_length);
}

static void split_key_forward(mha_real *result, const mha_pass *pass) {
    split_forward(result, pass, MHA_K, pass->shape.source_length);
}

static void split_key_backward(const mha_pass *pass, const mha_real *dresult) {
    split_backward(pass, dresult, MHA_K, pass->shape.source_length);
}

static void split_value_forward(mha_real *result, const mha_pass *pass) {
    split_forward(result, pass, MHA_V, pass->shape.source_length);
}

static void split_value_backward(const mha_pass *pass, const mha_real *dresult) {
    split_backward(pass, dresult, MHA_V, pass->shape.source_length);
}

static void combine_forward(mha_real *result, const mha_pass *pass) {
    const mha_shape *shape = &pass->shape;
    mha_combine_heads_forward(result, pass->value[MHA_CONTEXT_HEADS], shape->batch,
        shape->target_length, shape->heads, mha_head_width(shape));
}

static void combine_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    mha_combine_heads_backward(pass->gradient[MHA_CONTEXT_HEADS], dresult, shape->batch,
        shape->target_length, shape->heads, mha_head_width(shape));
}

/* Attention. */

static void scores_forward(mha_real *result, const mha_pass *pass) {
    mha_scores_forward(result, pass->value[MHA_Q_HEADS], pass->value[MHA_K_HEADS], &pass->shape);
}

static void scores_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_scores_backward(pass->gradient[MHA_Q_HEADS], pass->gradient[MHA_K_HEADS], dresult,
        pass->value[MHA_Q_HEADS], pass->value[MHA_K_HEADS], pass->mask, &pass->shape);
}

static void scale_forward(mha_real *result, const mha_pass *pass) {
    mha_scale_forward(result, pass->value[MHA_SCORES], &pass->shape);
}

static void scale_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_scale_backward(pass->gradient[MHA_SCORES], dresult, &pass->shape);
}

static void mask_forward(mha_real *result, const mha_pass *pass) {
    mha_mask_forward(result, pass->value[MHA_SCALED], pass->mask, &pass->shape);
}

static void mask_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_mask_backward(pass->gradient[MHA_SCALED], dresult, pass->mask, &pass->shape);
}

static void softmax_forward(mha_real *result, const mha_pass *pass) {
    mha_softmax_forward(result, pass->value[MHA_MASKED], pass->mask, &pass->shape);
}

static void softmax_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_softmax_backward(pass->gradient[MHA_MASKED], dresult, pass->value[MHA_ATTENTION_WEIGHTS],
        pass->mask, &pass->shape);
}

static void context_forward(mha_real *result, const mha_pass *pass) {
    mha_context_forward(result, pass->value[MHA_ATTENTION_WEIGHTS], pass->value[MHA_V_HEADS],
        pass->mask, &pass->shape);
}

static void context_backward(const mha_pass *pass, const mha_real *dresult) {
    mha_context_backward(pass->gradient[MHA_ATTENTION_WEIGHTS], pass->gradient[MHA_V_HEADS],
        dresult, pass->value[MHA_ATTENTION_WEIGHTS], pass->value[MHA_V_HEADS], pass->mask,
        &pass->shape);
}

const mha_stage mha_stages[MHA_STAGE_COUNT] = {
    PROJECT_QUERY,
    PROJECT_KEY,
    PROJECT_VALUE,
    {"split_query", MHA_Q_HEADS, 0, BIT(MHA_Q), 0, false, split_query_forward,
        split_query_backward},
    {"split_key", MHA_K_HEADS, 0, BIT(MHA_K), 0, false, split_key_forward, split_key_backward},
    {"split_value", MHA_V_HEADS, 0, BIT(MHA_V), 0, false, split_value_forward,
        split_value_backward},
    {"scores", MHA_SCORES, 0, BIT(MHA_Q_HEADS) | BIT(MHA_K_HEADS),
        BIT(MHA_Q_HEADS) | BIT(MHA_K_HEADS), true, scores_forward, scores_backward},
    {"scale", MHA_SCALED, 0, BIT(MHA_SCORES), 0, false, scale_forward, scale_backward},
    {"mask", MHA_MASKED, 0, BIT(MHA_SCALED), 0, true, mask_forward, mask_backward},
    {"softmax", MHA_ATTENTION_WEIGHTS, 0, BIT(MHA_MASKED), BIT(MHA_ATTENTION_WEIGHTS), true,
        softmax_forward, softmax_backward},
    {"context", MHA_CONTEXT_HEADS, 0, BIT(MHA_ATTENTION_WEIGHTS) | BIT(MHA_V_HEADS),
        BIT(MHA_ATTENTION_WEIGHTS) | BIT(MHA_V_HEADS), true, context_forward, context_backward},
    {"combine", MHA_CONTEXT, 0, BIT(MHA_CONTEXT_HEADS), 0, false, combine_forward,
        combine_backward},
    PROJECT_OUTPUT,
};
