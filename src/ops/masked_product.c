#include "ops/masked_product.h"

#include "math/matmul.h"

/* Where x is finite a blocked pair adds a zero, which changes no sum that starts from zero, so the
 * plain product has the same bits as the selected one. */
static bool all_finite(const mha_real *x, size_t count) {
    size_t finite = 0;
    for (size_t i = 0; i < count; i++) {
        finite += real_re(x[i]) - real_re(x[i]) == 0;
    }
    return finite == count;
}

/* y[t] += a[t,s] x[s] or, transposed, y[s] += a[t,s] x[t], over the allowed pairs. */
static void selected_product(mha_real *y, const mha_real *a, const mha_real *x, bool transposed,
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h) {
    const size_t S = shape->source_length, d = mha_head_width(shape);
    for (size_t t = 0; t < shape->target_length; t++) {
        const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
        for (size_t s = 0; s < row.limit; s++) {
            if (!mha_mask_row_allows(&row, s)) {
                continue;
            }
            mha_real *const to = y + (transposed ? s : t) * d;
            const mha_real *const from = x + (transposed ? t : s) * d;
            for (size_t i = 0; i < d; i++) {
                to[i] += a[t * S + s] * from[i];
            }
        }
    }
}

void masked_product(mha_real *y, const mha_real *a, const mha_real *x, const mha_mask *mask,
    const mha_shape *shape, size_t b, size_t h) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    if (mask == NULL || all_finite(x, S * d)) {
        matmul_nn((matrix){y, d}, (const_matrix){a, S}, (const_matrix){x, d}, T, d, S);
    } else {
        selected_product(y, a, x, false, mask, shape, b, h);
    }
}

void masked_product_transposed(mha_real *y, const mha_real *a, const mha_real *x,
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h) {
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    if (mask == NULL || all_finite(x, T * d)) {
        matmul_tn((matrix){y, d}, (const_matrix){a, S}, (const_matrix){x, d}, S, d, T);
    } else {
        selected_product(y, a, x, true, mask, shape, b, h);
    }
}
