#include "base/real.h"

#include "math/matmul.h"
#include "ops/masked_product.h"

void mha_context_forward(mha_real *context, const mha_real *weights, const mha_real *v,
    const mha_mask *mask, const mha_shape *shape) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    for (size_t i = 0; i < shape->batch * shape->heads * T * d; i++) {
        context[i] = REAL(0.0);
    }
    if (T == 0 || S == 0) {
        return;
    }
    for (size_t bh = 0; bh < shape->batch * shape->heads; bh++) {
        masked_product(context + bh * T * d, weights + bh * T * S, v + bh * S * d, mask, shape,
            bh / shape->heads, bh % shape->heads);
    }
}

void mha_context_backward(mha_real *dweights, mha_real *dv, const mha_real *dcontext,
    const mha_real *weights, const mha_real *v, const mha_mask *mask, const mha_shape *shape) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    if (T == 0 || S == 0) {
        return;
    }
    for (size_t bh = 0; bh < shape->batch * shape->heads; bh++) {
        const const_matrix dcontext_bh = {dcontext + bh * T * d, d};
        if (dweights != NULL) { /* dweights += dcontext v^T */
            matmul_nt((matrix){dweights + bh * T * S, S}, dcontext_bh,
                (const_matrix){v + bh * S * d, d}, T, S, d);
        }
        if (dv != NULL) { /* dv += weights^T dcontext */
            masked_product_transposed(dv + bh * S * d, weights + bh * T * S, dcontext_bh.at, mask,
                shape, bh / shape->heads, bh % shape->heads);
        }
    }
}
