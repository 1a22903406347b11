/* Matrix products of the kernels. */
#ifndef KERNELS_MULTIPLY_H
#define KERNELS_MULTIPLY_H

#include "kernels/kernels.h"
#include "kernels/tile.h"

#define panels            KERNEL_NAME(panels)
#define multiply_matrices KERNEL_NAME(multiply_matrices)
#define multiply_panels   KERNEL_NAME(multiply_panels)
#define pack_rows         KERNEL_NAME(pack_rows)
#define pack_transposed   KERNEL_NAME(pack_transposed)

/* B (K,N) by panels of TILE_COLUMNS columns: entry (k, p * TILE_COLUMNS + j) stands at
 * at[p * panel_step + k * row_step + j]. Where N does not end with a whole vector, the rows of the last panel
 * are readable to its full width. */
typedef struct panels {
    const mha_real *at;
    size_t row_step, panel_step;
} panels;

/* N rounded up to whole panels. */
KERNEL_INLINE size_t whole_panels(size_t N) {
    return (N + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
}

/* The panels from row k on, and from column n on, a multiple of TILE_COLUMNS. */
KERNEL_INLINE panels panels_from(panels b, size_t k, size_t n) {
    b.at += n / TILE_COLUMNS * b.panel_step + k * b.row_step;
    return b;
}

/* C (M,N) of A (M,K) and B (K,N), K in one chunk: PRODUCT_ADD sums all of it by itself. */
void multiply_panels(mha_real *c, size_t ldc, operand a, panels b, size_t M, size_t N, size_t K,
    product_start start);

/* B (K,N), rows ldb apart, or B = X^T of X (N,K), rows ldx apart, copied into whole panels one behind the
 * other; what fills up the last panel is 0. */
panels pack_rows(mha_real *packed, const mha_real *b, size_t ldb, size_t N, size_t K);
panels pack_transposed(mha_real *packed, const mha_real *x, size_t ldx, size_t N, size_t K);

/* The product of kernels.h. */
void multiply_matrices(const product *p);

#endif
