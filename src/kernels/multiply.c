#include "kernels/multiply.h"

#include "base/size.h"
#include "kernels/lanes.h"
#include "kernels/rows.h"

/* C (M, vectors of columns) of A (M,K), whose steps are given, and one panel of B (K, the same columns),
 * rows ldb apart. Rows that TILE_ROWS leaves over go into tiles of 8, 4, 2 and 1. */
KERNEL_INLINE void tile_rows(mha_real *c, size_t ldc, const mha_real *a, size_t a_row,
    size_t a_column, const mha_real *b, size_t ldb, size_t M, size_t K, size_t vectors,
    product_start start) {
    size_t i = 0;
    for (; i + TILE_ROWS <= M; i += TILE_ROWS) {
        tile(
            c + i * ldc, ldc, a + i * a_row, a_row, a_column, b, ldb, K, TILE_ROWS, vectors, start);
    }
#if TILE_ROWS > 8
    if (i + 8 <= M) {
        tile(c + i * ldc, ldc, a + i * a_row, a_row, a_column, b, ldb, K, 8, vectors, start);
        i += 8;
    }
#endif
#if TILE_ROWS > 4
    if (i + 4 <= M) {
        tile(c + i * ldc, ldc, a + i * a_row, a_row, a_column, b, ldb, K, 4, vectors, start);
        i += 4;
    }
#endif
    if (i + 2 <= M) {
        tile(c + i * ldc, ldc, a + i * a_row, a_row, a_column, b, ldb, K, 2, vectors, start);
        i += 2;
    }
    if (i < M) {
        tile(c + i * ldc, ldc, a + i * a_row, a_row, a_column, b, ldb, K, 1, vectors, start);
    }
}

KERNEL_INLINE void tile_forms(mha_real *c, size_t ldc, operand a, const mha_real *b, size_t ldb,
    size_t M, size_t K, size_t vectors, product_start start) {
    if (a.column_step == 1) {
        tile_rows(c, ldc, a.at, a.row_step, 1, b, ldb, M, K, vectors, start);
    } else {
        tile_rows(c, ldc, a.at, 1, a.column_step, b, ldb, M, K, vectors, start);
    }
}

static void tile_column(mha_real *c, size_t ldc, operand a, const mha_real *b, size_t ldb, size_t M,
    size_t K, size_t vectors, product_start start) {
    switch (vectors) {
    case 1:
        tile_forms(c, ldc, a, b, ldb, M, K, 1, start);
        break;
    case 2:
        tile_forms(c, ldc, a, b, ldb, M, K, 2, start);
        break;
#if TILE_VECTORS > 2
    case 3:
        tile_forms(c, ldc, a, b, ldb, M, K, 3, start);
        break;
    default:
        tile_forms(c, ldc, a, b, ldb, M, K, 4, start);
        break;
#endif
    }
}

/* Between C and a copy whose rows are whole vectors. */
static void copy_edge(
    mha_real *to, size_t to_ld, const mha_real *from, size_t from_ld, size_t rows, size_t columns) {
    const size_t whole = columns / VECTOR_LANES * VECTOR_LANES, rest = columns - whole;
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < whole; j += VECTOR_LANES) {
            vec_store(to + r * to_ld + j, vec_load(from + r * from_ld + j));
        }
        vec_store_first(
            to + r * to_ld + whole, vec_load_first(from + r * from_ld + whole, rest), rest);
    }
}

/* The last columns of C, where they do not end with a whole vector, go through a copy of TILE_ROWS rows. */
static void tile_edge(mha_real *c, size_t ldc, operand a, const mha_real *b, size_t ldb, size_t M,
    size_t columns, size_t K, product_start start) {
    const size_t vectors = (columns + VECTOR_LANES - 1) / VECTOR_LANES;
    mha_real copy[TILE_ROWS * TILE_COLUMNS];
    if (start != PRODUCT_OVERWRITE) { /* what is not copied is read too */
        memset(copy, 0, sizeof copy);
    }
    for (size_t i = 0; i < M; i += TILE_ROWS) {
        const size_t rows = M - i < TILE_ROWS ? M - i : TILE_ROWS;
        const operand a_i = {a.at + i * a.row_step, a.row_step, a.column_step};
        if (start != PRODUCT_OVERWRITE) {
            copy_edge(copy, TILE_COLUMNS, c + i * ldc, ldc, rows, columns);
        }
        tile_column(copy, TILE_COLUMNS, a_i, b, ldb, rows, K, vectors, start);
        copy_edge(c + i * ldc, ldc, copy, TILE_COLUMNS, rows, columns);
    }
}

