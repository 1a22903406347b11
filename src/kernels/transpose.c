#include "kernels/transpose.h"

enum { BLOCK = 16 };

void transpose_matrix(mha_real *y, const mha_real *x, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; r += BLOCK) {
        const size_t r_end = rows - r < BLOCK ? rows : r + BLOCK;
        for (size_t c = 0; c < columns; c += BLOCK) {
            const size_t c_end = columns - c < BLOCK ? columns : c + BLOCK;
            for (size_t j = c; j < c_end; j++) {
                for (size_t i = r; i < r_end; i++) {
                    y[j * rows + i] = x[i * columns + j];
                }
            }
        }
    }
}
