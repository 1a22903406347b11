/* mha init: the weights that NumPy draws, to the bit. Golden values were drawn with NumPy 1.24.2. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "count.h"
#include "folder.h"
#include "program_cases.h"

static const char *const matrix_names[] = {"wq", "wk", "wv", "wo"};

/* One of the four matrices, float64 (width, width). */
static const double *matrix(const mha_arrays *arrays, size_t index, size_t width) {
    const mha_array *array = mha_arrays_find(arrays, matrix_names[index]);
    ck_assert_ptr_nonnull(array);
    ck_assert_int_eq(array->dtype, MHA_FLOAT64);
    ck_assert(array->rank == 2 && array->dims[0] == width && array->dims[1] == width);
    return array->data;
}

/* Depends on every bit of the four matrices, and on their order. */
static uint64_t checksum(const mha_arrays *arrays, size_t width) {
    uint64_t sum = 0;
    for (size_t m = 0; m < 4; m++) {
        const double *numbers = matrix(arrays, m, width);
        for (size_t i = 0; i < width * width; i++) {
            uint64_t bits;
            memcpy(&bits, &numbers[i], sizeof bits);
            sum = sum * UINT64_C(6364136223846793005) + bits;
        }
    }
    return sum;
}

static const struct {
    const char *seed, *width, *heads;
    double first, last;
    uint64_t checksum;
} lesson_cases[] = {
    {"0", "8", "2", 0x1.6c27538529ebdp-5, 0x1.34ba5936f9d28p-2, 0x15ee69ab1e4e799b},
    {"42", "64", "4", 0x1.3807c1104fc6bp-5, 0x1.74debad6240abp-5, 0xebfa8cfbcd5cb27c},
    {"18446744073709551615", "7", "1", 0x1.172ed2bdb9187p-2, -0x1.788d3a636a8c5p-5,
        0x20505b24b70ce47e},
    {"4294967296", "3", "3", 0x1.e7005e4471116p-5, -0x1.3036943627d5dp-4, 0xe7436573e5aff0e0},
    {"12345678901234567890", "20", "5", -0x1.e2dcf0b4bd613p-9, -0x1.9dc7d070b3dbbp-4,
        0x9738f41a207c5f57},
};

START_TEST(lesson_weights_are_numpys) {
    const size_t width = strtoul(lesson_cases[_i].width, NULL, 10);
    static const char *const names[] = {"w.npz", "w.safetensors"};
    for (size_t n = 0; n < COUNT(names); n++) {
        struct outcome outcome =
            run_well(WORDS("init", "-o", names[n], "--width", lesson_cases[_i].width, "--heads",
                lesson_cases[_i].heads, "--seed", lesson_cases[_i].seed));
        char line[128];
        snprintf(line, sizeof line,
            "%s: wq wk wv wo, width %s, heads %s, float64, seed %s of the stream lesson\n",
            names[n], lesson_cases[_i].width, lesson_cases[_i].heads, lesson_cases[_i].seed);
        ck_assert_str_eq(outcome.out, line);
        ck_assert_str_eq(outcome.err, "");
        outcome_free(&outcome);
        mha_arrays *arrays = read_arrays(names[n]);
        ck_assert(matrix(arrays, 0, width)[0] == lesson_cases[_i].first);
        ck_assert(matrix(arrays, 3, width)[width * width - 1] == lesson_cases[_i].last);
        ck_assert_uint_eq(checksum(arrays, width), lesson_cases[_i].checksum);
        mha_arrays_free(arrays);
    }
}
END_TEST

START_TEST(heads_stand_beside_the_weights) {
    struct outcome outcome = run_well(WORDS("init", "-o", "w.npz", "--width", "6", "--heads", "3"));
    outcome_free(&outcome);
    mha_arrays *arrays = read_arrays("w.npz");
    ck_assert_uint_eq(mha_arrays_count(arrays), 5);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(mha_arrays_at(arrays, i)->name, matrix_names[i]);
    }
    const mha_array *heads = mha_arrays_at(arrays, 4);
    ck_assert_str_eq(heads->name, "heads");
    ck_assert(heads->dtype == MHA_INT64 && heads->rank == 0);
    ck_assert_int_eq(*(const int64_t *)heads->data, 3);
    mha_arrays_free(arrays);
    outcome = run_well(WORDS("init", "-o", "w.safetensors", "--width", "6", "--heads", "3"));
    outcome_free(&outcome);
    arrays = read_arrays("w.safetensors");
    ck_assert_str_eq(mha_arrays_metadata(arrays, "layout"), "lesson");
    ck_assert_str_eq(mha_arrays_metadata(arrays, "heads"), "3");
    mha_arrays_free(arrays);
}
END_TEST

/* First and last entry of wq, wk, wv and wo. */
static const struct {
    const char *seed, *width;
    double ends[4][2];
} handbook_cases[] = {
    {"4294967295", "5",
        {{0x1.a3ee8ac0ddf0ep-2, 0x1.090bb42dc72adp-1}, {0x1.18f36f8543a54p-1, 0x1.fdafd89ce68acp-1},
            {-0x1.0f0df8288d785p-6, 0x1.2c3bb50937afcp-1},
            {-0x1.9f70a2d413b22p+0, -0x1.00ade1a765434p-4}}},
    {"0", "3",
        {{0x1.70ba4cbe71ffcp+0, -0x1.0ad123eb67726p+1},
            {0x1.d466040203ec8p+0, -0x1.364261b28366cp-1},
            {0x1.8d2e4f6f4c3dep-1, 0x1.32111b6ac4c89p-5},
            {-0x1.39018ae8b121bp-3, 0x1.0571c43bfb127p-3}}},
};

