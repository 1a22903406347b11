/* Faults that readers of .safetensors files have had elsewhere, each with its input and the right
 * answer. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"
#include "safetensors_maker.h"
#include "suites.h"

/* ---- the length of the header is trusted ---- */

/* A file of 20 bytes: the length and 12 bytes that are a header without tensors. */
static void assert_length_refused(uint64_t claimed, const char *words) {
    safetensors_make_claiming(claimed, "{}          ", 12, NULL, 0);
    safetensors_assert_refused(MHA_ERROR_FORMAT, words);
}

START_TEST(length_of_the_header) {
    safetensors_make_claiming(12, "{}          ", 12, NULL, 0);
    mha_arrays_free(safetensors_read());
    assert_length_refused(UINT64_MAX, "header of 18446744073709551615 bytes, and has 12 behind");
    assert_length_refused(0, "claims a header of 0 bytes, and has 12 behind");
    assert_length_refused(1, "the header is not usable, byte 1 of 1");
    assert_length_refused(20 - 8 + 1, "header of 13 bytes, and has 12 behind");
    assert_length_refused((uint64_t)1 << 63, "header of 9223372036854775808 bytes");
    assert_length_refused(100 * 1024 * 1024 + 1, "header of 104857601 bytes, and has 12 behind");
}
END_TEST

START_TEST(short_files) {
    folder_write("a.safetensors", "", 0);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "is empty");
    folder_write("a.safetensors", "\2\0\0\0\0\0\0", 7);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "7 bytes are too few");
    folder_write("a.safetensors", "\2\0\0\0\0\0\0\0", 8);
    safetensors_assert_refused(MHA_ERROR_FORMAT, "header of 2 bytes, and has 0 behind");
}
END_TEST

START_TEST(headers_of_two_bytes) {
    safetensors_assert_header_refused("[]", 0, "begins with byte 91, not with '{'");
    safetensors_assert_header_refused("\xff\xff", 0, "begins with byte 255");
    safetensors_assert_header_refused("{\"\xff\":{}}", 0, "unable to decode byte 0xff");
    safetensors_make("{}", NULL, 0);
    mha_arrays *arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_count(arrays), 0);
    mha_arrays_free(arrays);
}
END_TEST

START_TEST(deep_headers) {
    enum { DEPTH = 100000 };
    static const char open[] = "{\"a\":";
    char *text = malloc(sizeof open + 2 * DEPTH + 1);
    ck_assert_ptr_nonnull(text);
    const size_t length = strlen(open);
    memcpy(text, open, length);
    memset(text + length, '[', DEPTH);
    memset(text + length + DEPTH, ']', DEPTH);
    memcpy(text + length + 2 * DEPTH, "}", 2);
    safetensors_assert_header_refused(text, 0, "maximum parsing depth");
    free(text);
}
END_TEST

/* ---- offsets that disagree with the shape or each other ---- */

START_TEST(one_thing_changed) {
    static const float numbers[] = {1, -2, 3, 0.5f};
    safetensors_make("{" ENTRY("Wq", "F32", "[2,2]", "[0,16]") "}", numbers, 16);
    mha_arrays *arrays = safetensors_read();
    ck_assert_mem_eq(mha_arrays_find(arrays, "Wq")->data, numbers, 16);
    mha_arrays_free(arrays);
    static const struct {
        const char *header, *words;
    } changed[] = {
        {ENTRY("Wq", "F32", "[2,2]", "[16,0]"), "data_offsets [16, 0] run backwards"},
        {ENTRY("Wq", "F32", "[2,2]", "[-4,12]"), "data_offsets [-4, 12] are not within the 16"},
        {ENTRY("Wq", "F32", "[2,2]", "[0,8]"),
            "needs 16 bytes, but its data_offsets [0, 8] hold 8"},
        {ENTRY("Wq", "F32", "[2,2]", "[0,20]"), "data_offsets [0, 20] are not within the 16"},
        {ENTRY("Wq", "F32", "[2,2]", "[0]"), "data_offsets are not two integers"},
        {ENTRY("Wq", "F32", "[2,2]", "[0,16,0]"), "data_offsets are not two integers"},
        {ENTRY("Wq", "F32", "[2,2]", "[0.5,16]"), "data_offsets are not two integers"},
        {ENTRY("Wq", "F32", "[2,2]", "[\"0\",\"16\"]"), "data_offsets are not two integers"},
        {ENTRY("Wq", "F32", "[1000,1000]", "[0,16]"), "needs 4000000 bytes, but its data_offsets"},
        {ENTRY("Wq", "F32", "[-2,-2]", "[0,16]"), "axis 1 of its shape is -2"},
        {ENTRY("Wq", "F32", "[3000000000,3]", "[0,16]"), "needs 36000000000 bytes"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        char header[256] = "{";
        strcat(strcat(header, changed[i].header), "}");
        safetensors_assert_header_refused(header, 16, "tensor Wq: ");
        safetensors_assert_header_refused(header, 16, changed[i].words);
    }
}
END_TEST

START_TEST(tensors_that_do_not_cover_the_data) {
    safetensors_assert_header_refused(
        "{" ENTRY("Wq", "F32", "[2,2]", "[0,16]") "," ENTRY("Wk", "F32", "[2,2]", "[8,24]") "}", 24,
        "tensor Wk begins at byte 8 of the data, but tensor Wq ends at byte 16");
    safetensors_assert_header_refused(
        "{" ENTRY("Wq", "F32", "[2,2]", "[0,16]") "," ENTRY("Wk", "F32", "[2,2]", "[20,36]") "}",
        36, "bytes 16 to 20 of the data, before tensor Wk, belong to no tensor");
    safetensors_assert_header_refused("{" ENTRY("Wq", "F32", "[2,2]", "[0,16]") "}", 20,
        "the last tensor, Wq, ends at byte 16 of 20 bytes of data");
}
END_TEST

START_TEST(unusual_files_that_are_valid) {
    static const float numbers[] = {1, 2, 3, 4};
    safetensors_make(
        "{" ENTRY("b", "F32", "[3]", "[4,16]") "," ENTRY("a", "F32", "[1]", "[0,4]") "}", numbers,
        16);
    mha_arrays *arrays = safetensors_read();
    ck_assert_mem_eq(mha_arrays_find(arrays, "a")->data, numbers, 4);
    ck_assert_mem_eq(mha_arrays_find(arrays, "b")->data, numbers + 1, 12);
    mha_arrays_free(arrays);
    safetensors_make("{" ENTRY("x", "F32", "[]", "[0,4]") "}", numbers, 4);
    arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_at(arrays, 0)->rank, 0);
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, numbers, 4);
    mha_arrays_free(arrays);
    safetensors_make("{" ENTRY("x", "F32", "[0,3]", "[0,0]") "}", NULL, 0);
    arrays = safetensors_read();
    ck_assert_uint_eq(mha_arrays_at(arrays, 0)->rank, 2);
    ck_assert_uint_eq(mha_arrays_at(arrays, 0)->dims[0], 0);
    ck_assert_uint_eq(mha_arrays_at(arrays, 0)->dims[1], 3);
    mha_arrays_free(arrays);
}
END_TEST

