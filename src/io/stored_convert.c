#include "io/stored.h"

#include <stdint.h>
#include <string.h>

/* Numbers are copied in and out with memcpy, for neither side is known to be aligned, and floats as
 * their bits, so that no NaN loses its payload on the way. */

static bool copy_bools(void *to, const void *from, size_t count, size_t *bad) {
    const unsigned char *bytes = from;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] > 1) {
            *bad = i;
            return false;
        }
    }
    memcpy(to, from, count);
    return true;
}

static bool copy_bytes(void *to, const void *from, size_t count, size_t *bad) {
    (void)bad;
    memcpy(to, from, count);
    return true;
}

static bool copy_words(void *to, const void *from, size_t count, size_t *bad) {
    (void)bad;
    memcpy(to, from, 4 * count);
    return true;
}

static bool copy_double_words(void *to, const void *from, size_t count, size_t *bad) {
    (void)bad;
    memcpy(to, from, 8 * count);
    return true;
}

/* Integers become int64_t. */
#define DEFINE_WIDENING(name, type)                                                                \
    static bool name(void *to, const void *from, size_t count, size_t *bad) {                      \
        (void)bad;                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                       \
            type narrow;                                                                           \
            memcpy(&narrow, (const unsigned char *)from + i * sizeof narrow, sizeof narrow);       \
            const int64_t wide = narrow;                                                           \
            memcpy((unsigned char *)to + i * sizeof wide, &wide, sizeof wide);                     \
        }                                                                                          \
        return true;                                                                               \
    }
/* numbers, not characters: NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
DEFINE_WIDENING(widen_int8, int8_t)
DEFINE_WIDENING(widen_int16, int16_t)
DEFINE_WIDENING(widen_int32, int32_t)
DEFINE_WIDENING(widen_uint16, uint16_t)
DEFINE_WIDENING(widen_uint32, uint32_t)
#undef DEFINE_WIDENING

static bool copy_uint64(void *to, const void *from, size_t count, size_t *bad) {
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        memcpy(&number, (const unsigned char *)from + i * sizeof number, sizeof number);
        if (number > INT64_MAX) {
            *bad = i;
            return false;
        }
    }
    memcpy(to, from, 8 * count);
    return true;
}

/* Sign, 5 bits of exponent (bias 15), 10 bits of fraction; all are exact in float32. */
static uint32_t float16_as_float32(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 0x1f;
    const uint32_t fraction = half & 0x3ff;
    uint32_t bits = fraction << 13;
    if (exponent == 0x1f) { /* infinity or NaN */
        bits |= 0x7f800000;
    } else if (exponent > 0) {
        bits |= (exponent + (127 - 15)) << 23;
    } else { /* zero or subnormal: fraction units of 2^-24 */
        const float small = (float)fraction * 0x1p-24f;
        memcpy(&bits, &small, sizeof bits);
    }
    return sign | bits;
}

/* The upper half of a float32. */
static uint32_t bfloat16_as_float32(uint16_t half) {
    return (uint32_t)half << 16;
}

#define DEFINE_HALF(name, as_float32)                                                              \
    static bool name(void *to, const void *from, size_t count, size_t *bad) {                      \
        (void)bad;                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint16_t half;                                                                         \
            memcpy(&half, (const unsigned char *)from + i * sizeof half, sizeof half);             \
            const uint32_t bits = as_float32(half);                                                \
            memcpy((unsigned char *)to + i * sizeof bits, &bits, sizeof bits);                     \
        }                                                                                          \
        return true;                                                                               \
    }
DEFINE_HALF(widen_float16, float16_as_float32)
DEFINE_HALF(widen_bfloat16, bfloat16_as_float32)
#undef DEFINE_HALF

const stored_dtype stored_dtypes[STORED_COUNT] = {
    {"bool", "b1", "BOOL", 1, MHA_BOOL, copy_bools},
    {"int8", "i1", "I8", 1, MHA_INT64, widen_int8},
    {"uint8", "u1", "U8", 1, MHA_UINT8, copy_bytes},
    {"int16", "i2", "I16", 2, MHA_INT64, widen_int16},
    {"uint16", "u2", "U16", 2, MHA_INT64, widen_uint16},
    {"int32", "i4", "I32", 4, MHA_INT64, widen_int32},
    {"uint32", "u4", "U32", 4, MHA_INT64, widen_uint32},
    {"int64", "i8", "I64", 8, MHA_INT64, copy_double_words},
    {"uint64", "u8", "U64", 8, MHA_INT64, copy_uint64},
    {"float16", "f2", "F16", 2, MHA_FLOAT32, widen_float16},
    {"bfloat16", NULL, "BF16", 2, MHA_FLOAT32, widen_bfloat16},
    {"float32", "f4", "F32", 4, MHA_FLOAT32, copy_words},
    {"float64", "f8", "F64", 8, MHA_FLOAT64, copy_double_words},
};
