/* y (columns,rows) = x^T, x (rows,columns), by square blocks. */
#ifndef KERNELS_TRANSPOSE_H
#define KERNELS_TRANSPOSE_H

#include "kernels/kernels.h"

#define transpose_matrix KERNEL_NAME(transpose_matrix)

void transpose_matrix(mha_real *y, const mha_real *x, size_t rows, size_t columns);

#endif
