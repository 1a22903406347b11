/* What exchanges the lanes of vectors: sums and maxima of all lanes, and transposition. */
#ifndef KERNELS_LANES_H
#define KERNELS_LANES_H

#include "kernels/simd.h"

/* y[i] = x[i + half] for the lower lanes of a vector; the upper ones do not matter. */
#if VECTOR_BYTES == 64 && MHA_PRECISION == 32
#define vec_upper(x, half)                                                                         \
    __builtin_shufflevector(x, x, (half) + 0, (half) + 1, (half) + 2, (half) + 3, (half) + 4,      \
        (half) + 5, (half) + 6, (half) + 7, 0, 0, 0, 0, 0, 0, 0, 0)
#elif (VECTOR_BYTES == 64 && MHA_PRECISION == 64) || (VECTOR_BYTES == 32 && MHA_PRECISION == 32)
#define vec_upper(x, half)                                                                         \
    __builtin_shufflevector(x, x, (half) + 0, (half) + 1, (half) + 2, (half) + 3, 0, 0, 0, 0)
#elif (VECTOR_BYTES == 32 && MHA_PRECISION == 64) || (VECTOR_BYTES == 16 && MHA_PRECISION == 32)
#define vec_upper(x, half) __builtin_shufflevector(x, x, (half) + 0, (half) + 1, 0, 0)
#else
#define vec_upper(x, half) __builtin_shufflevector(x, x, (half) + 0, 0)
#endif

/* The sum and the maximum of all lanes in one fixed order: lane i with lane i + 8, then 4, 2, 1. */
KERNEL_INLINE mha_real lanes_sum(vec sum[LANE_VECTORS]) {
    for (size_t half = LANE_VECTORS / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            sum[i] += sum[i + half];
        }
    }
    vec total = sum[0];
#if VECTOR_BYTES == 64 && MHA_PRECISION == 32
    total += vec_upper(total, 8);
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 8
    total += vec_upper(total, 4);
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 4
    total += vec_upper(total, 2);
#endif
    total += vec_upper(total, 1);
    return total[0];
}

KERNEL_INLINE mha_real lanes_max(vec largest[LANE_VECTORS]) {
    for (size_t half = LANE_VECTORS / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            largest[i] = vec_max(largest[i + half], largest[i]);
        }
    }
    vec most = largest[0];
#if VECTOR_BYTES == 64 && MHA_PRECISION == 32
    most = vec_max(vec_upper(most, 8), most);
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 8
    most = vec_max(vec_upper(most, 4), most);
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 4
    most = vec_max(vec_upper(most, 2), most);
#endif
    most = vec_max(vec_upper(most, 1), most);
    return most[0];
}

/* One step of a transposition: y_i and y_(i+h) exchange the lanes where their numbers differ in bit h. */
#if VECTOR_BYTES / (MHA_PRECISION / 8) == 16
#define LANE_LIST(of, h)                                                                           \
    of(0, h), of(1, h), of(2, h), of(3, h), of(4, h), of(5, h), of(6, h), of(7, h), of(8, h),      \
        of(9, h), of(10, h), of(11, h), of(12, h), of(13, h), of(14, h), of(15, h)
#elif VECTOR_BYTES / (MHA_PRECISION / 8) == 8
#define LANE_LIST(of, h)                                                                           \
    of(0, h), of(1, h), of(2, h), of(3, h), of(4, h), of(5, h), of(6, h), of(7, h)
#elif VECTOR_BYTES / (MHA_PRECISION / 8) == 4
#define LANE_LIST(of, h) of(0, h), of(1, h), of(2, h), of(3, h)
#else
#define LANE_LIST(of, h) of(0, h), of(1, h)
#endif
#define LANE_OF_FIRST(j, h)  (((j) & (h)) != 0 ? VECTOR_LANES + (j) - (h) : (j))
#define LANE_OF_SECOND(j, h) (((j) & (h)) != 0 ? VECTOR_LANES + (j) : (j) + (h))
#define TRANSPOSE_STEP(y, h)                                                                       \
    for (size_t i = 0; i < VECTOR_LANES; i++) {                                                    \
        if ((i & (h)) == 0) {                                                                      \
            const vec first = (y)[i], second = (y)[i + (h)];                                       \
            (y)[i] = __builtin_shufflevector(first, second, LANE_LIST(LANE_OF_FIRST, h));          \
            (y)[i + (h)] = __builtin_shufflevector(first, second, LANE_LIST(LANE_OF_SECOND, h));   \
        }                                                                                          \
    }

/* y[i][j] and y[j][i] exchanged. */
KERNEL_INLINE void vec_transpose(vec y[VECTOR_LANES]) {
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 16
    TRANSPOSE_STEP(y, 8)
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 8
    TRANSPOSE_STEP(y, 4)
#endif
#if VECTOR_BYTES / (MHA_PRECISION / 8) >= 4
    TRANSPOSE_STEP(y, 2)
#endif
    TRANSPOSE_STEP(y, 1)
}

/* y[k][j] = x[j * ldx + k] for the first VECTOR_LANES rows j < rows and columns k < columns; zeros where
 * x ends. */
KERNEL_INLINE void vec_load_transposed(
    vec y[VECTOR_LANES], const mha_real *x, size_t ldx, size_t rows, size_t columns) {
    if (rows >= VECTOR_LANES && columns >= VECTOR_LANES) {
        for (size_t j = 0; j < VECTOR_LANES; j++) {
            y[j] = vec_load(x + j * ldx);
        }
    } else {
        for (size_t j = 0; j < VECTOR_LANES; j++) {
            y[j] = j >= rows                 ? vec_all(REAL(0.0))
                   : columns >= VECTOR_LANES ? vec_load(x + j * ldx)
                                             : vec_load_first(x + j * ldx, columns);
        }
    }
    vec_transpose(y);
}

#endif
