#include "kernels/transpose.h"

#include "kernels/lanes.h"

void transpose_matrix(mha_real *y, const mha_real *x, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; r += VECTOR_LANES) {
        const size_t across = rows - r < VECTOR_LANES ? rows - r : VECTOR_LANES;
        for (size_t c = 0; c < columns; c += VECTOR_LANES) {
            const size_t high = columns - c < VECTOR_LANES ? columns - c : VECTOR_LANES;
            vec block[VECTOR_LANES];
            vec_load_transposed(block, x + r * columns + c, columns, across, high);
            for (size_t i = 0; i < high; i++) {
                mha_real *const to = y + (c + i) * rows + r;
                if (across == VECTOR_LANES) {
                    vec_store(to, block[i]);
                } else {
                    vec_store_first(to, block[i], across);
                }
            }
        }
    }
}
