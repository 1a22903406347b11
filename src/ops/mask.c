#include "base/real.h"

void mha_mask_forward(
    mha_real *masked, const mha_real *scaled, const mha_mask *mask, const mha_shape *shape) {
    const size_t S = shape->source_length;
    if (S == 0) {
        return;
    }
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            for (size_t t = 0; t < shape->target_length; t++) {
                const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
                for (size_t s = 0; s < S; s++) {
                    masked[s] = mha_mask_row_allows(&row, s) ? scaled[s] : -REAL_INFINITY;
                }
                masked += S;
                scaled += S;
            }
        }
    }
}

void mha_mask_backward(
    mha_real *dscaled, const mha_real *dmasked, const mha_mask *mask, const mha_shape *shape) {
    if (dscaled == NULL) {
        return;
    }
    const size_t S = shape->source_length;
    if (S == 0) {
        return;
    }
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            for (size_t t = 0; t < shape->target_length; t++) {
                const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
                for (size_t s = 0; s < S; s++) {
                    if (mha_mask_row_allows(&row, s)) {
                        dscaled[s] += dmasked[s];
                    }
                }
                dscaled += S;
                dmasked += S;
            }
        }
    }
}