START_TEST(handbook_weights_are_numpys) {
    const size_t width = strtoul(handbook_cases[_i].width, NULL, 10);
    struct outcome outcome =
        run_well(WORDS("init", "-o", "w.npz", "--width", handbook_cases[_i].width, "--heads", "1",
            "--stream", "handbook", "--seed", handbook_cases[_i].seed));
    ck_assert_ptr_nonnull(strstr(outcome.out, "of the stream handbook\n"));
    outcome_free(&outcome);
    mha_arrays *arrays = read_arrays("w.npz");
    for (size_t m = 0; m < 4; m++) {
        const double *numbers = matrix(arrays, m, width), *ends = handbook_cases[_i].ends[m];
        ck_assert_double_eq_tol(numbers[0], ends[0], 0x1p-51);
        ck_assert_double_eq_tol(numbers[width * width - 1], ends[1], 0x1p-51);
    }
    mha_arrays_free(arrays);
}
END_TEST

START_TEST(seeds_default_to_0_and_files_repeat) {
    struct outcome outcome = run_well(WORDS("init", "-o", "a.npz", "--width", "4", "--heads", "2"));
    outcome_free(&outcome);
    outcome =
        run_well(WORDS("init", "--output", "b.npz", "--width", "4", "--heads", "2", "--seed", "0"));
    outcome_free(&outcome);
    size_t size;
    unsigned char *bytes = folder_read(&size, "a.npz");
    ck_assert_int_eq(folder_holds("b.npz", bytes, size), 1);
    outcome = run_well(WORDS("init", "-o", "b.npz", "--width", "4", "--heads", "2", "--seed", "1"));
    outcome_free(&outcome);
    ck_assert_int_eq(folder_holds("b.npz", bytes, size), 0);
    free(bytes);
}
END_TEST

static const struct {
    const char *words[12], *text;
} wrong_uses[] = {{{"init", "--width", "4", "--heads", "2"}, "-o W is missing"},
    {{"init", "-o", "w.npz", "--heads", "2"}, "--width is missing"},
    {{"init", "-o", "w.npz", "--width", "4"}, "--heads is missing"},
    {{"init", "-o", "w.npz", "--width", "4", "--heads", "2", "more"}, "'more'"},
    {{"init", "-o", "w.npz", "--width", "0", "--heads", "1"}, "'0'"},
    {{"init", "-o", "w.npz", "--width", "4", "--heads", "-2"}, "'-2'"},
    {{"init", "-o", "w.npz", "--width", "6", "--heads", "4"},
        "width 6 is not divisible by 4 heads"},
    {{"init", "-o", "w.npz", "--width", "4", "--heads", "2", "--stream", "torch"}, "'torch'"},
    {{"init", "-o", "w.npz", "--width", "4", "--heads", "2", "--seed", "18446744073709551616"},
        "'18446744073709551616' is not a whole number from 0 to 18446744073709551615"},
    {{"init", "-o", "w.npz", "--width", "4", "--heads", "2", "--stream", "handbook", "--seed",
         "4294967296"},
        "--seed 4294967296 is above 4294967295"},
    {{"init", "-o", "w.npz", "--width", "1000000000", "--heads", "1"}, "width 1000000000"},
    {{"init", "-o", "w.npz", "--width", "100000000", "--heads", "1"},
        "weights of width 100000000 need more than a quarter of the memory"},
    {{"init", "-o", "w.txt", "--width", "4", "--heads", "2"}, "w.txt"},
    {{"init", "-o", "no/w.npz", "--width", "4", "--heads", "2"}, "no/w.npz"},
    {{"init", "-o", "", "--width", "4", "--heads", "2"}, "ends in"}};

START_TEST(wrong_use_is_refused) {
    assert_program_refuses(wrong_uses[_i].words, wrong_uses[_i].text);
}
END_TEST

START_TEST(full_disk_leaves_nothing) {
    struct outcome outcome = run_program_limited(folder_path(""),
        WORDS("init", "-o", "w.npz", "--width", "32", "--heads", "2"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "File too large"));
    ck_assert_uint_eq(folder_count(), 0);
    outcome_free(&outcome);
    outcome = run_program_limited(
        folder_path(""), WORDS("init", "-o", "w.npz", "--width", "4", "--heads", "2"), 0, true);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "standard output"));
    outcome_free(&outcome);
}
END_TEST

Suite *init_suite(void) {
    Suite *suite = suite_create("init");
    TCase *cases = tcase_create("init");
    tcase_add_checked_fixture(cases, folder_make, folder_remove);
    tcase_add_loop_test(cases, lesson_weights_are_numpys, 0, COUNT(lesson_cases));
    tcase_add_test(cases, heads_stand_beside_the_weights);
    tcase_add_loop_test(cases, handbook_weights_are_numpys, 0, COUNT(handbook_cases));
    tcase_add_test(cases, seeds_default_to_0_and_files_repeat);
    tcase_add_loop_test(cases, wrong_use_is_refused, 0, COUNT(wrong_uses));
    tcase_add_test(cases, full_disk_leaves_nothing);
    suite_add_tcase(suite, cases);
    return suite;
}
