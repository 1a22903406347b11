/* Every dtype of a file in both byte orders, and every 16-bit float. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"
#include "io/stored.h"
#include "npy_cases.h"
#include "npz_maker.h"

/* Numbers in a big-endian file, and what they are. */
static const struct {
    const char *descr, *name;
    size_t bytes;
    const char *data; /* two numbers */
    mha_dtype dtype;
    double expected[2];
} examples[] = {
    {"b1", "bool", 1, "\1\0", MHA_BOOL, {1, 0}},
    {"u1", "uint8", 1, "\x80\xff", MHA_UINT8, {128, 255}},
    {"i1", "int8", 1, "\x80\x7f", MHA_INT64, {-128, 127}},
    {"u2", "uint16", 2, "\x01\x02\xff\xfe", MHA_INT64, {258, 65534}},
    {"i2", "int16", 2, "\x01\x02\xff\xfe", MHA_INT64, {258, -2}},
    {"u4", "uint32", 4, "\0\1\0\2\xff\xff\xff\xfe", MHA_INT64, {65538, 4294967294}},
    {"i4", "int32", 4, "\0\1\0\2\xff\xff\xff\xfe", MHA_INT64, {65538, -2}},
    {"u8", "uint64", 8, "\0\0\1\0\0\0\0\2\x40\0\0\0\0\0\0\0", MHA_INT64, {1099511627778, 0x1p62}},
    {"i8", "int64", 8, "\0\0\1\0\0\0\0\2\xff\xff\xff\xff\xff\xff\xff\xfe", MHA_INT64,
        {1099511627778, -2}},
    {"f2", "float16", 2, "\x3c\x01\xc0\0", MHA_FLOAT32, {1 + 0x1p-10, -2}},
    {"f4", "float32", 4, "\x3f\x80\0\1\xc0\0\0\0", MHA_FLOAT32, {1 + 0x1p-23, -2}},
    {"f8", "float64", 8, "\x3f\xf0\0\0\0\0\0\1\xc0\0\0\0\0\0\0\0", MHA_FLOAT64, {1 + 0x1p-52, -2}},
};

/* The two numbers PAIRS times, as a file in that byte order has them: more than is read at a time. */
enum { PAIRS = 20000 };

static void make_example(size_t index, bool big_endian) {
    static unsigned char data[16 * PAIRS];
    const size_t bytes = examples[index].bytes;
    for (size_t i = 0; i < 2 * PAIRS * bytes; i++) {
        const size_t number = i / bytes % 2, byte = i % bytes;
        data[i] = (unsigned char)examples[index]
                      .data[number * bytes + (big_endian ? byte : bytes - 1 - byte)];
    }
    char text[128];
    snprintf(text, sizeof text, NPY_HEADER("'%c%s'", "(%d, 2)"), big_endian ? '>' : '<',
        examples[index].descr, (int)PAIRS);
    make_npy_of(1, text, data, 2 * PAIRS * bytes);
}

START_TEST(numbers_are_converted) {
    const size_t index = (size_t)_i / 2;
    make_example(index, _i % 2 == 1);
    mha_arrays *arrays = npy_read_made();
    const mha_array *array = mha_arrays_at(arrays, 0);
    ck_assert_int_eq(array->dtype, examples[index].dtype);
    ck_assert_str_eq(array->stored, examples[index].name);
    ck_assert_uint_eq(mha_array_count(array), 2 * PAIRS);
    ck_assert_uint_eq((uintptr_t)array->data % 8, 0);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        const double number = number_of(array, i), expected = examples[index].expected[i % 2];
        if (number != expected) {
            ck_abort_msg(
                "number %zu of %s is %.17g, not %.17g", i, array->stored, number, expected);
        }
    }
    mha_arrays_free(arrays);
}
END_TEST

/* ---- all 16-bit floats ---- */

enum { HALVES = 1 << 16 };

/* A byte_source: the numbers 0 to 65535 of two bytes each, low byte first. */
static mha_status read_halves(void *self, void *bytes, size_t size, mha_error *error) {
    size_t *at = self;
    (void)error;
    for (size_t i = 0; i < size; i++, ++*at) {
        ((unsigned char *)bytes)[i] = (unsigned char)(*at % 2 == 0 ? *at / 2 & 0xff : *at / 512);
    }
    return MHA_OK;
}

