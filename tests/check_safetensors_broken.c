/* Broken .safetensors files are refused in one line that names file and tensor, and crash nothing. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mha/io.h>

#include "folder.h"
#include "safetensors_cases.h"
#include "safetensors_maker.h"

#define assert_refused safetensors_assert_header_refused

/* The header of one tensor x whose entry is this text. */
#define OF_X(entry) "{\"x\":" entry "}"

START_TEST(headers_that_are_no_json_are_refused) {
    assert_refused("{", 0, "byte 1 of 1");
    assert_refused("{}x", 0, "byte 3 of 3: end of file expected");
    assert_refused("{}{}", 0, "end of file expected");
    assert_refused(" {}", 0, "begins with byte 32, not with '{'");
    assert_refused("{\"x\":\"\xff\"}", 0, "unable to decode byte 0xff");
    assert_refused("{\"\\u0000\":{}}", 0, "not usable");
    assert_refused("{\"\\ud800\":{}}", 0, "not usable");
    assert_refused("{\"x\":1e999}", 0, "not usable");
    assert_refused("{\"x\":[0,99999999999999999999]}", 0, "too big integer");
    assert_refused("{'x':{}}", 0, "not usable");
    assert_refused("{" ENTRY("x", "U8", "[]", "[0,1]") "," ENTRY("x", "U8", "[]", "[1,2]") "}", 2,
        "duplicate object key near '\"x\"'");
    assert_refused(OF_X("{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}"),
        1, "duplicate object key");
    safetensors_make_claiming(3, "{}\0", 3, NULL, 0);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "byte 3 of 3");
}
END_TEST

START_TEST(entries_are_checked) {
    assert_refused(OF_X("1"), 0, "tensor x: its entry is not an object");
    assert_refused(OF_X("{}"), 0, "tensor x: its entry has no 'dtype'");
    assert_refused(OF_X("{\"dtype\":\"U8\",\"shape\":[]}"), 0, "has no 'data_offsets'");
    assert_refused(OF_X("{\"dtype\":\"U8\",\"data_offsets\":[0,1]}"), 1, "has no 'shape'");
    assert_refused(OF_X("{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"more\":0}"), 1,
        "tensor x: its entry has the unknown key 'more'");
    assert_refused(OF_X("{\"dtype\":4,\"shape\":[],\"data_offsets\":[0,1]}"), 1,
        "tensor x: its dtype is not a string");
    assert_refused(
        "{" ENTRY("x\\u001b[1m\\n", "U9", "[]", "[0,1]") "}", 1, "tensor x?[1m?: dtype 'U9'");
}
END_TEST

START_TEST(dtypes_are_named) {
    assert_refused("{" ENTRY("x", "C64", "[1]", "[0,8]") "}", 8,
        "tensor x: dtype 'C64' is not one of BOOL, I8, U8, I16, U16, I32, U32, I64, U64, F16, "
        "BF16, F32, F64");
    assert_refused("{" ENTRY("x", "F8_E5M2", "[1]", "[0,1]") "}", 1, "dtype 'F8_E5M2' is not");
    assert_refused("{" ENTRY("x", "F4", "[2]", "[0,1]") "}", 1, "dtype 'F4' is not");
    assert_refused("{" ENTRY("x", "", "[1]", "[0,1]") "}", 1, "dtype '' is not");
}
END_TEST

