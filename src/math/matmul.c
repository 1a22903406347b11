#include "math/matmul.h"

/* The products are computed in tiles of TILE_ROWS x TILE_COLUMNS accumulators that stay in
 * registers (128-bit vectors: 4 x 2 of the 16 there are), over chunks of k. A tile starts from C,
 * so that an entry has the same bits wherever tiles and chunks begin. */
enum {
    TILE_ROWS = 4,
    TILE_COLUMNS = 32 / sizeof(mha_real),
    CHUNK = 128 /* of k: a packed panel of B takes 4 KiB */
};

/* Entry (i,k) of A stands at a[i * row_step + k * k_step]. */
typedef struct stepped {
    const mha_real *at;
    size_t row_step, k_step;
} stepped;

/* c (rows,columns) += a (rows,K) b (K,TILE_COLUMNS); rows is a constant at each call. */
static inline void tile(
    matrix c, stepped a, const_matrix b, size_t rows, size_t columns, size_t K) {
    mha_real sum[TILE_ROWS][TILE_COLUMNS] = {{REAL(0.0)}};
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            sum[i][j] = c.at[i * c.ld + j];
        }
    }
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < rows; i++) {
            const mha_real a_ik = a.at[i * a.row_step + k * a.k_step];
#pragma omp simd
            for (size_t j = 0; j < TILE_COLUMNS; j++) {
                sum[i][j] += a_ik * b.at[k * b.ld + j];
            }
        }
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            c.at[i * c.ld + j] = sum[i][j];
        }
    }
}

/* c (M,columns) += a (M,K) b (K,TILE_COLUMNS), columns of them wanted. */
static void panel(matrix c, stepped a, const_matrix b, size_t M, size_t columns, size_t K) {
    size_t i = 0;
    for (; i + TILE_ROWS <= M; i += TILE_ROWS) {
        const matrix c_i = {c.at + i * c.ld, c.ld};
        const stepped a_i = {a.at + i * a.row_step, a.row_step, a.k_step};
        if (columns == TILE_COLUMNS) {
            tile(c_i, a_i, b, TILE_ROWS, TILE_COLUMNS, K);
        } else {
            tile(c_i, a_i, b, TILE_ROWS, columns, K);
        }
    }
    for (; i < M; i++) {
        const matrix c_i = {c.at + i * c.ld, c.ld};
        const stepped a_i = {a.at + i * a.row_step, a.row_step, a.k_step};
        tile(c_i, a_i, b, 1, columns, K);
    }
}

/* Entry (k,j) of B stands at b[k * k_step + j * column_step]. Copies K x columns of it, the missing
 * columns as zeros. */
static void pack(mha_real packed[CHUNK][TILE_COLUMNS], const mha_real *b, size_t k_step,
    size_t column_step, size_t columns, size_t K) {
    for (size_t k = 0; k < K; k++) {
        for (size_t j = 0; j < TILE_COLUMNS; j++) {
            packed[k][j] = j < columns ? b[k * k_step + j * column_step] : REAL(0.0);
        }
    }
}

static void multiply(matrix c, stepped a, const mha_real *b, size_t b_k_step, size_t b_column_step,
    size_t M, size_t N, size_t K) {
    if (M == 0 || N == 0 || K == 0) {
        return; /* an array without entries may be NULL */
    }
    mha_real packed[CHUNK][TILE_COLUMNS];
    for (size_t k = 0; k < K; k += CHUNK) {
        const size_t chunk = K - k < CHUNK ? K - k : CHUNK;
        const stepped a_k = {a.at + k * a.k_step, a.row_step, a.k_step};
        for (size_t j = 0; j < N; j += TILE_COLUMNS) {
            const size_t columns = N - j < TILE_COLUMNS ? N - j : TILE_COLUMNS;
            const mha_real *b_kj = b + k * b_k_step + j * b_column_step;
            const matrix c_j = {c.at + j, c.ld};
            const_matrix b_panel = {b_kj, b_k_step};
            if (b_column_step != 1 || columns < TILE_COLUMNS) {
                pack(packed, b_kj, b_k_step, b_column_step, columns, chunk);
                b_panel = (const_matrix){packed[0], TILE_COLUMNS};
            }
            panel(c_j, a_k, b_panel, M, columns, chunk);
        }
    }
}

void matmul_nn(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K) {
    multiply(c, (stepped){a.at, a.ld, 1}, b.at, b.ld, 1, M, N, K);
}

void matmul_nt(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K) {
    multiply(c, (stepped){a.at, a.ld, 1}, b.at, 1, b.ld, M, N, K);
}

void matmul_tn(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K) {
    multiply(c, (stepped){a.at, 1, a.ld}, b.at, b.ld, 1, M, N, K);
}
