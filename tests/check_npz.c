/* .npz files: what is written, what is read back, and what NumPy wrote. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"
#include "npz_bytes.h"
#include "npz_cases.h"
#include "suites.h"

static void write_arrays(const char *name, const mha_array *arrays, size_t count) {
    mha_error error = {0};
    mha_status status = mha_npz_write(folder_path(name), arrays, count, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
}

static void assert_round_trip(const mha_array *arrays, size_t count) {
    write_arrays("a.npz", arrays, count);
    mha_arrays *npz = read_arrays_with(mha_npz_read, "a.npz");
    ck_assert_uint_eq(mha_arrays_count(npz), count);
    for (size_t i = 0; i < count; i++) {
        assert_read_as_written(mha_arrays_at(npz, i), &arrays[i]);
        ck_assert_ptr_eq(mha_arrays_find(npz, arrays[i].name), mha_arrays_at(npz, i));
    }
    ck_assert_ptr_null(mha_arrays_at(npz, count));
    mha_arrays_free(npz);
    ck_assert_uint_eq(folder_count(), 1);
}

/* 3 * 2^7 numbers of 8 bytes whose bits look random; the float32 among them include NaN. */
static const void *noise(void) {
    static uint64_t bits[384];
    uint64_t state = 1;
    for (size_t i = 0; i < 384; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bits[i] = state ^ state >> 31;
    }
    return bits;
}

/* As many bools. */
static const void *coins(void) {
    static unsigned char bools[384];
    const uint64_t *bits = noise();
    for (size_t i = 0; i < 384; i++) {
        bools[i] = bits[i] & 1;
    }
    return bools;
}

START_TEST(every_dtype_and_rank_comes_back) {
    for (mha_dtype dtype = 0; dtype < MHA_DTYPE_COUNT; dtype++) {
        for (size_t rank = 0; rank <= MHA_ARRAY_RANK; rank++) {
            mha_array array = {
                .name = "x", .dtype = dtype, .rank = rank, .dims = {3, 2, 2, 2, 2, 2, 2, 2}};
            array.data = dtype == MHA_BOOL ? coins() : noise();
            assert_round_trip(&array, 1);
        }
    }
}
END_TEST

START_TEST(empty_arrays_come_back) {
    const mha_array arrays[] = {
        {.name = "none", .dtype = MHA_FLOAT32, .rank = 1, .dims = {0}, .data = NULL},
        {.name = "rows", .dtype = MHA_FLOAT64, .rank = 2, .dims = {0, 5}, .data = noise()},
        {.name = "middle", .dtype = MHA_INT64, .rank = 3, .dims = {7, 0, 5}, .data = NULL},
        {.name = "bools", .dtype = MHA_BOOL, .rank = 1, .dims = {0}, .data = NULL},
        {.name = "one", .dtype = MHA_INT64, .rank = 3, .dims = {1, 1, 1}, .data = noise()},
    };
    assert_round_trip(arrays, 5);
    assert_round_trip(NULL, 0);
    static const unsigned char end_record[22] = {'P', 'K', 5, 6};
    ck_assert(folder_holds("a.npz", end_record, sizeof end_record));
}
END_TEST

START_TEST(names_come_back) {
    static const char *const names[] = {"", "wq", "a/b", "../up", "two words", "x.npy",
        "\xc3\xa4\xce\xb2", "line\nbreak", "%s%n", "dir/"};
    enum { COUNT = sizeof names / sizeof *names };
    mha_array arrays[COUNT] = {{0}};
    for (size_t i = 0; i < COUNT; i++) {
        arrays[i].name = names[i];
        arrays[i].dtype = MHA_INT64;
        arrays[i].data = (const int64_t *)noise() + i;
    }
    assert_round_trip(arrays, COUNT);
}
END_TEST

START_TEST(a_large_array_comes_back) {
    const size_t count = 300000; /* more than one piece of the copy to disk */
    int64_t *numbers = malloc(count * sizeof *numbers);
    ck_assert_ptr_nonnull(numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (int64_t)(i * i);
    }
    const mha_array array = {
        .name = "squares", .dtype = MHA_INT64, .rank = 1, .dims = {count}, .data = numbers};
    assert_round_trip(&array, 1);
    free(numbers);
}
END_TEST

START_TEST(counts_are_products) {
    const mha_array scalar = {.rank = 0};
    const mha_array matrix = {.rank = 2, .dims = {3, 5, 7}};
    const mha_array empty = {.rank = 3, .dims = {SIZE_MAX, SIZE_MAX, 0}};
    const mha_array huge = {.rank = 2, .dims = {SIZE_MAX / 2, 3}};
    ck_assert_uint_eq(mha_array_count(&scalar), 1);
    ck_assert_uint_eq(mha_array_count(&matrix), 15);
    ck_assert_uint_eq(mha_array_count(&empty), 0);
    ck_assert_uint_eq(mha_array_count(&huge), SIZE_MAX);
}
END_TEST

/* What npz_bytes.h describes. */
static const float matrix32[4] = {1.0f, -2.5f, 0.25f, 3.0f};
static const double matrix64[4] = {1.0, -2.5, 0.25, 3.0};
static const int64_t seven[1] = {7};

static const mha_array example[2] = {
    {.name = "matrix", .dtype = MHA_FLOAT32, .rank = 2, .dims = {2, 2}, .data = matrix32},
    {.name = "seven", .dtype = MHA_INT64, .rank = 0, .data = seven},
};