START_TEST(shapes_are_checked) {
    assert_refused(OF_X("{\"dtype\":\"U8\",\"shape\":3,\"data_offsets\":[0,3]}"), 3,
        "tensor x: its shape is not an array");
    assert_refused("{" ENTRY("x", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1,
        "tensor x: its shape has 9 axes, more than 8");
    assert_refused("{" ENTRY("x", "U8", "[1,2.0]", "[0,2]") "}", 2, "axis 2 of 2 of its shape");
    assert_refused("{" ENTRY("x", "U8", "[null]", "[0,2]") "}", 2, "axis 1 of 1 of its shape");
    assert_refused("{" ENTRY("x", "U8", "[3,-1]", "[0,3]") "}", 3, "axis 2 of its shape is -1");
    assert_refused("{" ENTRY("x", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0,
        "tensor x: the axes of shape (4294967296, 4294967296) of F32 need more than "
        "9223372036854775807");
    assert_refused("{" ENTRY("x", "F32", "[0,4294967296,4294967296]", "[0,0]") "}", 0,
        "need more than 9223372036854775807 bytes");
    assert_refused("{" ENTRY("x", "F64", "[2305843009213693952]", "[0,0]") "}", 0,
        "need more than 9223372036854775807 bytes");
    assert_refused("{" ENTRY("x", "F32", "[2,3]", "[0,25]") "}", 25,
        "tensor x: shape (2, 3) of F32 needs 24 bytes, but its data_offsets [0, 25] hold 25");
}
END_TEST

START_TEST(offsets_are_checked) {
    assert_refused("{" ENTRY("x", "U8", "[1]", "{}") "}", 1, "data_offsets are not two integers");
    assert_refused("{" ENTRY("x", "U8", "[1]", "[0,9223372036854775807]") "}", 1,
        "data_offsets [0, 9223372036854775807] are not within the 1 bytes of data");
    assert_refused("{" ENTRY("x", "U8", "[0]", "[-9223372036854775808,-9223372036854775808]") "}",
        1, "are not within the 1 bytes");
    assert_refused("{" ENTRY("x", "U8", "[0]", "[2,2]") "}", 1, "are not within the 1 bytes");
    assert_refused("{" ENTRY("x", "U8", "[1]", "[0,1]") "," ENTRY("y", "U8", "[1]", "[0,1]") "}", 1,
        "begins at byte 0 of the data, but tensor");
    assert_refused("{" ENTRY("x", "U8", "[4]", "[0,4]") "," ENTRY("y", "U8", "[0]", "[2,2]") "}", 4,
        "tensor y begins at byte 2 of the data, but tensor x ends at byte 4");
    assert_refused("{" ENTRY("x", "U8", "[1]", "[1,2]") "}", 2,
        "bytes 0 to 1 of the data, before tensor x, belong to no tensor");
    assert_refused("{}", 3, "has no tensors, but 3 bytes of data");
}
END_TEST

START_TEST(metadata_are_checked) {
    assert_refused("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    assert_refused("{\"__metadata__\":false}", 0, "__metadata__ is not an object");
    assert_refused("{\"__metadata__\":{\"heads\":2}}", 0, "the value of heads in __metadata__");
    assert_refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate object key");
}
END_TEST

START_TEST(large_arrays_are_refused) {
    static const char header[] =
        "{" ENTRY("x", "U8", "[16]", "[0,16]") "," ENTRY("y", "I16", "[8]", "[16,32]") "}";
    safetensors_make(header, NULL, 32);
    safetensors_assert_refused_within(63, MHA_ERROR_SIZE,
        "tensor y: its 8 numbers of int64 need more than the 63 bytes of memory allowed");
    mha_arrays *arrays = NULL;
    ck_assert_int_eq(mha_safetensors_read(&arrays, folder_path("a.safetensors"), 64, NULL), MHA_OK);
    mha_arrays_free(arrays);
}
END_TEST

/* A long name must not push the reason out of the line. */
START_TEST(long_names_leave_room_for_the_reason) {
    char header[6000];
    char name[5001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(header, sizeof header, "{\"%s\":{}}", name);
    assert_refused(header, 0, "its entry has no 'dtype'");
    assert_refused("{\"__metadata__\":{\"n\":1}}", 0, "the value of n in");
}
END_TEST

/* A file of two tensors and metadata, whole. */
static unsigned char *make_good_file(size_t *size) {
    safetensors_make("{\"__metadata__\":{\"k\":\"v\"}," ENTRY("x", "F32", "[2]", "[0,8]") "," ENTRY(
                         "y", "U8", "[]", "[8,9]") "}",
        NULL, 9);
    mha_arrays_free(safetensors_read());
    return folder_read(size, "a.safetensors");
}

START_TEST(cut_files_are_refused) {
    size_t size = 0;
    unsigned char *whole = make_good_file(&size);
    for (size_t length = 1; length < size; length++) {
        folder_write("a.safetensors", whole, length);
        safetensors_assert_refused(MHA_ERROR_FORMAT, "");
    }
    free(whole);
}
END_TEST

/* Every byte of a file, changed in two ways. */
START_TEST(changed_files_crash_nothing) {
    static const unsigned char changes[] = {0x01, 0x80};
    size_t size = 0, refused = 0;
    unsigned char *whole = make_good_file(&size);
    for (size_t i = 0; i < 2 * size; i++) {
        whole[i / 2] ^= changes[i % 2];
        folder_write("a.safetensors", whole, size);
        whole[i / 2] ^= changes[i % 2];
        mha_arrays *arrays = NULL;
        mha_error error;
        mha_status status = mha_safetensors_read(&arrays, folder_path("a.safetensors"), 0, &error);
        ck_assert(status == MHA_OK ? arrays != NULL : arrays == NULL && error.text[0] != '\0');
        refused += status != MHA_OK;
        mha_arrays_free(arrays);
    }
    ck_assert_uint_gt(refused, size);
    ck_assert_uint_lt(refused, 2 * size - 17); /* no change of the data is seen */
    free(whole);
}
END_TEST

START_TEST(what_is_no_file_is_refused) {
    safetensors_assert_refused(MHA_ERROR_FILE, "a.safetensors: No such file or directory");
    ck_assert_int_eq(mkfifo(folder_path("a.safetensors"), 0600), 0);
    safetensors_assert_refused(MHA_ERROR_FILE, "a.safetensors: it is not a regular file");
    ck_assert_int_eq(remove(folder_path("a.safetensors")), 0);
    ck_assert_int_eq(mkdir(folder_path("a.safetensors"), 0700), 0);
    safetensors_assert_refused(MHA_ERROR_FILE, "a.safetensors: it is a folder");
}
END_TEST

TCase *safetensors_refusal_case(void) {
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, folder_make, folder_remove);
    tcase_add_test(refusals, headers_that_are_no_json_are_refused);
    tcase_add_test(refusals, entries_are_checked);
    tcase_add_test(refusals, dtypes_are_named);
    tcase_add_test(refusals, shapes_are_checked);
    tcase_add_test(refusals, offsets_are_checked);
    tcase_add_test(refusals, metadata_are_checked);
    tcase_add_test(refusals, large_arrays_are_refused);
    tcase_add_test(refusals, long_names_leave_room_for_the_reason);
    tcase_add_test(refusals, cut_files_are_refused);
    tcase_add_test(refusals, changed_files_crash_nothing);
    tcase_add_test(refusals, what_is_no_file_is_refused);
    return refusals;
}
