/* The exponential of the softmax: 2^y by vectors, for y <= 0.
 *
 * y = n + f with n whole and f in [-1/2, 1/2]; 2^f = 1 + f q(f), and 2^n is made of its bits. The
 * coefficients of q make the largest relative error of 1 + f q(f) smallest (a weighted least-squares fit on
 * Chebyshev points, reweighted until the error is level): 2.0e-9 in float, 3.6e-18 in double, so that
 * what is left is the rounding of the last steps. 2^0 is exactly 1. What is below the smallest
 * normal number is exactly 0: such weights change no sum, and denormal operands slow products
 * down. A NaN stays a NaN. */
#ifndef KERNELS_VEXP_H
#define KERNELS_VEXP_H

#include "kernels/simd.h"

#if MHA_PRECISION == 32
static const mha_real exp2_coefficients[] = {0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f,
    0x1.3b2d4cp-7f, 0x1.5f3e54p-10f, 0x1.41fbbap-13f};
#else
static const mha_real exp2_coefficients[] = {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a4p-3,
    0x1.c6b08d7049feap-5, 0x1.3b2ab6fba014ap-7, 0x1.5d87fe78ccd12p-10, 0x1.4309130ed217ap-13,
    0x1.ffcbfbac65bcdp-17, 0x1.62bfc7aad072dp-20, 0x1.b5267779fbbedp-24, 0x1.e61b3b56ece75p-28,
    0x1.e7a29ab1999e4p-32};
#endif

enum { EXP2_DEGREE = sizeof exp2_coefficients / sizeof *exp2_coefficients };

/* Adding it leaves a whole number in the low bits of the sum, rounded to nearest. */
#define EXP2_ROUNDER (REAL(1.5) * (mha_real)((lane_bits)1 << MANTISSA_BITS))

KERNEL_INLINE vec vec_exp2(vec y) {
    const vec shifted = y + vec_all(EXP2_ROUNDER);
    const vec f = y - (shifted - vec_all(EXP2_ROUNDER));
    vec p = vec_all(exp2_coefficients[EXP2_DEGREE - 1]);
    for (size_t i = EXP2_DEGREE - 1; i-- > 0;) {
        p = vec_fma(p, f, vec_all(exp2_coefficients[i]));
    }
    p = vec_fma(p, f, vec_all(REAL(1.0)));
    const vec_words power = ((vec_words)shifted << MANTISSA_BITS) +
                            ((vec_words){0} + ((lane_word)EXPONENT_BIAS << MANTISSA_BITS));
    const vec_bits too_small = (vec_bits)(y < vec_all((mha_real)(1 - EXPONENT_BIAS)));
    return (vec)((vec_bits)(p * (vec)power) & ~too_small);
}

/* log2(e) / sqrt(d): exp((s - m) / sqrt(d)) is 2^((s - m) times this). Neither factor is folded into the scores,
 * whose products may reach the largest finite number. */
KERNEL_INLINE mha_real exp2_scale(size_t head_width) {
    return REAL(1.44269504088896340736) / real_sqrt((mha_real)head_width);
}

#endif
