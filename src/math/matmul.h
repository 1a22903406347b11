/* The three matrix products. All add to C, on row-major matrices whose rows lie `ld` numbers apart.
 * Each entry of C is one sum that starts from what C holds and runs through k in ascending order. */
#ifndef MATH_MATMUL_H
#define MATH_MATMUL_H

#include "base/real.h"

#define matmul_nn MHA_NAME(matmul_nn)
#define matmul_nt MHA_NAME(matmul_nt)
#define matmul_tn MHA_NAME(matmul_tn)

/* A matrix inside a larger one, or the whole. */
#define matrix       MHA_NAME(matrix)
#define const_matrix MHA_NAME(const_matrix)
typedef struct matrix {
    mha_real *at;
    size_t ld;
} matrix;
typedef struct const_matrix {
    const mha_real *at;
    size_t ld;
} const_matrix;

/* C (M,N) += A (M,K) B (K,N) */
void matmul_nn(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K);
/* C (M,N) += A (M,K) B^T, B (N,K) */
void matmul_nt(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K);
/* C (M,N) += A^T B, A (K,M) and B (K,N) */
void matmul_tn(matrix c, const_matrix a, const_matrix b, size_t M, size_t N, size_t K);

#endif
