#include "base/parallel.h"
#include "fused/fused.h"
#include "kernels/kernels.h"

/* Projections are cut into blocks of C, each of them one task. */
typedef struct blocks {
    product whole;
    size_t rows, columns; /* of a block */
    size_t across;        /* blocks side by side */
} blocks;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static void multiply_block(const void *work, size_t task, size_t thread) {
    (void)thread;
    const blocks *const all = work;
    const size_t row = task / all->across * all->rows, column = task % all->across * all->columns;
    product block = all->whole;
    block.c += row * block.ldc + column;
    block.a.at += row * block.a.row_step;
    block.b.at += column * block.b.column_step;
    block.M = least(all->rows, block.M - row);
    block.N = least(all->columns, block.N - column);
    kernels_get()->multiply(&block);
}

static void multiply_blocks(
    const product *whole, size_t rows, size_t columns, const mha_fused *fused) {
    if (whole->M == 0 || whole->N == 0) {
        return;
    }
    const blocks all = {*whole, rows, columns, (whole->N + columns - 1) / columns};
    const double operations = 2.0 * (double)whole->M * (double)whole->N * (double)whole->K;
    parallel_run(fused_threads(fused, operations), (whole->M + rows - 1) / rows * all.across,
        multiply_block, &all);
}

/* Of a projection: enough rows to use a panel of w often, few enough to stay in the second cache. */
enum { PROJECTION_ROWS = 192, PROJECTION_COLUMNS = 512 };

void fused_projection_forward(mha_real *y, const mha_real *x, const mha_real *w, size_t rows,
    size_t in, size_t out, const mha_fused *fused) {
    const product whole = {y, out, {x, in, 1}, {w, out, 1}, rows, out, in, PRODUCT_OVERWRITE};
    multiply_blocks(&whole, PROJECTION_ROWS, PROJECTION_COLUMNS, fused);
}

/* Of a weight gradient, whose sums run over all rows of the batch. */
enum { GRADIENT_ROWS = 48, GRADIENT_COLUMNS = 128 };

void fused_projection_backward(mha_real *dx, mha_real *dw, const mha_real *dy, const mha_real *x,
    const mha_real *w, size_t rows, size_t in, size_t out, const mha_fused *fused) {
    if (dx != NULL) { /* dx += dy w^T */
        kernels_get()->transpose(fused->transposed, w, in, out);
        const product whole = {
            dx, in, {dy, out, 1}, {fused->transposed, in, 1}, rows, in, out, PRODUCT_CONTINUE};
        multiply_blocks(&whole, PROJECTION_ROWS, PROJECTION_COLUMNS, fused);
    }
    if (dw != NULL) { /* dw += x^T dy */
        const product whole = {dw, out, {x, 1, in}, {dy, out, 1}, in, out, rows, PRODUCT_ADD};
        multiply_blocks(&whole, GRADIENT_ROWS, GRADIENT_COLUMNS, fused);
    }
}
