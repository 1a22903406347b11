/* Limits of .npz files: their directories, which writer and reader bound alike, and memory. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"
#include "npz_cases.h"
#include "npz_maker.h"

/* Names as long as they get make a directory that is too long with few members. */
START_TEST(the_directory_is_bounded) {
    enum { COUNT = 40, LENGTH = 30000 };
    static char text[COUNT][LENGTH + 1];
    static const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        memset(text[i], 'n', LENGTH);
        text[i][0] = (char)('!' + i);
        names[i] = text[i];
    }
    made_npy.size = 0;
    make_zip(names, 8);
    mha_arrays *npz = npz_read_made(); /* names that do not end in .npy */
    ck_assert_uint_eq(mha_arrays_count(npz), 0);
    ck_assert_uint_eq(mha_arrays_skipped_count(npz), 8);
    mha_arrays_free(npz);
    make_zip(names, COUNT);
    npz_assert_zip_refused("its zip directory and local headers have more than 2097152 bytes");
}
END_TEST

/* What is written can be read: both have one limit. */
START_TEST(writer_and_reader_have_one_limit) {
    enum { MOST = 4096, LENGTH = 400000 / MOST };
    static char names[MOST + 1][LENGTH + 1];
    static mha_array arrays[MOST + 1];
    static const double number = 1.5;
    for (size_t i = 0; i <= MOST; i++) {
        snprintf(names[i], sizeof names[i], "%0*zu", (int)LENGTH, i);
        arrays[i] = (mha_array){.name = names[i], .dtype = MHA_FLOAT64, .data = &number};
    }
    mha_error error;
    ck_assert_int_eq(mha_npz_write(folder_path("b.npz"), arrays, MOST, NULL), MHA_OK);
    mha_arrays *npz = NULL;
    ck_assert_msg(mha_npz_read(&npz, folder_path("b.npz"), 0, &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(mha_arrays_count(npz), MOST);
    mha_arrays_free(npz);
    ck_assert_int_eq(mha_npz_write(folder_path("b.npz"), arrays, MOST + 1, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text, "b.npz: 4097 arrays are more than 4096"));
    static char long_names[401][1001];
    for (size_t i = 0; i < 401; i++) {
        snprintf(long_names[i], sizeof long_names[i], "%01000zu", i);
        arrays[i].name = long_names[i];
    }
    ck_assert_int_eq(mha_npz_write(folder_path("b.npz"), arrays, 400, NULL), MHA_OK);
    ck_assert_int_eq(mha_npz_read(&npz, folder_path("b.npz"), 0, NULL), MHA_OK);
    mha_arrays_free(npz);
    ck_assert_int_eq(mha_npz_write(folder_path("b.npz"), arrays, 401, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text, "the names have 401000 bytes, more than 400000"));
}
END_TEST

/* Behind the longest header, as much as is allowed in memory. */
START_TEST(claims_within_max_bytes_are_read) {
    enum { TEXT = 10000 };
    static char text[TEXT + 1];
    static const char *const name[] = {"x.npy"};
    const size_t length = strlen(NPY_HEADER("'<f8'", "(1,)"));
    memset(text, ' ', TEXT);
    memcpy(text, NPY_HEADER("'<f8'", "(1,)"), length);
    make_npy(2, text, 8);
    make_zip(name, 1);
    folder_write("a.npz", made_zip.at, made_zip.size);
    mha_arrays *npz = NULL;
    ck_assert_int_eq(mha_npz_read(&npz, folder_path("a.npz"), 8, NULL), MHA_OK);
    mha_arrays_free(npz);
    mha_error error = {0};
    ck_assert_int_eq(mha_npz_read(&npz, folder_path("a.npz"), 7, &error), MHA_ERROR_SIZE);
    ck_assert_ptr_nonnull(strstr(error.text, "it claims 10020 bytes, more than a header of 10012"));
}
END_TEST

TCase *npz_limit_case(void) {
    TCase *limits = tcase_create("limits");
    tcase_add_checked_fixture(limits, folder_make, folder_remove);
    tcase_add_test(limits, the_directory_is_bounded);
    tcase_add_test(limits, writer_and_reader_have_one_limit);
    tcase_add_test(limits, claims_within_max_bytes_are_read);
    return limits;
}