/* ---- half precision ---- */

static void assert_pair(const char *header, const void *bytes, size_t size, const char *stored) {
    safetensors_make(header, bytes, size);
    mha_arrays *arrays = safetensors_read();
    const mha_array *x = mha_arrays_find(arrays, "x");
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(x->dtype, MHA_FLOAT32);
    ck_assert_str_eq(x->stored, stored);
    const float *numbers = x->data;
    ck_assert(numbers[0] == 1.0f && numbers[1] == -2.5f);
    mha_arrays_free(arrays);
}

START_TEST(half_precision) {
    assert_pair("{" ENTRY("x", "BF16", "[2]", "[0,4]") "}", "\x80\x3f\x20\xc0", 4, "bfloat16");
    assert_pair("{" ENTRY("x", "F16", "[2]", "[0,4]") "}", "\x00\x3c\x00\xc1", 4, "float16");
}
END_TEST

START_TEST(other_dtypes) {
    static const double doubles[] = {1, -2.5};
    static const int64_t integers[] = {1, -2};
    safetensors_make("{" ENTRY("x", "F64", "[2]", "[0,16]") "}", doubles, 16);
    mha_arrays *arrays = safetensors_read();
    ck_assert_int_eq(mha_arrays_at(arrays, 0)->dtype, MHA_FLOAT64);
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, doubles, 16);
    mha_arrays_free(arrays);
    safetensors_make("{" ENTRY("x", "I64", "[2]", "[0,16]") "}", integers, 16);
    arrays = safetensors_read();
    ck_assert_int_eq(mha_arrays_at(arrays, 0)->dtype, MHA_INT64);
    ck_assert_mem_eq(mha_arrays_at(arrays, 0)->data, integers, 16);
    mha_arrays_free(arrays);
    safetensors_assert_header_refused("{" ENTRY("x", "F8_E4M3", "[2]", "[0,2]") "}", 2,
        "tensor x: dtype 'F8_E4M3' is not one of");
    safetensors_assert_header_refused(
        "{" ENTRY("x", "f32", "[2]", "[0,8]") "}", 8, "tensor x: dtype 'f32' is not one of");
}
END_TEST

Suite *reports_safetensors_suite(void) {
    Suite *suite = suite_create("reports: safetensors");
    TCase *reports = tcase_create("reports");
    tcase_add_checked_fixture(reports, folder_make, folder_remove);
    tcase_add_test(reports, length_of_the_header);
    tcase_add_test(reports, short_files);
    tcase_add_test(reports, headers_of_two_bytes);
    tcase_add_test(reports, deep_headers);
    tcase_add_test(reports, one_thing_changed);
    tcase_add_test(reports, tensors_that_do_not_cover_the_data);
    tcase_add_test(reports, unusual_files_that_are_valid);
    tcase_add_test(reports, half_precision);
    tcase_add_test(reports, other_dtypes);
    suite_add_tcase(suite, reports);
    return suite;
}
