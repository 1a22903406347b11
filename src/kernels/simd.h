/* Vectors of the instruction set that this file is compiled for, in the precision of the file.
 *
 * Arithmetic is written with the operators of gcc and clang; what has none is a function here.
 * Products and sums are fused only where vec_fma says so, so that a result has the same bits with
 * every compiler and on every processor that fuses: x86-64-v3, v4 and aarch64. Vector length never
 * shows in a result either: sums of a row run in LANES lanes, whatever a register holds. */
#ifndef KERNELS_SIMD_H
#define KERNELS_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/real.h"

#if defined(__AVX512F__)
#define SIMD_AVX512
#include <immintrin.h>
#elif defined(__AVX2__) && defined(__FMA__)
#define SIMD_AVX2
#include <immintrin.h>
#elif defined(__aarch64__)
#define SIMD_NEON
#include <arm_neon.h>
#endif

#define KERNEL_INLINE static inline __attribute__((always_inline))

/* The register tile is TILE_ROWS x TILE_VECTORS accumulators. */
#if defined(SIMD_AVX512)
#define VECTOR_BYTES 64 /* 24 of 32 registers */
#define TILE_ROWS    12
#define TILE_VECTORS 2
#elif defined(SIMD_AVX2)
#define VECTOR_BYTES 32
#ifdef MHA_TILE_V4 /* the tile of v4 out of vectors of v3, for tests where there is no v4 */
#define TILE_ROWS    12
#define TILE_VECTORS 4
#else
#define TILE_ROWS    6 /* 12 of 16 registers */
#define TILE_VECTORS 2
#endif
#elif defined(SIMD_NEON)
#define VECTOR_BYTES 16
#define TILE_ROWS    6 /* 24 of 32 registers */
#define TILE_VECTORS 4
#else
#define VECTOR_BYTES 16
#define TILE_ROWS    4 /* 8 of 16 registers */
#define TILE_VECTORS 2
#endif

#if MHA_PRECISION == 32
typedef int32_t lane_bits;
typedef uint32_t lane_word;
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#else
typedef int64_t lane_bits;
typedef uint64_t lane_word;
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#endif

typedef mha_real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef lane_bits vec_bits __attribute__((vector_size(VECTOR_BYTES)));  /* what comparisons give */
typedef lane_word vec_words __attribute__((vector_size(VECTOR_BYTES))); /* arithmetic on bits */
/* The same at any address of a number. */
typedef mha_real vec_at
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(mha_real)), may_alias));

enum {
    VECTOR_LANES = VECTOR_BYTES / sizeof(mha_real),
    TILE_COLUMNS = TILE_VECTORS * VECTOR_LANES,
    LANES = 16, /* of the sums over a row */
    LANE_VECTORS = LANES / VECTOR_LANES
};

KERNEL_INLINE vec vec_load(const mha_real *at) {
    return *(const vec_at *)at;
}

KERNEL_INLINE void vec_store(mha_real *at, vec x) {
    *(vec_at *)at = x;
}

#if defined(SIMD_AVX2)
/* All ones in the first `count` lanes of 32 bytes. */
KERNEL_INLINE __m256i first_lanes(size_t count) {
    static const lane_bits lanes[2 * VECTOR_LANES] = {
#if MHA_PRECISION == 32
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1,
        -1
#else
        -1,
        -1,
        -1,
        -1
#endif
    };
    return _mm256_loadu_si256((const __m256i *)(const void *)(lanes + VECTOR_LANES - count));
}
#endif

/* The first `count` numbers of a vector, and zeros: fewer than VECTOR_LANES. */
KERNEL_INLINE vec vec_load_first(const mha_real *at, size_t count) {
#if defined(SIMD_AVX512) && MHA_PRECISION == 32
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), at);
#elif defined(SIMD_AVX512)
    return (vec)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), at);
#elif defined(SIMD_AVX2) && MHA_PRECISION == 32
    return (vec)_mm256_maskload_ps(at, first_lanes(count));
#elif defined(SIMD_AVX2)
    return (vec)_mm256_maskload_pd(at, first_lanes(count));
#else
    vec x = {REAL(0.0)};
    for (size_t i = 0; i < count; i++) {
        x[i] = at[i];
    }
    return x;
#endif
}

