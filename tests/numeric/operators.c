#include "base/real.h"

#include "arrays.h"
#include "operators.h"

static void projection_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)mask;
    mha_projection_forward(
        y, x[0], x[1], shape->batch * shape->target_length, shape->width, shape->width);
}

static void projection_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y, (void)mask;
    mha_projection_backward(dx[0], dx[1], dy, x[0], x[1], shape->batch * shape->target_length,
        shape->width, shape->width);
}

static void split_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)mask;
    mha_split_heads_forward(
        y, x[0], shape->batch, shape->source_length, shape->heads, mha_head_width(shape));
}

static void split_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y, (void)x, (void)mask;
    mha_split_heads_backward(
        dx[0], dy, shape->batch, shape->source_length, shape->heads, mha_head_width(shape));
}

static void combine_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)mask;
    mha_combine_heads_forward(
        y, x[0], shape->batch, shape->target_length, shape->heads, mha_head_width(shape));
}

static void combine_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y, (void)x, (void)mask;
    mha_combine_heads_backward(
        dx[0], dy, shape->batch, shape->target_length, shape->heads, mha_head_width(shape));
}

static void scores_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)mask;
    mha_scores_forward(y, x[0], x[1], shape);
}

static void scores_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y;
    mha_scores_backward(dx[0], dx[1], dy, x[0], x[1], mask, shape);
}

static void scale_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)mask;
    mha_scale_forward(y, x[0], shape);
}

static void scale_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y, (void)x, (void)mask;
    mha_scale_backward(dx[0], dy, shape);
}

static void mask_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    mha_mask_forward(y, x[0], mask, shape);
}

static void mask_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y, (void)x;
    mha_mask_backward(dx[0], dy, mask, shape);
}

static void softmax_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    mha_softmax_forward(y, x[0], mask, shape);
}

static void softmax_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)x;
    mha_softmax_backward(dx[0], dy, y, mask, shape);
}

static void context_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    mha_context_forward(y, x[0], x[1], mask, shape);
}

static void context_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y;
    mha_context_backward(dx[0], dx[1], dy, x[0], x[1], mask, shape);
}

static size_t pairs(const mha_shape *shape) {
    return mha_value_count(MHA_SCORES, shape);
}

/* NULL where there is nothing to hold. */
static mha_real *buffer(size_t count) {
    return count == 0 ? NULL : array_new(count);
}

static void attention_forward(
    mha_real *y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    mha_attention_forward(
        y, buffer(pairs(shape)), buffer(2 * pairs(shape)), x[0], x[1], x[2], mask, shape);
}

static void attention_backward(mha_real *const dx[], const mha_real *dy, const mha_real *y,
    const mha_real *const x[], const mha_mask *mask, const mha_shape *shape) {
    (void)y;
    mha_real *weights = buffer(pairs(shape)), *scratch = buffer(2 * pairs(shape));
    mha_real *context = buffer(mha_value_count(MHA_CONTEXT_HEADS, shape));
    mha_attention_forward(context, weights, scratch, x[0], x[1], x[2], mask, shape);
    mha_attention_backward(
        dx[0], dx[1], dx[2], scratch, dy, weights, x[0], x[1], x[2], mask, shape);
}

const operator operators[OPERATORS] = {
    {"projection", MHA_Q, 2, {MHA_QUERY, MHA_WQ}, true, projection_forward, projection_backward},
    {"split", MHA_K_HEADS, 1, {MHA_K}, true, split_forward, split_backward},
    {"combine", MHA_CONTEXT, 1, {MHA_CONTEXT_HEADS}, true, combine_forward, combine_backward},
    {"scores", MHA_SCORES, 2, {MHA_Q_HEADS, MHA_K_HEADS}, true, scores_forward, scores_backward},
    {"scale", MHA_SCALED, 1, {MHA_SCORES}, true, scale_forward, scale_backward},
    {"mask", MHA_MASKED, 1, {MHA_SCALED}, true, mask_forward, mask_backward},
    {"softmax", MHA_ATTENTION_WEIGHTS, 1, {MHA_MASKED}, true, softmax_forward, softmax_backward},
    {"context", MHA_CONTEXT_HEADS, 2, {MHA_ATTENTION_WEIGHTS, MHA_V_HEADS}, true, context_forward,
        context_backward},
    {"attention", MHA_CONTEXT_HEADS, 3, {MHA_Q_HEADS, MHA_K_HEADS, MHA_V_HEADS}, false,
        attention_forward, attention_backward},
};
