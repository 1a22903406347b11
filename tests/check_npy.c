/* .npy files: what is written, byte by byte, and what is read back. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"
#include "npy_cases.h"
#include "npz_maker.h"

Suite *npy_suite(void);

/* ---- writing ---- */

static const unsigned char bools[3] = {1, 0, 1};
static const unsigned char octets[2] = {7, 255};
static const int64_t integers[2] = {-2, INT64_C(1) << 40};
static const float floats[2] = {1.0f, -2.5f};
static const double doubles[1] = {0.1};

/* What numpy.save of NumPy 1.24.2 writes: the header is padded to 128 bytes. */
static const struct {
    mha_array array;
    const char *text;
    const unsigned char *data;
    size_t size;
} golden[] = {
    {{.dtype = MHA_BOOL, .rank = 1, .dims = {3}, .data = bools},
        "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
        (const unsigned char *)"\1\0\1", 3},
    {{.dtype = MHA_UINT8, .rank = 2, .dims = {1, 2}, .data = octets},
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }",
        (const unsigned char *)"\7\xff", 2},
    {{.dtype = MHA_INT64, .rank = 2, .dims = {2, 1}, .data = integers},
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }",
        (const unsigned char *)"\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\1\0\0", 16},
    {{.dtype = MHA_FLOAT32, .rank = 3, .dims = {1, 2, 1}, .data = floats},
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1), }",
        (const unsigned char *)"\0\0\x80\x3f\0\0\x20\xc0", 8},
    {{.dtype = MHA_FLOAT64, .rank = 0, .data = doubles},
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        (const unsigned char *)"\x9a\x99\x99\x99\x99\x99\xb9\x3f", 8},
    {{.dtype = MHA_FLOAT64, .rank = 2, .dims = {0, 3}, .data = NULL},
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", NULL, 0},
};

START_TEST(files_are_golden) {
    unsigned char expected[128 + 16] = "\x93NUMPY\1\0\x76";
    const size_t length = strlen(golden[_i].text);
    memset(expected + 10, ' ', 118);
    memcpy(expected + 10, golden[_i].text, length);
    expected[127] = '\n';
    if (golden[_i].size > 0) {
        memcpy(expected + 128, golden[_i].data, golden[_i].size);
    }
    mha_error error = {0};
    mha_status status = mha_npy_write(folder_path("b.npy"), &golden[_i].array, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert(folder_holds("b.npy", expected, 128 + golden[_i].size));
    ck_assert_uint_eq(folder_count(), 1);
}
END_TEST

START_TEST(written_files_are_read) {
    const mha_array *written = &golden[_i].array;
    mha_arrays *arrays = NULL;
    ck_assert_int_eq(mha_npy_write(folder_path("b.npy"), written, NULL), MHA_OK);
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("b.npy"), 0, NULL), MHA_OK);
    const mha_array *read = mha_arrays_find(arrays, "");
    ck_assert_ptr_eq(read, mha_arrays_at(arrays, 0));
    ck_assert_int_eq(read->dtype, written->dtype);
    ck_assert_uint_eq(read->rank, written->rank);
    ck_assert_mem_eq(read->dims, written->dims, sizeof read->dims);
    ck_assert_ptr_nonnull(read->data);
    ck_assert(golden[_i].size == 0 || memcmp(read->data, written->data, golden[_i].size) == 0);
    ck_assert_ptr_null(mha_arrays_metadata(arrays, ""));
    mha_arrays_free(arrays);
}
END_TEST

/* The longest header: 18 zeros beside the digits of the first axis, for which there is room. */
START_TEST(the_longest_header_fits) {
    mha_array array = {.dtype = MHA_UINT8,
        .rank = 8,
        .dims = {0, 10, 10, 10, 10, 10, 10, 9000000000000},
        .data = NULL};
    ck_assert_int_eq(mha_npy_write(folder_path("b.npy"), &array, NULL), MHA_OK);
    size_t size = 0;
    unsigned char *written = folder_read(&size, "b.npy");
    ck_assert_uint_eq(size, 128);
    ck_assert_mem_eq(written + 128 - 24, "}                      \n", 24);
    free(written);
    array.dims[1] = 100;
    ck_assert_int_eq(mha_npy_write(folder_path("b.npy"), &array, NULL), MHA_ERROR_SIZE);
}
END_TEST

START_TEST(unusable_arrays_are_not_written) {
    mha_error error = {0};
    mha_array array = {.dtype = MHA_FLOAT32, .rank = 1, .dims = {2}, .data = NULL};
    const char *path = folder_path("b.npy");
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "b.npy: the array has no data"));
    array.data = floats;
    array.rank = 9;
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "the array has 9 axes, more than 8"));
    array.rank = 1;
    array.dtype = MHA_DTYPE_COUNT;
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "the array has the unknown dtype 5"));
    array = (mha_array){.dtype = MHA_INT64, .rank = 2, .dims = {SIZE_MAX / 8, 2}, .data = integers};
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text, "of shape (2305843009213693951, 2) has more than"));
    array.dims[0] = 0;
    array.dims[1] = PTRDIFF_MAX / 8 + 1;
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text,
        "(0, 1152921504606846976) has 0 bytes, but without its axes of length 0 it would have more "
        "than 9223372036854775807 bytes"));
    array.dims[0] = 1; /* one byte more than an object may have */
    ck_assert_int_eq(mha_npy_write(path, &array, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text, "has more than 9223372036854775807 bytes"));
    ck_assert_uint_eq(folder_count(), 0);
    array = golden[0].array;
    ck_assert_int_eq(mha_npy_write(folder_path("no/b.npy"), &array, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "no/b.npy: No such file"));
}
END_TEST