KERNEL_INLINE void vec_store_first(mha_real *at, vec x, size_t count) {
#if defined(SIMD_AVX512) && MHA_PRECISION == 32
    _mm512_mask_storeu_ps(at, (__mmask16)((1u << count) - 1), (__m512)x);
#elif defined(SIMD_AVX512)
    _mm512_mask_storeu_pd(at, (__mmask8)((1u << count) - 1), (__m512d)x);
#elif defined(SIMD_AVX2) && MHA_PRECISION == 32
    _mm256_maskstore_ps(at, first_lanes(count), (__m256)x);
#elif defined(SIMD_AVX2)
    _mm256_maskstore_pd(at, first_lanes(count), (__m256d)x);
#else
    for (size_t i = 0; i < count; i++) {
        at[i] = x[i];
    }
#endif
}

KERNEL_INLINE vec vec_all(mha_real x) {
    return x - (vec){REAL(0.0)};
}

/* a b + c, rounded once where the instruction set can */
KERNEL_INLINE vec vec_fma(vec a, vec b, vec c) {
#if defined(SIMD_AVX512) && MHA_PRECISION == 32
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(SIMD_AVX512)
    return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(SIMD_AVX2) && MHA_PRECISION == 32
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(SIMD_AVX2)
    return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(SIMD_NEON) && MHA_PRECISION == 32
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(SIMD_NEON)
    return (vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

/* The same for one number. */
KERNEL_INLINE mha_real real_fma(mha_real a, mha_real b, mha_real c) {
#if defined(SIMD_AVX512) || defined(SIMD_AVX2) || defined(SIMD_NEON)
#if MHA_PRECISION == 32
    return __builtin_fmaf(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
#else
    return a * b + c;
#endif
}

/* Where the mask (all ones or all zeros in a lane) is set yes, else no. */
KERNEL_INLINE vec vec_select(vec_bits mask, vec yes, vec no) {
    return (vec)(((vec_bits)yes & mask) | ((vec_bits)no & ~mask));
}

/* The first `count` lanes of x, fewer than VECTOR_LANES, and then those of y. */
KERNEL_INLINE vec vec_select_first(size_t count, vec x, vec y) {
#if defined(SIMD_AVX512) && MHA_PRECISION == 32
    return (vec)_mm512_mask_mov_ps((__m512)y, (__mmask16)((1u << count) - 1), (__m512)x);
#elif defined(SIMD_AVX512)
    return (vec)_mm512_mask_mov_pd((__m512d)y, (__mmask8)((1u << count) - 1), (__m512d)x);
#elif defined(SIMD_AVX2)
    return vec_select((vec_bits)first_lanes(count), x, y);
#else
    for (size_t i = 0; i < count; i++) {
        y[i] = x[i];
    }
    return y;
#endif
}

/* Whether a comparison held in every lane. */
KERNEL_INLINE bool vec_all_set(vec_bits mask) {
    lane_bits lane[VECTOR_LANES], all = -1;
    memcpy(lane, &mask, sizeof lane);
    for (size_t i = 0; i < VECTOR_LANES; i++) {
        all &= lane[i];
    }
    return all == -1;
}

/* The larger one; largest where x is a NaN. */
KERNEL_INLINE vec vec_max(vec x, vec largest) {
#if defined(SIMD_AVX512) && MHA_PRECISION == 32
    return (vec)_mm512_max_ps((__m512)x, (__m512)largest);
#elif defined(SIMD_AVX512)
    return (vec)_mm512_max_pd((__m512d)x, (__m512d)largest);
#elif defined(SIMD_AVX2) && MHA_PRECISION == 32
    return (vec)_mm256_max_ps((__m256)x, (__m256)largest);
#elif defined(SIMD_AVX2)
    return (vec)_mm256_max_pd((__m256d)x, (__m256d)largest);
#else
    return vec_select((vec_bits)(x > largest), x, largest);
#endif
}

/* `count` rounded up to whole vectors, and to whole groups of LANES. */
KERNEL_INLINE size_t whole_vectors(size_t count) {
    return (count + VECTOR_LANES - 1) / VECTOR_LANES * VECTOR_LANES;
}

KERNEL_INLINE size_t whole_lanes(size_t count) {
    return (count + LANES - 1) / LANES * LANES;
}

#endif