/* Local times far apart, and with summer time: none of them may show in the file. */
START_TEST(equal_arrays_give_equal_files) {
    static const char *const zones[] = {
        "UTC0", "ABC-14", "ABC+12", "NST3:30NDT,M3.2.0,M11.1.0", "AEST-10AEDT,M10.1.0,M4.1.0/3"};
    write_arrays("a.npz", example, 2);
    size_t size = 0;
    unsigned char *bytes = folder_read(&size, "a.npz");
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        setenv("TZ", zones[i], 1);
        tzset();
        write_arrays("b.npz", example, 2);
        ck_assert_msg(folder_holds("b.npz", bytes, size), "in zone %s", zones[i]);
    }
    unsetenv("TZ");
    free(bytes);
}
END_TEST

/* A version of libzip may say that it writes a later zip version, or that a reader needs one: those
 * fields of the two local headers and the two directory entries are left out. */
START_TEST(the_bytes_are_golden) {
    write_arrays("a.npz", example, 2);
    size_t size = 0;
    unsigned char *bytes = folder_read(&size, "a.npz");
    ck_assert_uint_eq(size, sizeof mha_npz_written);
    for (size_t i = 0; i + 4 <= size; i++) {
        if (memcmp(mha_npz_written + i, "PK\1\2", 4) == 0) {
            memcpy(bytes + i + 4, mha_npz_written + i + 4, 4);
        } else if (memcmp(mha_npz_written + i, "PK\3\4", 4) == 0) {
            memcpy(bytes + i + 4, mha_npz_written + i + 4, 2);
        }
    }
    for (size_t i = 0; i < size; i++) {
        ck_assert_msg(bytes[i] == mha_npz_written[i], "byte %zu is %d, not %d", i, bytes[i],
            mha_npz_written[i]);
    }
    free(bytes);
}
END_TEST

static void assert_example(const mha_arrays *npz, const mha_array *matrix) {
    ck_assert_uint_eq(mha_arrays_count(npz), 2);
    assert_read_as_written(mha_arrays_at(npz, 0), matrix);
    assert_read_as_written(mha_arrays_at(npz, 1), &example[1]);
    ck_assert_ptr_null(mha_arrays_find(npz, "matri"));
    ck_assert_ptr_null(mha_arrays_find(npz, "matrix.npy"));
}

START_TEST(files_of_numpy_are_read) {
    folder_write("a.npz", numpy_savez, sizeof numpy_savez);
    mha_arrays *npz = read_arrays_with(mha_npz_read, "a.npz");
    assert_example(npz, &example[0]);
    mha_arrays_free(npz);
    mha_array matrix = example[0];
    matrix.dtype = MHA_FLOAT64;
    matrix.data = matrix64;
    folder_write("b.npz", numpy_savez_compressed, sizeof numpy_savez_compressed);
    npz = read_arrays_with(mha_npz_read, "b.npz");
    assert_example(npz, &matrix);
    mha_arrays_free(npz);
}
END_TEST

/* Later versions of Python write the sizes of the local header into its zip64 field alone. */
START_TEST(sizes_come_from_the_directory) {
    unsigned char bytes[sizeof numpy_savez];
    memcpy(bytes, numpy_savez, sizeof bytes);
    memset(bytes + 18, 0xff, 8);
    folder_write("a.npz", bytes, sizeof bytes);
    mha_arrays *npz = read_arrays_with(mha_npz_read, "a.npz");
    assert_example(npz, &example[0]);
    mha_arrays_free(npz);
}
END_TEST

static void assert_not_written(
    const mha_array *arrays, size_t count, mha_status expected, const char *words) {
    mha_error error = {0};
    ck_assert_int_eq(mha_npz_write(folder_path("a.npz"), arrays, count, &error), expected);
    ck_assert_int_eq(error.status, expected);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    ck_assert_uint_eq(folder_count(), 0);
}

START_TEST(unusable_arrays_are_not_written) {
    mha_array pair[2] = {example[1], example[1]};
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "two arrays have the name seven");
    pair[1].name = NULL;
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "array 1 has no name");
    pair[1].name = "\xff\xfe";
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "is not UTF-8, or has control characters");
    pair[1].name = "a\1";
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "is not UTF-8, or has control characters");
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    pair[1].name = name;
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "1999 bytes, more than 1019");
    pair[1].name = "x";
    pair[1].data = NULL;
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "array x has no data");
    pair[1].dtype = MHA_DTYPE_COUNT;
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "array x has the unknown dtype 5");
    pair[1].rank = 9;
    assert_not_written(pair, 2, MHA_ERROR_ARGUMENT, "array x has 9 axes, more than 8");
    pair[1] = (mha_array){
        .name = "x", .dtype = MHA_INT64, .rank = 2, .dims = {SIZE_MAX / 8, 2}, .data = seven};
    assert_not_written(pair, 2, MHA_ERROR_SIZE, "array x of shape (2305843009213693951, 2)");
    pair[1].dims[0] = PTRDIFF_MAX / 16 + 1; /* as in .safetensors files */
    assert_not_written(pair, 2, MHA_ERROR_SIZE, "has more than 9223372036854775807 bytes");
}
END_TEST

Suite *npz_suite(void) {
    Suite *suite = suite_create("npz");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_test(files, every_dtype_and_rank_comes_back);
    tcase_add_test(files, empty_arrays_come_back);
    tcase_add_test(files, names_come_back);
    tcase_add_test(files, a_large_array_comes_back);
    tcase_add_test(files, counts_are_products);
    tcase_add_test(files, equal_arrays_give_equal_files);
    tcase_add_test(files, the_bytes_are_golden);
    tcase_add_test(files, files_of_numpy_are_read);
    tcase_add_test(files, sizes_come_from_the_directory);
    tcase_add_test(files, unusable_arrays_are_not_written);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, npz_header_case());
    suite_add_tcase(suite, npz_refusal_case());
    suite_add_tcase(suite, npz_directory_case());
    suite_add_tcase(suite, npz_limit_case());
    suite_add_tcase(suite, replace_case());
    return suite;
}
