#include "kernels/attend.h"
#include "kernels/burst.h"
#include "kernels/multiply.h"
#include "kernels/transpose.h"
#include "kernels/update.h"

#define KERNELS_OF_SET(set) MHA_NAME(kernels_##set)
#define KERNELS_OF(set)     KERNELS_OF_SET(set)

const kernels KERNELS_OF(MHA_KERNEL) = {
    .multiply = multiply_matrices,
    .transpose = transpose_matrix,
    .attend_forward = attend_forward_rows,
    .attend_backward = attend_backward_keys,
    .add_squares = square_sums,
    .add_errors = error_sums,
    .sgd_stays_finite = update_is_finite,
    .sgd_update = update_all,
    .fma_burst = burst,
};
