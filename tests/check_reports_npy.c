/* Faults that users of other readers of .npy and .npz files have met. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mha/io.h>

#include "folder.h"
#include "io/npy.h"
#include "npz_cases.h"
#include "npz_maker.h"

Suite *reports_npy_suite(void);

static void assert_floats(const mha_array *array, const float *expected, size_t count) {
    ck_assert_int_eq(array->dtype, MHA_FLOAT32);
    ck_assert_uint_eq(mha_array_count(array), count);
    for (size_t i = 0; i < count; i++) {
        const float number = ((const float *)array->data)[i];
        ck_assert_msg(number == expected[i], "number %zu is %g, not %g", i, (double)number,
            (double)expected[i]);
    }
}

static void assert_made_floats(const float *expected, size_t count) {
    mha_arrays *arrays = npy_read_made();
    assert_floats(mha_arrays_at(arrays, 0), expected, count);
    mha_arrays_free(arrays);
}

/* ---- column-major arrays read as row-major ---- */

START_TEST(a_fortran_matrix_is_read_by_rows) {
    static const float columns[6] = {1, 4, 2, 5, 3, 6}, rows[6] = {1, 2, 3, 4, 5, 6};
    make_npy_of(1, NPY_FORTRAN("'<f4'", "(2, 3)"), columns, sizeof columns);
    assert_made_floats(rows, 6);
    make_npy_of(1, NPY_FLOATS("(2, 3)"), rows, sizeof rows);
    assert_made_floats(rows, 6);
    make_npy_of(1, NPY_FORTRAN("'<f4'", "(6,)"), rows, sizeof rows);
    assert_made_floats(rows, 6);
}
END_TEST

/* x[b][t][i] = 100 b + 10 t + i of shape (2,3,2), as the first axis runs fastest. */
START_TEST(a_fortran_stream_is_read_by_rows) {
    static const float columns[12] = {0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
    static const float rows[12] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
    make_npy_of(1, NPY_FORTRAN("'<f4'", "(2, 3, 2)"), columns, sizeof columns);
    assert_made_floats(rows, 12);
}
END_TEST

/* ---- header variants ---- */

static const struct {
    unsigned major;
    const char *text;
    size_t count, rank;
    const char *words; /* of the refusal; NULL when it is read */
} headers[] = {
    {1, NPY_FLOATS("(3,)"), 3, 1, NULL},
    {2, NPY_FLOATS("(3,)"), 3, 1, NULL},
    {3, NPY_FLOATS("(3,)"), 3, 1, NULL},
    {4, NPY_FLOATS("(3,)"), 3, 1, "version 4.0 is not 1.0, 2.0 or 3.0"},
    {1, NPY_FLOATS("()"), 1, 0, NULL},
    {1, NPY_FLOATS("(3, 4)"), 12, 2, NULL},
    {1, NPY_FLOATS("(2,0)"), 0, 2, NULL},
    {1, "{'shape': (3,), 'fortran_order': False, 'descr': '<f4', }\n", 3, 1, NULL},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}\n", 3, 1, NULL},
    {1, "{  'descr' :  '<f4',  'fortran_order':   False, 'shape': ( 3 , ) ,  }   \n", 3, 1, NULL},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 0, }\n", 3, 1,
        "unknown key 'x'"},
    {1, "{'descr': '<f4', 'fortran_order': False, }\n", 3, 1, "has no 'shape'"},
    {1, "{'descr': '<f4', 'shape': (3,), }\n", 3, 1, "has no 'fortran_order'"},
    {1, "{'fortran_order': False, 'shape': (3,), }\n", 3, 1, "has no 'descr'"},
    {1, "{'descr': '<f4}', 'fortran_order': False, 'shape': (3,), }\n", 3, 1, "dtype '<f4}'"},
};

START_TEST(header_variants_are_read) {
    make_npy(headers[_i].major, headers[_i].text, 4 * headers[_i].count);
    if (headers[_i].words != NULL) {
        npy_assert_made_refused(headers[_i].words);
        return;
    }
    mha_arrays *arrays = npy_read_made();
    ck_assert_uint_eq(mha_arrays_at(arrays, 0)->rank, headers[_i].rank);
    ck_assert_uint_eq(mha_array_count(mha_arrays_at(arrays, 0)), headers[_i].count);
    mha_arrays_free(arrays);
}
END_TEST

