#include <mha/shape.h>

#include <mha/values.h>

#include "base/size.h"

/* Whether an array of these axes has a byte count in the widest precision, double complex. Sizes of
 * 0 are taken as 1, so that the answer does not depend on the order of the factors. */
static bool fits(size_t a, size_t b, size_t c, size_t d) {
    const size_t dims[] = {a, b, c, d};
    size_t bytes = 2 * sizeof(double);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        if (!size_multiply(&bytes, bytes, dims[i] == 0 ? 1 : dims[i])) {
            return false;
        }
    }
    return true;
}

mha_status mha_shape_check(const mha_shape *shape, mha_error *error) {
    if (shape == NULL) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "shape is NULL");
    }
    const size_t B = shape->batch, T = shape->target_length, S = shape->source_length;
    const size_t D = shape->width, h = shape->heads;
    if (h == 0) {
        return mha_fail(error, MHA_ERROR_SHAPE, "heads is 0, at least 1 is needed");
    }
    if (D == 0) {
        return mha_fail(error, MHA_ERROR_SHAPE, "width is 0, at least 1 is needed");
    }
    if (D % h != 0) {
        return mha_fail(error, MHA_ERROR_SHAPE, "width %zu is not divisible by %zu heads", D, h);
    }
    if (!fits(B, h, T, S)) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "attention weights of batch %zu x heads %zu x target length %zu x source length %zu "
            "exceed the address space",
            B, h, T, S);
    }
    if (!fits(B, T, D, 1) || !fits(B, S, D, 1)) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "batch %zu x length %zu x width %zu exceeds the address space", B, T > S ? T : S, D);
    }
    if (!fits(MHA_WEIGHT_COUNT, D, D, 1)) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "%d matrices of width %zu x %zu exceed the address space", MHA_WEIGHT_COUNT, D, D);
    }
    return MHA_OK;
}

size_t mha_head_width(const mha_shape *shape) {
    return shape->width / shape->heads;
}
