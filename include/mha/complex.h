/* The readable wing's forward pass in complex numbers, for derivatives by the complex step: of a function f
 * that is analytic and real on real numbers, Im f(x + i step) / step is f'(x) but for a term of step^2, and
 * nothing is subtracted, so that step may be as small as 1e-30 and the derivative has all its digits
 * (Squire and Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review
 * 40(1), 1998).
 *
 * Attention is analytic: the exponential and products are, the mask selects, and the maximum that the
 * softmax subtracts, taken of real parts, changes no result. */
#ifndef MHA_COMPLEX_H
#define MHA_COMPLEX_H

#include <mha/declare.h>
#include <mha/mask.h>
#include <mha/shape.h>
#include <mha/values.h>

MHA_DECLARATIONS_BEGIN

#ifdef __cplusplus
typedef struct mha_complex {
    double re, im;
} mha_complex; /* laid out as in C */
#else
typedef double _Complex mha_complex;
#endif

/* Stage 0 to MHA_STAGE_COUNT - 1 of mha_stages, forward: result, shaped as the value that the stage
 * writes, is written from those of value[] that are its inputs. mask may be NULL. Nothing is checked:
 * shape and mask have passed mha_shape_check and mha_mask_check, and arrays do not overlap. */
void mha_complex_stage(size_t stage, mha_complex *result,
    const mha_complex *const value[MHA_VALUE_COUNT], const mha_mask *mask, const mha_shape *shape);

MHA_DECLARATIONS_END
#endif