void multiply_panels(mha_real *c, size_t ldc, operand a, panels b, size_t M, size_t N, size_t K,
    product_start start) {
    for (size_t n = 0; n < N; n += TILE_COLUMNS) {
        const size_t columns = N - n < TILE_COLUMNS ? N - n : TILE_COLUMNS;
        if (columns % VECTOR_LANES == 0) {
            tile_column(c + n, ldc, a, b.at, b.row_step, M, K, columns / VECTOR_LANES, start);
        } else {
            tile_edge(c + n, ldc, a, b.at, b.row_step, M, columns, K, start);
        }
        b.at += b.panel_step;
    }
}

/* Zeros from column `columns` of a panel on. */
static void fill_panel(mha_real *packed, size_t columns, size_t K) {
    for (size_t k = 0; columns < TILE_COLUMNS && k < K; k++) {
        for (size_t j = columns; j < TILE_COLUMNS; j++) {
            packed[k * TILE_COLUMNS + j] = REAL(0.0);
        }
    }
}

static void pack_panel(mha_real *packed, const mha_real *b, size_t ldb, size_t columns, size_t K) {
    if (columns == TILE_COLUMNS) {
        for (size_t k = 0; k < K; k++) {
            memcpy(packed + k * TILE_COLUMNS, b + k * ldb, TILE_COLUMNS * sizeof *b);
        }
        return;
    }
    const size_t whole = columns / VECTOR_LANES * VECTOR_LANES;
    fill_panel(packed, whole, K);
    for (size_t k = 0; k < K; k++) {
        for (size_t j = 0; j < whole; j += VECTOR_LANES) {
            vec_store(packed + k * TILE_COLUMNS + j, vec_load(b + k * ldb + j));
        }
        if (whole < columns) {
            vec_store(packed + k * TILE_COLUMNS + whole,
                vec_load_first(b + k * ldb + whole, columns - whole));
        }
    }
}

panels pack_rows(mha_real *packed, const mha_real *b, size_t ldb, size_t N, size_t K) {
    for (size_t n = 0; n < N; n += TILE_COLUMNS) {
        pack_panel(packed + n * K, b + n, ldb, N - n < TILE_COLUMNS ? N - n : TILE_COLUMNS, K);
    }
    return (panels){packed, TILE_COLUMNS, TILE_COLUMNS * K};
}

/* packed[k][j] = x[j * ldx + k], zeros from column `columns` on */
static void pack_panel_transposed(
    mha_real *packed, const mha_real *x, size_t ldx, size_t columns, size_t K) {
    for (size_t j = 0; j < TILE_COLUMNS; j += VECTOR_LANES) {
        const size_t rows = j < columns ? columns - j : 0;
        const mha_real *const from = rows > 0 ? x + j * ldx : x;
        for (size_t k = 0; k < K; k += VECTOR_LANES) {
            const size_t high = K - k < VECTOR_LANES ? K - k : VECTOR_LANES;
            vec block[VECTOR_LANES];
            vec_load_transposed(block, from + k, ldx, rows, high);
            for (size_t i = 0; i < high; i++) {
                vec_store(packed + (k + i) * TILE_COLUMNS + j, block[i]);
            }
        }
    }
}

panels pack_transposed(mha_real *packed, const mha_real *x, size_t ldx, size_t N, size_t K) {
    for (size_t n = 0; n < N; n += TILE_COLUMNS) {
        pack_panel_transposed(
            packed + n * K, x + n * ldx, ldx, N - n < TILE_COLUMNS ? N - n : TILE_COLUMNS, K);
    }
    return (panels){packed, TILE_COLUMNS, TILE_COLUMNS * K};
}

/* One chunk of k. A panel of B is copied where more than a few rows of A meet it, or where it is not
 * readable as it is. */
