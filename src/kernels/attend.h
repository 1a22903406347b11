/* The two tasks of kernels.h. */
#ifndef KERNELS_ATTEND_H
#define KERNELS_ATTEND_H

#include "kernels/kernels.h"

#define attend_forward_rows  KERNEL_NAME(attend_forward_rows)
#define attend_backward_keys KERNEL_NAME(attend_backward_keys)

void attend_forward_rows(const attend_forward *task);
void attend_backward_keys(const attend_backward *task);

#endif
