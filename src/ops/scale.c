#include "base/real.h"

static size_t pair_count(const mha_shape *shape) {
    return shape->batch * shape->heads * shape->target_length * shape->source_length;
}

static mha_real scale_of(const mha_shape *shape) {
    return REAL(1.0) / real_sqrt((mha_real)mha_head_width(shape));
}

void mha_scale_forward(mha_real *scaled, const mha_real *scores, const mha_shape *shape) {
    const mha_real scale = scale_of(shape);
    const size_t count = pair_count(shape);
    for (size_t i = 0; i < count; i++) {
        scaled[i] = scores[i] * scale;
    }
}

void mha_scale_backward(mha_real *dscores, const mha_real *dscaled, const mha_shape *shape) {
    if (dscores == NULL) {
        return;
    }
    const mha_real scale = scale_of(shape);
    const size_t count = pair_count(shape);
    for (size_t i = 0; i < count; i++) {
        dscores[i] += dscaled[i] * scale;
    }
}
