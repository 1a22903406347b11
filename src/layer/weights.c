#include "base/real.h"

mha_weights mha_weights_view(mha_real *block, size_t width) {
    mha_weights weights;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        weights.matrix[i] = block == NULL ? NULL : block + i * width * width;
    }
    return weights;
}

void mha_weights_draw(const mha_weights *weights, mha_rng *rng, size_t width) {
    const wide root = sqrt((wide)width); /* divided by, as NumPy's lesson does */
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        for (size_t j = 0; j < width * width; j++) {
            weights->matrix[i][j] = (mha_real)(mha_rng_normal(rng) / root);
        }
    }
}

void mha_weights_draw_handbook(const mha_weights *weights, mha_legacy_rng *rng, size_t width) {
    const wide scale = sqrt(2.0 / (wide)width);
    const size_t together =
        MHA_WEIGHT_COUNT - 1; /* wq wk wv: one row of the three after the other */
    for (size_t row = 0; row < width; row++) {
        for (size_t j = 0; j < together * width; j++) {
            const size_t place = row * width + j % width;
            weights->matrix[j / width][place] = (mha_real)(mha_legacy_rng_normal(rng) * scale);
        }
    }
    for (size_t j = 0; j < width * width; j++) {
        weights->matrix[together][j] = (mha_real)(mha_legacy_rng_normal(rng) * scale);
    }
}
