/* What a training step does with whole arrays: the sums of norm and loss, and the update. Plain loops that
 * compilers turn into vectors; nothing is fused, so that every instruction set gives the same bits. */
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/kernels.h"

#define square_sums      KERNEL_NAME(square_sums)
#define error_sums       KERNEL_NAME(error_sums)
#define update_is_finite KERNEL_NAME(update_is_finite)
#define update_all       KERNEL_NAME(update_all)

void square_sums(wide_sum *sum, const mha_real *x, size_t count);
void error_sums(wide_sum *sum, mha_real *dx, const mha_real *x, const mha_real *y, mha_real factor,
    const unsigned char *counted, size_t rows, size_t features);
bool update_is_finite(const mha_real *weights, const mha_real *velocity, const mha_real *gradients,
    size_t count, const sgd_factors *factors);
void update_all(mha_real *weights, mha_real *velocity, const mha_real *gradients, size_t count,
    const sgd_factors *factors);

#endif
