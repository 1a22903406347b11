/* The softmax of one row of scores, by vectors. */
#ifndef KERNELS_SOFTMAX_ROWS_H
#define KERNELS_SOFTMAX_ROWS_H

#include "kernels/lanes.h"
#include "kernels/rows.h"
#include "kernels/vexp.h"

/* The largest of x (count, a multiple of LANES); +0 in place of -0, a NaN is passed over. */
KERNEL_INLINE mha_real largest_of(const mha_real *x, size_t count) {
    vec largest[LANE_VECTORS];
    for (size_t j = 0; j < LANE_VECTORS; j++) {
        largest[j] = vec_all(-REAL_INFINITY);
    }
    for (size_t s = 0; s < count; s += LANES) {
        for (size_t j = 0; j < LANE_VECTORS; j++) {
            largest[j] = vec_max(vec_load(x + s + j * VECTOR_LANES), largest[j]);
        }
    }
    return lanes_max(largest) + REAL(0.0);
}

/* x = exp((x - maximum) / sqrt(d)), scale from exp2_scale; returns the sum. */
KERNEL_INLINE mha_real exponentials(mha_real *x, size_t count, mha_real maximum, mha_real scale) {
    vec sum[LANE_VECTORS];
    for (size_t j = 0; j < LANE_VECTORS; j++) {
        sum[j] = vec_all(REAL(0.0));
    }
    for (size_t s = 0; s < count; s += LANES) {
        for (size_t j = 0; j < LANE_VECTORS; j++) {
            mha_real *const at = x + s + j * VECTOR_LANES;
            const vec e = vec_exp2((vec_load(at) - vec_all(maximum)) * vec_all(scale));
            vec_store(at, e);
            sum[j] += e;
        }
    }
    return lanes_sum(sum);
}

#endif
