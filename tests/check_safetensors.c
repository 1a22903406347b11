/* .safetensors files: what is written comes back to the bit, in the layout of the reference writer. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"
#include "safetensors_cases.h"
#include "safetensors_maker.h"
#include "suites.h"

static void write_all(
    const mha_array *arrays, size_t count, const mha_metadata *metadata, size_t metadata_count) {
    mha_error error = {0};
    mha_status status = mha_safetensors_write(
        folder_path("a.safetensors"), arrays, count, metadata, metadata_count, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(folder_count(), 1);
}

static void assert_round_trip(const mha_array *arrays, size_t count) {
    write_all(arrays, count, NULL, 0);
    mha_arrays *read = safetensors_read();
    ck_assert_uint_eq(mha_arrays_count(read), count);
    for (size_t i = 0; i < count; i++) {
        assert_read_as_written(mha_arrays_find(read, arrays[i].name), &arrays[i]);
    }
    ck_assert_ptr_null(mha_arrays_at(read, count));
    mha_arrays_free(read);
}

enum { NOISE = 384 }; /* 3 * 2^7 numbers */

/* Numbers of a dtype whose bits look random: all kinds of NaN are among the floats. */
static const void *noise(mha_dtype dtype) {
    static uint64_t bits[NOISE];
    unsigned char *bytes = (unsigned char *)bits;
    uint64_t state = 1;
    for (size_t i = 0; i < NOISE; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bits[i] = state ^ state >> 31;
    }
    for (size_t i = 0; dtype == MHA_BOOL && i < sizeof bits; i++) {
        bytes[i] &= 1;
    }
    return bits;
}

START_TEST(every_dtype_and_rank_comes_back) {
    for (mha_dtype dtype = 0; dtype < MHA_DTYPE_COUNT; dtype++) {
        for (size_t rank = 0; rank <= MHA_ARRAY_RANK; rank++) {
            mha_array array = {
                .name = "x", .dtype = dtype, .rank = rank, .dims = {3, 2, 2, 2, 2, 2, 2, 2}};
            array.data = noise(dtype);
            assert_round_trip(&array, 1);
        }
    }
}
END_TEST

START_TEST(special_numbers_come_back) {
    static const uint32_t singles[] = {0x80000000, 0x7fc01234, 0xffc00001, 0x7f800001, 0xff800000,
        0x00000001, 0x807fffff, 0x7f7fffff};
    static const uint64_t doubles[] = {0x8000000000000000, 0x7ff8000000abcdef, 0xfff0000000000001,
        0x7ff0000000000000, 0x0000000000000001, 0x7fefffffffffffff};
    static const int64_t integers[] = {INT64_MIN, -1, 0, INT64_MAX};
    const mha_array arrays[] = {
        {.name = "singles", .dtype = MHA_FLOAT32, .rank = 1, .dims = {8}, .data = singles},
        {.name = "doubles", .dtype = MHA_FLOAT64, .rank = 1, .dims = {6}, .data = doubles},
        {.name = "integers", .dtype = MHA_INT64, .rank = 2, .dims = {2, 2}, .data = integers},
    };
    assert_round_trip(arrays, 3);
}
END_TEST

START_TEST(empty_arrays_come_back) {
    const mha_array arrays[] = {
        {.name = "none", .dtype = MHA_FLOAT32, .rank = 1, .dims = {0}},
        {.name = "rows", .dtype = MHA_FLOAT64, .rank = 2, .dims = {0, 5}},
        {.name = "one", .dtype = MHA_BOOL, .rank = 3, .dims = {1, 1, 1}, .data = noise(MHA_BOOL)},
        {.name = "middle", .dtype = MHA_UINT8, .rank = 3, .dims = {7, 0, 5}},
    };
    assert_round_trip(arrays, 4);
    assert_round_trip(NULL, 0);
    ck_assert(folder_holds("a.safetensors", "\x08\0\0\0\0\0\0\0{}      ", 16));
}
END_TEST

START_TEST(names_come_back) {
    static const char *const names[] = {"", "wq", "a/b", "../up", "two words", "\xc3\xa4\xce\xb2",
        "line\nbreak\t\x01\x1f\x7f", "%s%n", "\"quoted\" \\", "_metadata__", "\xf0\x9f\x98\x80"};
    enum { COUNT = sizeof names / sizeof *names };
    mha_array arrays[COUNT] = {{0}};
    for (size_t i = 0; i < COUNT; i++) {
        arrays[i].name = names[i];
        arrays[i].dtype = MHA_INT64;
        arrays[i].data = (const int64_t *)noise(MHA_INT64) + i;
    }
    assert_round_trip(arrays, COUNT);
}
END_TEST

static const double one[] = {1};
static const mha_array scalar = {.name = "x", .dtype = MHA_FLOAT64, .data = one};

