/* The precision of this file is 128, double complex. */
#include <mha/complex.h>

#include "base/real.h"

#include <string.h>

void mha_complex_stage(size_t stage, mha_complex *result,
    const mha_complex *const value[MHA_VALUE_COUNT], const mha_mask *mask, const mha_shape *shape) {
    mha_pass pass = {.shape = *shape, .mask = mask};
    memcpy(pass.value, value, sizeof pass.value);
    mha_stages[stage].forward(result, &pass);
}
