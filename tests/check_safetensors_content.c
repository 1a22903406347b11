/* What .safetensors files may hold, and files whose kind the first bytes tell. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"
#include "safetensors_cases.h"
#include "safetensors_maker.h"

/* Two numbers of a dtype, as bytes of the file and as they are in memory. */
static const struct {
    const char *header, *stored;
    const char *bytes;
    size_t size;
    mha_dtype dtype;
    double numbers[2];
} pairs[] = {
    {"{" ENTRY("x", "BOOL", "[2]", "[0,2]") "}", "bool", "\0\1", 2, MHA_BOOL, {0, 1}},
    {"{" ENTRY("x", "U8", "[2]", "[0,2]") "}", "uint8", "\0\xff", 2, MHA_UINT8, {0, 255}},
    {"{" ENTRY("x", "I8", "[2]", "[0,2]") "}", "int8", "\x80\x7f", 2, MHA_INT64, {-128, 127}},
    {"{" ENTRY("x", "I16", "[2]", "[0,4]") "}", "int16", "\xff\xff\1\2", 4, MHA_INT64, {-1, 513}},
    {"{" ENTRY("x", "U16", "[2]", "[0,4]") "}", "uint16", "\xff\xff\1\2", 4, MHA_INT64,
        {65535, 513}},
    {"{" ENTRY("x", "I32", "[2]", "[0,8]") "}", "int32", "\xfe\xff\xff\xff\0\0\0\x80", 8, MHA_INT64,
        {-2, -2147483648.0}},
    {"{" ENTRY("x", "U32", "[2]", "[0,8]") "}", "uint32", "\xfe\xff\xff\xff\0\0\0\x80", 8,
        MHA_INT64, {4294967294.0, 2147483648.0}},
    {"{" ENTRY("x", "I64", "[2]", "[0,16]") "}", "int64",
        "\xfd\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\1\0\0", 16, MHA_INT64, {-3, 0x1p40}},
    {"{" ENTRY("x", "U64", "[2]", "[0,16]") "}", "uint64", "\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40", 16,
        MHA_INT64, {5, 0x1p62}},
    {"{" ENTRY("x", "F16", "[2]", "[0,4]") "}", "float16", "\1\0\0\xc1", 4, MHA_FLOAT32,
        {0x1p-24, -2.5}},
    {"{" ENTRY("x", "BF16", "[2]", "[0,4]") "}", "bfloat16", "\x80\x3f\x20\xc0", 4, MHA_FLOAT32,
        {1, -2.5}},
    {"{" ENTRY("x", "F32", "[2]", "[0,8]") "}", "float32", "\0\0\x80\x3f\0\0\x20\xc0", 8,
        MHA_FLOAT32, {1, -2.5}},
    {"{" ENTRY("x", "F64", "[2]", "[0,16]") "}", "float64",
        "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\4\xc0", 16, MHA_FLOAT64, {1, -2.5}},
};

START_TEST(every_dtype_is_read) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        safetensors_make(pairs[i].header, pairs[i].bytes, pairs[i].size);
        mha_arrays *arrays = safetensors_read();
        const mha_array *x = mha_arrays_find(arrays, "x");
        ck_assert_ptr_nonnull(x);
        ck_assert_str_eq(x->stored, pairs[i].stored);
        ck_assert_int_eq(x->dtype, pairs[i].dtype);
        ck_assert_uint_eq(x->rank, 1);
        ck_assert_uint_eq(x->dims[0], 2);
        ck_assert(number_of(x, 0) == pairs[i].numbers[0]);
        ck_assert(number_of(x, 1) == pairs[i].numbers[1]);
        mha_arrays_free(arrays);
    }
}
END_TEST

START_TEST(numbers_without_a_place_are_refused) {
    safetensors_make("{" ENTRY("x", "BOOL", "[2]", "[0,2]") "}", "\1\2", 2);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "tensor x: number 1 of the data is 2");
    safetensors_make("{" ENTRY("x", "U64", "[]", "[0,8]") "}", "\0\0\0\0\0\0\0\x80", 8);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "9223372036854775808");
}
END_TEST

/* Data in another order than the names, an empty tensor between them, and white space. */
START_TEST(any_order_is_read) {
    static const char *const names[] = {"c", "empty", "a", "b"};
    safetensors_make("{" ENTRY("c", "U8", "[2]", "[3,5]") " ,\n " ENTRY(
                         "empty", "F64", "[3,0]", "[3,3]") "," ENTRY("a", "U8", "[1,1,1]",
                         "[2,3]") "," ENTRY("b", "U8", "[2]", "[0,2]") "}   ",
        NULL, 5);
    mha_arrays *arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_count(arrays), 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(mha_arrays_at(arrays, i)->name, names[i]);
    }
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, "\3\4", 2);
    ck_assert_uint_eq(mha_array_count(mha_arrays_at(arrays, 1)), 0);
    ck_assert_mem_eq(mha_arrays_at(arrays, 2)->data, "\2", 1);
    ck_assert_mem_eq(mha_arrays_at(arrays, 3)->data, "\0\1", 2);
    mha_arrays_free(arrays);
}
END_TEST