/* 300 characters, so that the data do not start at a multiple of 64. */
START_TEST(long_headers_are_read) {
    static const float numbers[2] = {1, 2};
    char text[301];
    memset(text, ' ', 300);
    memcpy(text, NPY_FLOATS("(2,)"), strlen(NPY_FLOATS("(2,)")) - 1);
    text[299] = '\n';
    text[300] = '\0';
    make_npy_of(1, text, numbers, sizeof numbers);
    assert_made_floats(numbers, 2);
}
END_TEST

START_TEST(written_headers_are_of_version_1_and_aligned) {
    static const float number = 1;
    mha_array array = {.dtype = MHA_FLOAT32, .data = &number, .dims = {1, 1, 1, 1, 1, 1, 1, 1}};
    for (array.rank = 0; array.rank <= MHA_ARRAY_RANK; array.rank++) {
        size_t size = 0;
        ck_assert_int_eq(mha_npy_write(folder_path("b.npy"), &array, NULL), MHA_OK);
        unsigned char *bytes = folder_read(&size, "b.npy");
        ck_assert_uint_eq((size - 4) % 64, 0);
        ck_assert_mem_eq(bytes, "\x93NUMPY\1\0", 8);
        ck_assert_uint_eq((size_t)bytes[8] + 256u * bytes[9] + 10, size - 4);
        ck_assert_int_eq(bytes[size - 5], '\n');
        free(bytes);
    }
}
END_TEST

/* ---- byte order and dtypes ---- */

START_TEST(floats_keep_their_value_in_either_byte_order) {
    static const float expected[2] = {1, 2};
    make_npy_of(1, NPY_HEADER("'>f4'", "(2,)"), "\x3f\x80\0\0\x40\0\0\0", 8);
    assert_made_floats(expected, 2);
    make_npy_of(1, NPY_HEADER("'<f2'", "(2,)"), "\0\x3c\0\x40", 4);
    assert_made_floats(expected, 2);
    static const char *const unmarked[] = {
        NPY_HEADER("'=f4'", "(2,)"), NPY_HEADER("'f4'", "(2,)"), NPY_HEADER("'|f4'", "(2,)")};
    for (size_t i = 0; i < 3; i++) { /* the machine's, as in NumPy */
        make_npy_of(1, unmarked[i], expected, 8);
        assert_made_floats(expected, 2);
    }
}
END_TEST

START_TEST(other_dtypes_keep_their_value) {
    static const double doubles[2] = {1, 2};
    make_npy_of(1, NPY_HEADER("'<f8'", "(2,)"), doubles, sizeof doubles);
    mha_arrays *arrays = npy_read_made();
    ck_assert_int_eq(mha_arrays_at(arrays, 0)->dtype, MHA_FLOAT64);
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, doubles, sizeof doubles);
    mha_arrays_free(arrays);
    static const int64_t integers[2] = {1, 2};
    make_npy_of(1, NPY_HEADER("'<i4'", "(2,)"), "\1\0\0\0\2\0\0\0", 8);
    arrays = npy_read_made();
    ck_assert_int_eq(mha_arrays_at(arrays, 0)->dtype, MHA_INT64);
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, integers, sizeof integers);
    mha_arrays_free(arrays);
    static const char *const bools[] = {
        NPY_HEADER("'|b1'", "(2,)"), NPY_HEADER("'?'", "(2,)"), NPY_HEADER("'|?'", "(2,)")};
    for (size_t i = 0; i < 3; i++) {
        make_npy_of(1, bools[i], "\1\1", 2);
        arrays = npy_read_made();
        ck_assert_int_eq(mha_arrays_at(arrays, 0)->dtype, MHA_BOOL);
        ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, "\1\1", 2);
        mha_arrays_free(arrays);
    }
}
END_TEST