START_TEST(metadata_come_back) {
    static const mha_metadata metadata[] = {
        {"layout", "torch"}, {"heads", "4"}, {"", ""}, {"\xc3\xa4 \"", "two\nlines\\"}};
    write_all(&scalar, 1, metadata, 4);
    mha_arrays *read = safetensors_read();
    for (size_t i = 0; i < 4; i++) {
        ck_assert_pstr_eq(mha_arrays_metadata(read, metadata[i].key), metadata[i].value);
    }
    ck_assert_ptr_null(mha_arrays_metadata(read, "head"));
    ck_assert_ptr_null(mha_arrays_find(read, "__metadata__"));
    ck_assert_uint_eq(mha_arrays_count(read), 1);
    mha_arrays_free(read);
}
END_TEST

/* The header of what stands in a.safetensors, which is longer than that by its padding. */
static void assert_header(const char *expected) {
    size_t size = 0;
    unsigned char *bytes = folder_read(&size, "a.safetensors");
    const size_t length = strlen(expected);
    const size_t padded = (length + 7) / 8 * 8;
    ck_assert_uint_ge(size, 8 + padded);
    ck_assert_uint_eq(bytes[0] + 256u * bytes[1], padded);
    for (size_t i = 2; i < 8; i++) {
        ck_assert_uint_eq(bytes[i], 0);
    }
    ck_assert_mem_eq(bytes + 8, expected, length);
    for (size_t i = length; i < padded; i++) {
        ck_assert_uint_eq(bytes[8 + i], ' ');
    }
    free(bytes);
}

START_TEST(the_layout_is_that_of_the_reference) {
    static const unsigned char bytes[] = {1, 0, 1};
    static const float singles[] = {1, 2};
    static const int64_t seven[] = {7};
    const mha_array arrays[] = {
        {.name = "a", .dtype = MHA_BOOL, .rank = 1, .dims = {3}, .data = bytes},
        {.name = "b", .dtype = MHA_UINT8, .rank = 1, .dims = {3}, .data = bytes},
        {.name = "z", .dtype = MHA_FLOAT32, .rank = 2, .dims = {1, 2}, .data = singles},
        {.name = "Z", .dtype = MHA_FLOAT32, .rank = 2, .dims = {2, 0}},
        {.name = "c", .dtype = MHA_FLOAT64, .data = one},
        {.name = "d", .dtype = MHA_INT64, .data = seven},
    };
    static const mha_metadata metadata[] = {{"heads", "2"}, {"a", "b"}};
    write_all(arrays, 6, metadata, 2);
    assert_header("{\"__metadata__\":{\"heads\":\"2\",\"a\":\"b\"}," ENTRY(
        "d", "I64", "[]", "[0,8]") "," ENTRY("c", "F64", "[]", "[8,16]") "," ENTRY("Z", "F32",
        "[2,0]", "[16,16]") "," ENTRY("z", "F32", "[1,2]", "[16,24]") "," ENTRY("b", "U8", "[3]",
        "[24,27]") "," ENTRY("a", "BOOL", "[3]", "[27,30]") "}");
    size_t size = 0;
    unsigned char *written = folder_read(&size, "a.safetensors");
    ck_assert_mem_eq(written + size - 30,
        "\7\0\0\0\0\0\0\0"       /* 7 */
        "\0\0\0\0\0\0\xf0\x3f"   /* 1.0 */
        "\0\0\x80\x3f\0\0\0\x40" /* 1.0f 2.0f */
        "\1\0\1\1\0\1",
        30);
    write_all(arrays, 6, metadata, 2);
    ck_assert(folder_holds("a.safetensors", written, size));
    free(written);
}
END_TEST

START_TEST(data_are_aligned) {
    char name[32] = "";
    for (size_t length = 0; length < 24; length++) {
        name[length] = 'n';
        mha_array array = scalar;
        array.name = name;
        assert_round_trip(&array, 1);
        size_t size = 0;
        unsigned char *bytes = folder_read(&size, "a.safetensors");
        ck_assert_uint_eq(bytes[0] % 8u, 0);
        ck_assert_uint_eq(size, 8u + bytes[0] + 8u);
        free(bytes);
    }
}
END_TEST

Suite *safetensors_suite(void) {
    Suite *suite = suite_create("safetensors");
    TCase *files = tcase_create("writing");
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_test(files, every_dtype_and_rank_comes_back);
    tcase_add_test(files, special_numbers_come_back);
    tcase_add_test(files, empty_arrays_come_back);
    tcase_add_test(files, names_come_back);
    tcase_add_test(files, metadata_come_back);
    tcase_add_test(files, the_layout_is_that_of_the_reference);
    tcase_add_test(files, data_are_aligned);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, safetensors_unwritten_case());
    suite_add_tcase(suite, safetensors_content_case());
    suite_add_tcase(suite, safetensors_refusal_case());
    suite_add_tcase(suite, safetensors_limit_case());
    return suite;
}
