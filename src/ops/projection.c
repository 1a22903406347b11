#include "base/real.h"

#include "math/matmul.h"

void mha_projection_forward(
    mha_real *y, const mha_real *x, const mha_real *w, size_t rows, size_t in, size_t out) {
    for (size_t i = 0; i < rows * out; i++) {
        y[i] = REAL(0.0);
    }
    matmul_nn((matrix){y, out}, (const_matrix){x, in}, (const_matrix){w, out}, rows, out, in);
}

void mha_projection_backward(mha_real *dx, mha_real *dw, const mha_real *dy, const mha_real *x,
    const mha_real *w, size_t rows, size_t in, size_t out) {
    if (dx != NULL) { /* dx += dy w^T */
        matmul_nt((matrix){dx, in}, (const_matrix){dy, out}, (const_matrix){w, out}, rows, in, out);
    }
    if (dw != NULL) { /* dw += x^T dy */
        matmul_tn((matrix){dw, out}, (const_matrix){x, in}, (const_matrix){dy, out}, in, out, rows);
    }
}
