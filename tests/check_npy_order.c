/* Fortran order, in which the first axis runs fastest, becomes C order. */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"
#include "npy_cases.h"
#include "npz_maker.h"

static const mha_array shapes[] = {
    {.rank = 0},
    {.rank = 1, .dims = {7}},
    {.rank = 2, .dims = {3, 5}},
    {.rank = 2, .dims = {1, 9}},
    {.rank = 2, .dims = {9, 1}},
    {.rank = 2, .dims = {0, 3}},
    {.rank = 2, .dims = {331, 257}},
    {.rank = 2, .dims = {2, 20011}},
    {.rank = 3, .dims = {20011, 1, 3}},
    {.rank = 3, .dims = {2, 3, 4}},
    {.rank = 3, .dims = {41, 43, 47}},
    {.rank = 4, .dims = {2, 150, 1, 160}},
    {.rank = 5, .dims = {3, 1, 5, 1, 2}},
    {.rank = 6, .dims = {5, 7, 6, 5, 4, 3}},
    {.rank = 8, .dims = {2, 2, 2, 2, 2, 2, 2, 2}},
    {.rank = 8, .dims = {1, 3, 5, 2, 1, 4, 7, 6}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Where the number that stands at `index` in C order stands in Fortran order. */
static size_t fortran_index(size_t index, const mha_array *array) {
    size_t stride = mha_array_count(array), result = 0;
    for (size_t axis = array->rank; axis-- > 0; index /= array->dims[axis]) {
        stride /= array->dims[axis];
        result += index % array->dims[axis] * stride;
    }
    return result;
}

/* A file whose number at place i of the file is the low bits of i. */
static void make_counting_file(const mha_array *shape, const char *descr, size_t bytes) {
    static unsigned char data[1 << 20];
    const size_t count = mha_array_count(shape);
    ck_assert_uint_le(count * bytes, sizeof data);
    for (size_t i = 0; i < count; i++) {
        for (size_t byte = 0; byte < bytes; byte++) {
            data[i * bytes + byte] = (unsigned char)((uint64_t)i >> 8 * byte & 0xff);
        }
    }
    char shape_text[MHA_SHAPE_TEXT_SIZE];
    char text[512];
    mha_array_shape_text(shape_text, shape);
    snprintf(text, sizeof text, NPY_FORTRAN("'%s'", "%s"), descr, shape_text);
    make_npy_of(1, text, data, count * bytes);
}

static uint64_t number_at(const mha_array *array, size_t i) {
    const size_t bytes = mha_dtype_bytes(array->dtype);
    const unsigned char *at = (const unsigned char *)array->data + i * bytes;
    uint64_t number = 0;
    for (size_t byte = bytes; byte-- > 0;) {
        number = number << 8 | at[byte];
    }
    return number;
}

/* As bytes, as floats (by their bits) and as integers that are widened on the way. */
START_TEST(arrays_are_transposed) {
    static const struct {
        const char *descr;
        size_t bytes;
        uint64_t mask;
    } kinds[] = {
        {"|u1", 1, 0xff}, {"<f4", 4, UINT64_MAX}, {"<u4", 4, UINT64_MAX}, {"<i8", 8, UINT64_MAX}};
    const mha_array *shape = &shapes[_i];
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        make_counting_file(shape, kinds[kind].descr, kinds[kind].bytes);
        mha_arrays *arrays = npy_read_made();
        const mha_array *array = mha_arrays_at(arrays, 0);
        ck_assert_uint_eq(array->rank, shape->rank);
        ck_assert_mem_eq(array->dims, shape->dims, sizeof shape->dims);
        for (size_t i = 0; i < mha_array_count(array); i++) {
            const uint64_t number = number_at(array, i);
            const uint64_t expected = fortran_index(i, shape) & kinds[kind].mask;
            if (number != expected) {
                ck_abort_msg("%s, number %zu is %llu, not %llu", kinds[kind].descr, i,
                    (unsigned long long)number, (unsigned long long)expected);
            }
        }
        mha_arrays_free(arrays);
    }
}
END_TEST

TCase *npy_order_case(void) {
    TCase *tests = tcase_create("order");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_loop_test(tests, arrays_are_transposed, 0, SHAPES);
    return tests;
}
