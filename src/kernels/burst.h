/* The speed limit: multiply-adds on registers alone. */
#ifndef KERNELS_BURST_H
#define KERNELS_BURST_H

#include "kernels/kernels.h"

#define burst KERNEL_NAME(burst)

mha_real burst(double *operations, size_t rounds);

#endif