/* The 16-bit float with that many bits of fraction whose bits are half; a NaN for all of them. */
static double half_value(uint32_t half, int fraction_bits) {
    const int exponent_bits = 15 - fraction_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = (int)(half & ((1u << fraction_bits) - 1));
    const int exponent = (int)(half >> fraction_bits & ((1u << exponent_bits) - 1));
    double value = 0.0;
    if (exponent == (1 << exponent_bits) - 1) {
        value = fraction == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp(fraction, 1 - bias - fraction_bits);
    } else {
        value = ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
    }
    return half >> 15 ? -value : value;
}

static void assert_half(uint32_t half, float read, int fraction_bits) {
    uint32_t bits;
    memcpy(&bits, &read, sizeof bits);
    const double expected = half_value(half, fraction_bits);
    bool right = bits >> 31 == half >> 15;
    if (isnan(expected)) { /* the payload stands in the upper bits of the fraction */
        const uint32_t fraction = (half & ((1u << fraction_bits) - 1)) << (23 - fraction_bits);
        right = right && (bits & 0x7fffffff) == (0x7f800000 | fraction);
    } else {
        right = right && (double)read == expected;
    }
    if (!right) {
        ck_abort_msg("%04x became %a (%08x), not %a", (unsigned)half, (double)read, (unsigned)bits,
            expected);
    }
}

static const stored_dtype *type_named(const char *name) {
    for (size_t i = 0; i < STORED_COUNT; i++) {
        if (strcmp(stored_dtypes[i].name, name) == 0) {
            return &stored_dtypes[i];
        }
    }
    ck_abort_msg("no dtype %s", name);
    return NULL;
}

static void assert_halves(const char *name, int fraction_bits) {
    size_t at = 0;
    mha_error error = {0};
    mha_array array = {.rank = 1, .dims = {HALVES}};
    const stored_layout layout = {.type = type_named(name)};
    byte_source source = {.read = read_halves, .self = &at, .left = 2 * HALVES};
    mha_status status = stored_read(&array, &layout, &source, 0, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(source.left, 0);
    ck_assert_int_eq(array.dtype, MHA_FLOAT32);
    for (uint32_t half = 0; half < HALVES; half++) {
        assert_half(half, ((const float *)array.data)[half], fraction_bits);
    }
    free((void *)(uintptr_t)array.data);
}

START_TEST(every_float16_is_exact) {
    assert_halves("float16", 10);
}
END_TEST

START_TEST(every_bfloat16_is_exact) {
    assert_halves("bfloat16", 7);
}
END_TEST

/* Names of both formats are there once, and bfloat16 alone has none in .npy files. */
START_TEST(the_table_is_whole) {
    for (size_t i = 0; i < STORED_COUNT; i++) { /* the .npz reader counts on it */
        ck_assert_uint_le(stored_dtypes[i].bytes, mha_dtype_bytes(stored_dtypes[i].dtype));
    }
    for (size_t i = 0; i < STORED_COUNT; i++) {
        const stored_dtype *type = &stored_dtypes[i];
        const char *npy = type->npy;
        ck_assert_int_eq(npy == NULL, strcmp(type->name, "bfloat16") == 0);
        ck_assert(npy == NULL || (size_t)(npy[1] - '0') == type->bytes);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(stored_dtypes[j].safetensors, type->safetensors);
            ck_assert(npy == NULL || stored_dtypes[j].npy == NULL ||
                      strcmp(stored_dtypes[j].npy, npy) != 0);
        }
    }
}
END_TEST

TCase *npy_convert_case(void) {
    TCase *tests = tcase_create("conversion");
    const int count = (int)(sizeof examples / sizeof *examples);
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_loop_test(tests, numbers_are_converted, 0, 2 * count);
    tcase_add_test(tests, every_float16_is_exact);
    tcase_add_test(tests, every_bfloat16_is_exact);
    tcase_add_test(tests, the_table_is_whole);
    return tests;
}
