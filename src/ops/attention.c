#include "base/real.h"

#include <string.h>

void mha_attention_forward(mha_real *context, mha_real *weights, mha_real *scratch,
    const mha_real *q, const mha_real *k, const mha_real *v, const mha_mask *mask,
    const mha_shape *shape) {
    const size_t pairs = shape->batch * shape->heads * shape->target_length * shape->source_length;
    if (pairs == 0) {
        mha_context_forward(context, weights, v, mask, shape);
        return;
    }
    mha_real *const scores = scratch, *const scaled = scratch + pairs;
    mha_real *const masked = scores; /* the raw scores are not needed again */
    mha_scores_forward(scores, q, k, shape);
    mha_scale_forward(scaled, scores, shape);
    mha_mask_forward(masked, scaled, mask, shape);
    mha_softmax_forward(weights, masked, mask, shape);
    mha_context_forward(context, weights, v, mask, shape);
}

void mha_attention_backward(mha_real *dq, mha_real *dk, mha_real *dv, mha_real *scratch,
    const mha_real *dcontext, const mha_real *weights, const mha_real *q, const mha_real *k,
    const mha_real *v, const mha_mask *mask, const mha_shape *shape) {
    const size_t pairs = shape->batch * shape->heads * shape->target_length * shape->source_length;
    if (pairs == 0) {
        return;
    }
    mha_real *const dweights = scratch, *const dmasked = scratch + pairs;
    mha_real *const dscaled = dweights, *const dscores = dmasked; /* two buffers in turn */
    const bool scores_wanted = dq != NULL || dk != NULL;
    memset(scratch, 0, 2 * pairs * sizeof *scratch);
    mha_context_backward(scores_wanted ? dweights : NULL, dv, dcontext, weights, v, mask, shape);
    if (!scores_wanted) {
        return;
    }
    mha_softmax_backward(dmasked, dweights, weights, mask, shape);
    memset(dscaled, 0, pairs * sizeof *dscaled);
    mha_mask_backward(dscaled, dmasked, mask, shape);
    memset(dscores, 0, pairs * sizeof *dscores);
    mha_scale_backward(dscores, dscaled, shape);
    mha_scores_backward(dq, dk, dscores, q, k, mask, shape);
}