START_TEST(metadata_alone_are_read) {
    safetensors_make("{\"__metadata__\":{\"format\":\"pt\",\"\\u00e4\":\"\\n\"}}", NULL, 0);
    mha_arrays *arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_count(arrays), 0);
    ck_assert_pstr_eq(mha_arrays_metadata(arrays, "format"), "pt");
    ck_assert_pstr_eq(mha_arrays_metadata(arrays, "\xc3\xa4"), "\n");
    ck_assert_ptr_null(mha_arrays_metadata(arrays, "missing"));
    ck_assert_uint_eq(mha_arrays_skipped_count(arrays), 0);
    mha_arrays_free(arrays);
    safetensors_make("{\"__metadata__\":null," ENTRY("x", "U8", "[1]", "[0,1]") "}", NULL, 1);
    arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_count(arrays), 1);
    ck_assert_ptr_null(mha_arrays_metadata(arrays, "format"));
    mha_arrays_free(arrays);
}
END_TEST

/* ---- files of any kind ---- */

static const float numbers[] = {1, 2, 3};
static const mha_array three = {
    .name = "x", .dtype = MHA_FLOAT32, .rank = 1, .dims = {3}, .data = numbers};

static void assert_three(const char *name, const char *array_name) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    mha_status status = mha_arrays_read(&arrays, folder_path(name), 0, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(mha_arrays_count(arrays), 1);
    const mha_array *x = mha_arrays_find(arrays, array_name);
    ck_assert_ptr_nonnull(x);
    ck_assert_mem_eq(x->data, numbers, sizeof numbers);
    mha_arrays_free(arrays);
    ck_assert_int_eq(mha_arrays_read(&arrays, folder_path(name), 11, NULL), MHA_ERROR_SIZE);
    ck_assert_ptr_null(arrays);
}

/* The path's ending chooses what is written, the first bytes what is read. */
START_TEST(files_of_all_kinds_are_told_apart) {
    static const mha_metadata metadata = {"layout", "lesson"};
    mha_error error = {0};
    ck_assert_int_eq(mha_arrays_write(folder_path("a.npz"), &three, 1, &metadata, 1, NULL), MHA_OK);
    ck_assert_int_eq(
        mha_arrays_write(folder_path("a.safetensors"), &three, 1, &metadata, 1, NULL), MHA_OK);
    ck_assert_int_eq(mha_npy_write(folder_path("a.npy"), &three, NULL), MHA_OK);
    ck_assert_int_eq(rename(folder_path("a.npz"), folder_path("zip.safetensors")), 0);
    ck_assert_int_eq(rename(folder_path("a.safetensors"), folder_path("tensors.npy")), 0);
    ck_assert_int_eq(rename(folder_path("a.npy"), folder_path("array")), 0);
    assert_three("zip.safetensors", "x");
    assert_three("tensors.npy", "x");
    assert_three("array", "");
    static const char *const unknown[] = {"a.npy", "a", "a.safetensors.txt", "a.NPZ", "npz"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert_int_eq(mha_arrays_write(folder_path(unknown[i]), &three, 1, NULL, 0, &error),
            MHA_ERROR_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(error.text, "ends in neither .npz nor .safetensors"));
    }
    ck_assert_uint_eq(folder_count(), 3);
}
END_TEST

static void assert_unreadable(const char *name, const void *bytes, size_t size, const char *words) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    folder_write(name, bytes, size);
    ck_assert_int_eq(mha_arrays_read(&arrays, folder_path(name), 0, &error), MHA_ERROR_FORMAT);
    ck_assert_ptr_null(arrays);
    ck_assert_msg(strstr(error.text, name) != NULL, "\"%s\" lacks the file", error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

START_TEST(files_of_no_kind_are_refused) {
    assert_unreadable(
        "a", "step\tloss\n", 10, "none begins with the bytes 73 74 65 70 09 6c 6f 73 73");
    assert_unreadable("a", "P", 1, "none begins with the bytes 50");
    assert_unreadable("a", "", 0, "is empty");
    assert_unreadable("a.npz", "step\tloss\n", 10, "not an .npz file");
    assert_unreadable("a.npy", "step\tloss\n", 10, ".npy");
    assert_unreadable(
        "a.safetensors", "\2\0\0\0\0\0\0\0[]", 10, "begins with byte 91, not with '{'");
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    ck_assert_int_eq(mha_arrays_read(&arrays, folder_path("none"), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "none: No such file or directory"));
    ck_assert_int_eq(mha_arrays_read(&arrays, folder_path(""), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder"));
}
END_TEST

TCase *safetensors_content_case(void) {
    TCase *content = tcase_create("content");
    tcase_add_checked_fixture(content, folder_make, folder_remove);
    tcase_add_test(content, every_dtype_is_read);
    tcase_add_test(content, numbers_without_a_place_are_refused);
    tcase_add_test(content, any_order_is_read);
    tcase_add_test(content, metadata_alone_are_read);
    tcase_add_test(content, files_of_all_kinds_are_told_apart);
    tcase_add_test(content, files_of_no_kind_are_refused);
    return content;
}
