#include "base/parallel.h"
#include "base/size.h"
#include "fused/fused.h"

/* Projections are cut into blocks of C, each of them one task. Every entry of C has its own sum, so that
 * how C is cut shows in no result; threads may decide it. */
typedef struct blocks {
    product whole;
    size_t rows, columns; /* of a block */
    size_t across;        /* blocks side by side */
    const mha_fused *fused;
} blocks;

static void multiply_block(const void *work, size_t task, size_t thread) {
    const blocks *const all = work;
    const size_t row = task / all->across * all->rows, column = task % all->across * all->columns;
    product block = all->whole;
    block.c += row * block.ldc + column;
    block.a.at += row * block.a.row_step;
    block.b.at += column * block.b.column_step;
    block.M = size_least(all->rows, block.M - row);
    block.N = size_least(all->columns, block.N - column);
    block.scratch = fused_scratch(all->fused, thread);
    all->fused->kernels->multiply(&block);
}

/* Of a block: enough rows to use a panel of B often, few enough to stay in the second cache. */
enum { MOST_ROWS = 192, LEAST_ROWS = 32 };

/* How many parts of at most MOST_ROWS rows there are: as many as make the tasks of all threads alike. */
static size_t parts_of(size_t M, size_t across, size_t threads) {
    size_t parts = (M + MOST_ROWS - 1) / MOST_ROWS;
    const size_t most = (M + LEAST_ROWS - 1) / LEAST_ROWS;
    while (threads > 1 && parts < most && parts * across % threads != 0) {
        parts++;
    }
    return parts;
}

static void multiply_blocks(const product *whole, size_t columns, const mha_fused *fused) {
    if (whole->M == 0 || whole->N == 0) {
        return;
    }
    const double operations = 2.0 * (double)whole->M * (double)whole->N * (double)whole->K;
    const size_t threads = fused_threads(fused, operations);
    if (threads < 2 && whole->M <= MOST_ROWS && whole->N <= columns) {
        product only = *whole;
        only.scratch = fused_scratch(fused, 0);
        fused->kernels->multiply(&only);
        return;
    }
    const size_t across = (whole->N + columns - 1) / columns;
    const size_t parts = parts_of(whole->M, across, threads);
    const size_t rows = ((whole->M + parts - 1) / parts + 1) / 2 * 2;
    const blocks all = {*whole, rows, columns, across, fused};
    parallel_run(threads, (whole->M + rows - 1) / rows * across, multiply_block, &all);
}

enum { PROJECTION_COLUMNS = 512 };

void fused_projection_forward(mha_real *y, const mha_real *x, const mha_real *w, size_t rows,
    size_t in, size_t out, const mha_fused *fused) {
    const product whole = {y, out, {x, in, 1}, {w, out, 1}, rows, out, in, PRODUCT_OVERWRITE, NULL};
    multiply_blocks(&whole, PROJECTION_COLUMNS, fused);
}

/* Of a weight gradient, whose sums run over all rows of the batch. */
enum { GRADIENT_COLUMNS = PACKED_COLUMNS };

void fused_projection_backward(mha_real *dx, bool fresh, mha_real *dw, const mha_real *dy,
    const mha_real *x, const mha_real *w, size_t rows, size_t in, size_t out,
    const mha_fused *fused) {
    if (dx != NULL) { /* dx += dy w^T, or = */
        fused->kernels->transpose(fused->transposed, w, in, out);
        const product whole = {dx, in, {dy, out, 1}, {fused->transposed, in, 1}, rows, in, out,
            fresh ? PRODUCT_OVERWRITE : PRODUCT_CONTINUE, NULL};
        multiply_blocks(&whole, PROJECTION_COLUMNS, fused);
    }
    if (dw != NULL) { /* dw += x^T dy */
        const product whole = {dw, out, {x, 1, in}, {dy, out, 1}, in, out, rows, PRODUCT_ADD, NULL};
        multiply_blocks(&whole, GRADIENT_COLUMNS, fused);
    }
}