static void multiply_chunk(const product *p, size_t k, size_t K, product_start start) {
    mha_real packed[PRODUCT_CHUNK * TILE_COLUMNS];
    const operand a = {p->a.at + k * p->a.column_step, p->a.row_step, p->a.column_step};
    const mha_real *const b = p->b.at + k * p->b.row_step;
    for (size_t n = 0; n < p->N; n += TILE_COLUMNS) {
        const size_t columns = p->N - n < TILE_COLUMNS ? p->N - n : TILE_COLUMNS;
        panels panel = {b + n, p->b.row_step, 0};
        if (p->b.column_step != 1) {
            panel = pack_transposed(packed, b + n * p->b.column_step, p->b.column_step, columns, K);
        } else if (p->M > (size_t)2 * TILE_ROWS || columns % VECTOR_LANES != 0) {
            panel = pack_rows(packed, b + n, p->b.row_step, columns, K);
        }
        multiply_panels(p->c + n, p->ldc, a, panel, p->M, columns, K, start);
    }
}

/* Rows of an operand that will be read soon. */
typedef struct ahead {
    const mha_real *at;
    size_t step, rows, columns;
} ahead;

static void fetch_part(const ahead *next, size_t part, size_t parts) {
    const size_t begin = part * next->rows / parts, end = (part + 1) * next->rows / parts;
    fetch_rows(next->at + begin * next->step, next->step, end - begin, next->columns);
}

/* The columns from n on of one chunk of A^T B, B by panels. Rows of A stand far apart in memory: tiles
 * meet COPIED_ROWS columns of it in a copy, and while they do, those that come next are fetched, and B of
 * the next chunk. */
static void multiply_group(
    const product *p, panels b, size_t n, size_t columns, size_t k, size_t K, product_start start) {
    mha_real *const copy = p->scratch + K * whole_panels(columns);
    const size_t parts = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS, after = k + K;
    const size_t chunk = size_least(p->K - after, PRODUCT_CHUNK);
    const size_t blocks = (p->M + COPIED_ROWS - 1) / COPIED_ROWS;
    const ahead next_b = {p->b.at + after * p->b.row_step + n, p->b.row_step, chunk, columns};
    for (size_t block = 0; block < blocks; block++) {
        const size_t row = block * COPIED_ROWS, M = size_least(p->M - row, COPIED_ROWS);
        const mha_real *const a = p->a.at + k * p->a.column_step + row;
        for (size_t i = 0; i < K; i++) {
            memcpy(copy + i * COPIED_ROWS, a + i * p->a.column_step, M * sizeof *copy);
        }
        ahead next_a = {a + M, p->a.column_step, K, size_least(p->M - row - M, COPIED_ROWS)};
        if (block + 1 == blocks) {
            next_a = (ahead){p->a.at + after * p->a.column_step, p->a.column_step, chunk,
                size_least(p->M, COPIED_ROWS)};
        }
        for (size_t i = 0; i < parts; i++) {
            const size_t at = i * TILE_COLUMNS;
            fetch_part(&next_a, i, parts);
            fetch_part(&next_b, block * parts + i, blocks * parts);
            multiply_panels(p->c + row * p->ldc + n + at, p->ldc, (operand){copy, 1, COPIED_ROWS},
                panels_from(b, 0, at), M, size_least(columns - at, TILE_COLUMNS), K, start);
        }
    }
}

/* Of A^T: not worth a copy. */
enum { FEW_ROWS = 16 };

/* One chunk for A^T, a weight gradient's. */
static void multiply_chunk_transposed(const product *p, size_t k, size_t K, product_start start) {
    for (size_t n = 0; n < p->N; n += PACKED_COLUMNS) {
        const size_t columns = size_least(p->N - n, PACKED_COLUMNS);
        const mha_real *const b = p->b.at + k * p->b.row_step + n;
        multiply_group(
            p, pack_rows(p->scratch, b, p->b.row_step, columns, K), n, columns, k, K, start);
    }
}

void multiply_matrices(const product *p) {
    product_start start = p->start;
    for (size_t k = 0; k < p->K; k += PRODUCT_CHUNK) {
        const size_t chunk = p->K - k < PRODUCT_CHUNK ? p->K - k : PRODUCT_CHUNK;
        if (p->a.column_step == 1 || chunk <= FEW_ROWS) {
            multiply_chunk(p, k, chunk, start);
        } else {
            multiply_chunk_transposed(p, k, chunk, start);
        }
        start = p->start == PRODUCT_ADD ? PRODUCT_ADD : PRODUCT_CONTINUE;
    }
    for (size_t i = 0; p->K == 0 && p->start == PRODUCT_OVERWRITE && i < p->M; i++) {
        memset(p->c + i * p->ldc, 0, p->N * sizeof *p->c);
    }
}
