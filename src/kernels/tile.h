/* The register tile: the innermost loops of every product. */
#ifndef KERNELS_TILE_H
#define KERNELS_TILE_H

#include "kernels/kernels.h"
#include "kernels/simd.h"

_Static_assert(ATTEND_KEYS % TILE_COLUMNS == 0, "whole panels make a tile of attention");
_Static_assert(PACKED_COLUMNS % TILE_COLUMNS == 0, "and a group of packed columns");
_Static_assert(MOST_PANEL % TILE_COLUMNS == 0, "of which none is wider");
_Static_assert((size_t)VECTOR_LANES <= ATTEND_VECTOR, "padded rows hold whole vectors");

/* C (rows, vectors of columns) of A (rows,K) and B (K, the same columns); rows and vectors are
 * constants at each call. Entry (i,k) of A stands at a[i * a_row + k * a_column]. */
KERNEL_INLINE void tile(mha_real *c, size_t ldc, const mha_real *a, size_t a_row, size_t a_column,
    const mha_real *b, size_t ldb, size_t K, size_t rows, size_t vectors, product_start start) {
    vec sum[TILE_ROWS][TILE_VECTORS];
    if (start == PRODUCT_CONTINUE) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = vec_load(c + i * ldc + j * VECTOR_LANES);
            }
        }
    } else {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = vec_all(REAL(0.0));
            }
        }
    }
    for (size_t k = 0; k < K; k++) {
        vec b_k[TILE_VECTORS];
        for (size_t j = 0; j < vectors; j++) {
            b_k[j] = vec_load(b + k * ldb + j * VECTOR_LANES);
        }
        for (size_t i = 0; i < rows; i++) {
            const vec a_ik = vec_all(a[i * a_row + k * a_column]);
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = vec_fma(a_ik, b_k[j], sum[i][j]);
            }
        }
    }
    if (start == PRODUCT_ADD) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] += vec_load(c + i * ldc + j * VECTOR_LANES);
            }
        }
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < vectors; j++) {
            vec_store(c + i * ldc + j * VECTOR_LANES, sum[i][j]);
        }
    }
}

#endif
