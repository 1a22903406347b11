#include "base/real.h"

#include "math/matmul.h"
#include "ops/masked_product.h"

void mha_scores_forward(
    mha_real *scores, const mha_real *q, const mha_real *k, const mha_shape *shape) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    if (T == 0 || S == 0) {
        return;
    }
    for (size_t bh = 0; bh < shape->batch * shape->heads; bh++) {
        mha_real *scores_bh = scores + bh * T * S;
        for (size_t i = 0; i < T * S; i++) {
            scores_bh[i] = REAL(0.0);
        }
        matmul_nt((matrix){scores_bh, S}, (const_matrix){q + bh * T * d, d},
            (const_matrix){k + bh * S * d, d}, T, S, d);
    }
}

void mha_scores_backward(mha_real *dq, mha_real *dk, const mha_real *dscores, const mha_real *q,
    const mha_real *k, const mha_mask *mask, const mha_shape *shape) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    if (T == 0 || S == 0) {
        return;
    }
    for (size_t bh = 0; bh < shape->batch * shape->heads; bh++) {
        const mha_real *const dscores_bh = dscores + bh * T * S;
        if (dq != NULL) { /* dq += dscores k */
            masked_product(dq + bh * T * d, dscores_bh, k + bh * S * d, mask, shape,
                bh / shape->heads, bh % shape->heads);
        }
        if (dk != NULL) { /* dk += dscores^T q */
            masked_product_transposed(dk + bh * S * d, dscores_bh, q + bh * T * d, mask, shape,
                bh / shape->heads, bh % shape->heads);
        }
    }
}