/* ---- reading ---- */

START_TEST(memory_is_limited) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    make_npy(1, NPY_HEADER("'<i2'", "(5, 5)"), 50);
    mha_arrays_free(npy_read_made());
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("a.npy"), 200, &error), MHA_OK);
    mha_arrays_free(arrays);
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("a.npy"), 199, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_null(arrays);
    ck_assert_ptr_nonnull(strstr(error.text, "a.npy: shape (5, 5) of int16 needs 200 bytes of "
                                             "memory, more than the 199 allowed"));
    ck_assert_uint_gt(mha_max_bytes_default(), 1 << 20);
    ck_assert_uint_lt(mha_max_bytes_default(), (size_t)1 << 56);
}
END_TEST

static void assert_needs(const char *text, size_t data, size_t needed, const char *words) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    make_npy(1, text, data);
    folder_write("a.npy", made_npy.at, made_npy.size);
    const char *path = folder_path("a.npy");
    ck_assert_int_eq(mha_npy_read(&arrays, path, needed, &error), MHA_OK);
    mha_arrays_free(arrays);
    ck_assert_int_eq(mha_npy_read(&arrays, path, needed - 1, &error), MHA_ERROR_SIZE);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s", error.text);
}

/* An array that is transposed is there twice. */
START_TEST(the_order_of_fortran_counts_twice) {
    assert_needs(NPY_FORTRAN("'<i2'", "(5, 5)"), 50, 400,
        "needs 400 bytes of memory to be transposed, more than the 399 allowed");
    assert_needs(NPY_FORTRAN("'<i2'", "(25,)"), 50, 200, "needs 200 bytes of memory, more than");
    assert_needs(NPY_FORTRAN("'<i2'", "(1, 1)"), 2, 8, "needs 8 bytes of memory, more than");
}
END_TEST

/* What could not be written is not read either. */
START_TEST(axes_beside_a_0_are_bounded) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    make_npy(1, NPY_HEADER("'|i1'", "(0, 1152921504606846976)"), 0);
    folder_write("a.npy", made_npy.at, made_npy.size);
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("a.npy"), 0, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text,
        "the axes of shape (0, 1152921504606846976) of int8 need more than 9223372036854775807"));
    make_npy(1, NPY_HEADER("'|i1'", "(0, 1152921504606846975)"), 0);
    arrays = npy_read_made();
    ck_assert_int_eq(mha_npy_write(folder_path("b.npy"), mha_arrays_at(arrays, 0), NULL), MHA_OK);
    mha_arrays_free(arrays);
}
END_TEST

START_TEST(numbers_without_a_place_are_refused) {
    make_npy_of(1, NPY_HEADER("'|b1'", "(4,)"), "\1\0\2\1", 4);
    npy_assert_made_refused("number 2 of the data is 2, which bool cannot hold");
    make_npy_of(1, NPY_HEADER("'>u8'", "(2,)"), "\0\0\0\0\0\0\0\1\x80\0\0\0\0\0\0\0", 16);
    npy_assert_made_refused("number 1 of the data is 9223372036854775808, which int64 cannot hold");
    made_npy.at[made_npy.size - 8] = 0x7f;
    mha_arrays_free(npy_read_made());
}
END_TEST

/* The names of dtypes, and shapes as messages show them. */
START_TEST(names_and_shapes_are_texts) {
    static const char *const names[] = {"bool", "uint8", "int64", "float32", "float64", "unknown"};
    static const size_t sizes[] = {1, 1, 8, 4, 8, 0};
    for (mha_dtype dtype = 0; dtype <= MHA_DTYPE_COUNT; dtype++) {
        ck_assert_str_eq(mha_dtype_name(dtype), names[dtype]);
        ck_assert_uint_eq(mha_dtype_bytes(dtype), sizes[dtype]);
    }
    char text[MHA_SHAPE_TEXT_SIZE];
    mha_array array = {.rank = 0, .dims = {3, 4}};
    ck_assert_str_eq(mha_array_shape_text(text, &array), "()");
    array.rank = 1;
    ck_assert_str_eq(mha_array_shape_text(text, &array), "(3,)");
    array.rank = 2;
    ck_assert_str_eq(mha_array_shape_text(text, &array), "(3, 4)");
    array.rank = 8;
    memset(array.dims, 0xff, sizeof array.dims);
    ck_assert_uint_eq(strlen(mha_array_shape_text(text, &array)), 8 * 20 + 7 * 2 + 2);
}
END_TEST

Suite *npy_suite(void) {
    Suite *suite = suite_create("npy");
    TCase *files = tcase_create("files");
    const int count = (int)(sizeof golden / sizeof *golden);
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_loop_test(files, files_are_golden, 0, count);
    tcase_add_loop_test(files, written_files_are_read, 0, count);
    tcase_add_test(files, the_longest_header_fits);
    tcase_add_test(files, unusable_arrays_are_not_written);
    tcase_add_test(files, memory_is_limited);
    tcase_add_test(files, the_order_of_fortran_counts_twice);
    tcase_add_test(files, axes_beside_a_0_are_bounded);
    tcase_add_test(files, numbers_without_a_place_are_refused);
    tcase_add_test(files, names_and_shapes_are_texts);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, npy_convert_case());
    suite_add_tcase(suite, npy_order_case());
    suite_add_tcase(suite, npy_cost_case());
    return suite;
}
