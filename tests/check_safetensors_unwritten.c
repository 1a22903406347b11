/* Arrays that cannot be written leave no .safetensors file, and what was there. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "child.h"
#include "folder.h"
#include "safetensors_cases.h"
#include "safetensors_maker.h"

static const double one[] = {1};
static const mha_array scalar = {.name = "x", .dtype = MHA_FLOAT64, .data = one};

static void assert_not_written(const mha_array *arrays, size_t count, const mha_metadata *metadata,
    size_t metadata_count, mha_status expected, const char *words) {
    mha_error error = {0};
    mha_status status = mha_safetensors_write(
        folder_path("a.safetensors"), arrays, count, metadata, metadata_count, &error);
    ck_assert_int_eq(status, expected);
    ck_assert_int_eq(error.status, expected);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    ck_assert_uint_eq(folder_count(), 0);
}

START_TEST(unusable_arrays_are_not_written) {
    mha_array pair[2] = {scalar, scalar};
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "two have the name x");
    pair[1].dtype = MHA_BOOL;
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "two have the name x");
    pair[1].name = NULL;
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "array 1 has no name");
    pair[1].name = "__metadata__";
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "__metadata__ cannot be the name");
    static const char *const names[] = {"\xff\xfe", "\xc0\x80", "\xed\xa0\x80", "a\xc3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pair[1].name = names[i];
        assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "is not UTF-8");
    }
    pair[1].name = "y";
    pair[1].data = NULL;
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "array y has no data");
    pair[1].rank = 9;
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "array y has 9 axes, more than 8");
    pair[1].rank = 0;
    pair[1].dtype = MHA_DTYPE_COUNT;
    assert_not_written(pair, 2, NULL, 0, MHA_ERROR_ARGUMENT, "array y has the unknown dtype 5");
}
END_TEST

START_TEST(unusable_sizes_are_not_written) {
    mha_array huge[2] = {scalar, scalar};
    huge[0].rank = 3;
    huge[0].dims[0] = 0;
    huge[0].dims[1] = SIZE_MAX / 8;
    huge[0].dims[2] = 2;
    assert_not_written(
        huge, 1, NULL, 0, MHA_ERROR_SIZE, "array x of shape (0, 2305843009213693951");
    huge[0].rank = 2;
    huge[0].dims[1] = SIZE_MAX / 8;
    assert_not_written(huge, 1, NULL, 0, MHA_ERROR_SIZE,
        "(0, 2305843009213693951) has 0 bytes, but without its axes of length 0 it would have "
        "more");
    huge[0].rank = 1;
    huge[0].dims[0] = PTRDIFF_MAX / 8;
    huge[1] = huge[0];
    huge[1].name = "y";
    assert_not_written(
        huge, 2, NULL, 0, MHA_ERROR_SIZE, "2 arrays have more than 9223372036854775807");
}
END_TEST

START_TEST(unusable_metadata_are_not_written) {
    mha_metadata pair[2] = {{"a", "b"}, {"a", "c"}};
    assert_not_written(&scalar, 1, pair, 2, MHA_ERROR_ARGUMENT, "two have the metadata key a");
    pair[1].key = NULL;
    assert_not_written(&scalar, 1, pair, 2, MHA_ERROR_ARGUMENT, "metadata 1 of 2 has no key");
    pair[1] = (mha_metadata){"b", NULL};
    assert_not_written(&scalar, 1, pair, 2, MHA_ERROR_ARGUMENT, "metadata 1 of 2 has no value");
    pair[1].value = "\xff";
    assert_not_written(&scalar, 1, pair, 2, MHA_ERROR_ARGUMENT, "metadata value ");
    pair[1] = (mha_metadata){"\xff", "b"};
    assert_not_written(&scalar, 1, pair, 2, MHA_ERROR_ARGUMENT, "metadata key ");
}
END_TEST

/* What is written can be read: both have one limit. */
START_TEST(headers_have_one_limit) {
    enum { MOST = 400000 };
    const size_t others = strlen("{" ENTRY("", "F64", "[]", "[0,8]") "}");
    char *name = malloc(MOST + 1);
    ck_assert_ptr_nonnull(name);
    memset(name, 'n', MOST);
    mha_array array = scalar;
    array.name = name;
    name[MOST - others + 1] = '\0';
    assert_not_written(
        &array, 1, NULL, 0, MHA_ERROR_SIZE, "a header of 400001 bytes is longer than 400000");
    name[MOST - others] = '\0';
    ck_assert_int_eq(
        mha_safetensors_write(folder_path("a.safetensors"), &array, 1, NULL, 0, NULL), MHA_OK);
    mha_arrays *arrays = safetensors_read();
    ck_assert_pstr_eq(mha_arrays_at(arrays, 0)->name, name);
    mha_arrays_free(arrays);
    free(name);
}
END_TEST

/* 0 when writing 4 KB fails for want of space. */
static int write_beyond_the_limit(const void *unused) {
    (void)unused;
    static const double zeros[512];
    const mha_array array = {
        .name = "x", .dtype = MHA_FLOAT64, .rank = 1, .dims = {512}, .data = zeros};
    mha_error error = {0};
    limit_file_size(1000);
    mha_status status =
        mha_safetensors_write(folder_path("a.safetensors"), &array, 1, NULL, 0, &error);
    return status != MHA_ERROR_FILE || strstr(error.text, "a.safetensors: File too large") == NULL;
}

START_TEST(a_full_disk_leaves_what_was_there) {
    for (int old = 0; old <= 1; old++) {
        if (old) {
            folder_write("a.safetensors", "old", 3);
        }
        ck_assert_int_eq(status_of_child(write_beyond_the_limit, NULL), 0);
        ck_assert_uint_eq(folder_count(), (size_t)old);
    }
    ck_assert(folder_holds("a.safetensors", "old", 3));
    mha_error error = {0};
    ck_assert_int_eq(
        mha_safetensors_write("/dev/full", &scalar, 1, NULL, 0, &error), MHA_ERROR_FILE);
    ck_assert_str_eq(error.text, "cannot write /dev/full: it is not a regular file");
}
END_TEST

TCase *safetensors_unwritten_case(void) {
    TCase *unwritten = tcase_create("unwritten");
    tcase_add_checked_fixture(unwritten, folder_make, folder_remove);
    tcase_add_test(unwritten, unusable_arrays_are_not_written);
    tcase_add_test(unwritten, unusable_sizes_are_not_written);
    tcase_add_test(unwritten, unusable_metadata_are_not_written);
    tcase_add_test(unwritten, headers_have_one_limit);
    tcase_add_test(unwritten, a_full_disk_leaves_what_was_there);
    return unwritten;
}