/* By name, and before anything behind the header is looked at: there is nothing. */
START_TEST(other_dtypes_are_refused) {
    static const char *const refused[][2] = {
        {NPY_HEADER("'<c8'", "(2,)"), "dtype '<c8' is not"},
        {NPY_HEADER("'|O'", "(2,)"), "dtype '|O' is not"},
        {NPY_HEADER("[('a', '<f4')]", "(2,)"), "dtype '[('a', '<f4')]"},
        {NPY_HEADER("'|S4'", "(2,)"), "dtype '|S4' is not"},
        {NPY_HEADER("'<f16'", "(2,)"), "dtype '<f16' is not"},
    };
    make_npy(1, refused[_i][0], 0);
    npy_assert_made_refused(refused[_i][1]);
}
END_TEST

/* ---- truncated or oversized files ---- */

START_TEST(wrong_lengths_are_refused) {
    static const size_t sizes[] = {32, 63, 65};
    char words[128];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_npy(1, NPY_FLOATS("(4, 4)"), sizes[i]);
        snprintf(words, sizeof words,
            "shape (4, 4) of float32 needs 64 bytes of data, not the %zu that are there", sizes[i]);
        npy_assert_made_refused(words);
    }
}
END_TEST

START_TEST(cut_headers_are_refused) {
    make_npy(1, NPY_FLOATS("(4, 4)"), 64);
    char words[128];
    const size_t header = made_npy.size - 64;
    for (size_t size = 1; size < header; size++) {
        const size_t needed = size < 8 ? 8 : size < 10 ? 10 : header;
        made_npy.size = size;
        snprintf(words, sizeof words, "%zu bytes are too few for a .npy header of at least %zu",
            size, needed);
        npy_assert_made_refused(words);
    }
    made_npy.size = 0;
    folder_write("a.npy", "", 0);
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("a.npy"), 0, &error), MHA_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "a.npy is empty: it has 0 bytes"));
}
END_TEST

START_TEST(what_is_no_file_is_refused) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("x.npy"), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "x.npy: No such file or directory"));
    ck_assert_int_eq(mkfifo(folder_path("x.npy"), 0600), 0);
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path("x.npy"), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "x.npy: it is not a regular file"));
    ck_assert_int_eq(mha_npy_read(&arrays, folder_path(""), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder"));
    ck_assert_ptr_null(arrays);
}
END_TEST

/* The file was whole when it was opened. */
START_TEST(files_that_shrink_are_refused) {
    make_npy(1, NPY_FLOATS("(100000,)"), 400000);
    folder_write("a.npy", made_npy.at, made_npy.size);
    const off_t shorter = (off_t)made_npy.size - 1000;
    input_file file;
    mha_error error = {0};
    mha_array array = {0};
    ck_assert_int_eq(file_open(&file, folder_path("a.npy"), &error), MHA_OK);
    ck_assert_int_eq(truncate(folder_path("a.npy"), shorter), 0);
    byte_source source = {.read = file_read, .self = &file, .left = file.size};
    ck_assert_int_eq(npy_take(&array, &source, 0, &error), MHA_ERROR_FORMAT);
    ck_assert_ptr_null(array.data);
    file_close(&file);
    char words[128];
    snprintf(words, sizeof words, "the file ends after %lld bytes, not %zu", (long long)shorter,
        made_npy.size);
    ck_assert_str_eq(error.text, words);
}
END_TEST

Suite *reports_npy_suite(void) {
    Suite *suite = suite_create("reports npy");
    TCase *tests = tcase_create("files");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_test(tests, a_fortran_matrix_is_read_by_rows);
    tcase_add_test(tests, a_fortran_stream_is_read_by_rows);
    tcase_add_loop_test(
        tests, header_variants_are_read, 0, (int)(sizeof headers / sizeof *headers));
    tcase_add_test(tests, long_headers_are_read);
    tcase_add_test(tests, written_headers_are_of_version_1_and_aligned);
    tcase_add_test(tests, floats_keep_their_value_in_either_byte_order);
    tcase_add_test(tests, other_dtypes_keep_their_value);
    tcase_add_loop_test(tests, other_dtypes_are_refused, 0, 5);
    tcase_add_test(tests, wrong_lengths_are_refused);
    tcase_add_test(tests, cut_headers_are_refused);
    tcase_add_test(tests, what_is_no_file_is_refused);
    tcase_add_test(tests, files_that_shrink_are_refused);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, reports_npz_case());
    return suite;
}
