/* What mha gradcheck --case refuses, each with its line. */
#include "case_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_assert.h"
#include "case_file.h"
#include "folder.h"
#include "npz_maker.h"
#include "program_cases.h"

static struct case_file file;

static void fill(void) {
    const mha_shape shape = case_file_shape(false);
    case_file_fill(&file, &shape, false, CASE_OPEN, MHA_FLOAT64);
}

static void put_extra(mha_array array) {
    ck_assert_uint_lt(file.extra_count, CASE_FILE_EXTRA);
    file.extra[file.extra_count++] = array;
}

static void assert_refuses_with(mha_array array, const char *text) {
    fill();
    put_extra(array);
    assert_case_refused(&file, text);
}

START_TEST(files_that_are_none) {
    assert_program_refuses(WORDS("gradcheck", "--case", "missing.npz"), "missing.npz");
    assert_program_refuses(WORDS("gradcheck", "--case", ""), "");
    assert_program_refuses(WORDS("gradcheck", "--case", "."), ".");
    assert_program_refuses(WORDS("gradcheck", "--case", "no/where.npz"), "no/where.npz");
    folder_write("text.npz", "grad_wq", 7);
    assert_program_refuses(WORDS("gradcheck", "--case", "text.npz"), "text.npz");
    folder_write("empty.npz", "", 0);
    assert_program_refuses(WORDS("gradcheck", "--case", "empty.npz"), "empty.npz");
    assert_program_refuses(WORDS("gradcheck", "--case"), "--case");
    assert_program_refuses(WORDS("gradcheck", "case.npz"), "unexpected argument 'case.npz'");
}
END_TEST

/* A name as long as a system call takes, and one that is longer. */
START_TEST(long_file_names) {
    for (size_t length = 200; length <= 102400; length *= 8) {
        char *name = calloc(length + 1, 1);
        ck_assert_ptr_nonnull(name);
        memset(name, 'x', length);
        assert_program_refuses(WORDS("gradcheck", "--case", name), "xxxx");
        free(name);
    }
}
END_TEST

START_TEST(nothing_to_check) {
    fill();
    file.claimed = 0;
    assert_case_refused(&file,
        "case.npz holds no gradient to check: grad_query, grad_context, grad_wq, grad_wk, grad_wv "
        "or grad_wo");
}
END_TEST

START_TEST(nothing_to_check_with) {
    static const double zeros[2 * 3 * 8];
    assert_refuses_with((mha_array){.name = "grad_output"},
        "case.npz: no array 'grad_output', the gradient of the loss by the output");
    assert_refuses_with(ARRAY("grad_output", MHA_FLOAT64, zeros, 2, 3, 8),
        "case.npz: grad_output holds nothing but zeros: gradients would be zero");
    assert_refuses_with(ARRAY("grad_output", MHA_FLOAT64, zeros, 2, 3, 7), "grad_output (2, 3, 7)");
    case_file_fill(&file, &(mha_shape){2, 0, 4, 8, 2}, false, CASE_OPEN, MHA_FLOAT64);
    assert_case_refused(&file, "case.npz: grad_output holds no number");
    case_file_fill(&file, &(mha_shape){0, 3, 4, 8, 2}, false, CASE_OPEN, MHA_FLOAT64);
    assert_case_refused(&file, "case.npz: grad_output holds no number");
}
END_TEST

START_TEST(names_that_mean_nothing) {
    static const double numbers[64];
    assert_refuses_with(ARRAY("grad_wz", MHA_FLOAT64, numbers, 8, 8),
        "case.npz: grad_wz is none of: grad_query grad_context grad_wq grad_wk grad_wv grad_wo ");
    assert_refuses_with(ARRAY("grad_", MHA_FLOAT64, numbers, 8, 8), "case.npz: grad_ is none of:");
    assert_refuses_with(
        ARRAY("grad_attention_weights", MHA_FLOAT64, numbers, 8, 8), "is none of: grad_query");
    char name[512] = "grad_";
    memset(name + 5, 'y', sizeof name - 6);
    assert_refuses_with(ARRAY(name, MHA_FLOAT64, numbers, 8, 8), "case.npz: grad_yyyy");
}
END_TEST

START_TEST(numbers_that_are_whole) {
    static const int64_t integers[64];
    static const unsigned char bytes[64];
    assert_refuses_with(ARRAY("grad_wq", MHA_INT64, integers, 8, 8),
        "case.npz: grad_wq is int64, float32 or float64 is needed");
    assert_refuses_with(ARRAY("grad_wo", MHA_BOOL, bytes, 8, 8),
        "case.npz: grad_wo is bool, float32 or float64 is needed");
}
END_TEST

/* Read as float32, but rounded as float16. */
START_TEST(half_precision) {
    static const int16_t halves[64];
    static struct arrays { char name[32]; } names[32];
    fill();
    case_file_write(&file, "whole.npz");
    mha_arrays *arrays = read_arrays_with(mha_npz_read, "whole.npz");
    make_zip_begin();
    for (size_t i = 0; i < mha_arrays_count(arrays); i++) {
        const mha_array *array = mha_arrays_at(arrays, i);
        char shape[MHA_SHAPE_TEXT_SIZE], header[512];
        const bool half = strcmp(array->name, "grad_wk") == 0;
        snprintf(names[i].name, sizeof names[i].name, "%s.npy", array->name);
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
            half                        ? "<f2"
            : array->dtype == MHA_INT64 ? "<i8"
                                        : "<f8",
            mha_array_shape_text(shape, array));
        make_npy_of(1, header, half ? (const void *)halves : array->data,
            mha_array_count(array) * (half ? 2 : mha_dtype_bytes(array->dtype)));
        make_zip_member(names[i].name);
    }
    make_zip_end();
    mha_arrays_free(arrays);
    folder_write("half.npz", made_zip.at, made_zip.size);
    assert_program_refuses(WORDS("gradcheck", "--case", "half.npz"),
        "half.npz: grad_wk is float16, float32 or float64 is needed");
}
END_TEST

/* Both shapes are named. */
START_TEST(wrong_shapes) {
    static const double numbers[256];
    assert_refuses_with(ARRAY("grad_wk", MHA_FLOAT64, numbers, 8, 7),
        "case.npz: grad_wk has shape (8, 7), (8, 8) is needed");
    assert_refuses_with(ARRAY("grad_wk", MHA_FLOAT64, numbers, 64),
        "case.npz: grad_wk has shape (64,), (8, 8) is needed");
    assert_refuses_with(ARRAY("grad_query", MHA_FLOAT64, numbers, 3, 2, 8),
        "case.npz: grad_query has shape (3, 2, 8), (2, 3, 8) is needed");
    assert_refuses_with(ARRAY("grad_context", MHA_FLOAT64, numbers, 2, 3, 8),
        "case.npz: grad_context has shape (2, 3, 8), (2, 4, 8) is needed");
    assert_refuses_with(ARRAY("grad_scores", MHA_FLOAT64, numbers, 2, 2, 4, 3),
        "case.npz: grad_scores has shape (2, 2, 4, 3), (2, 2, 3, 4) is needed");
    assert_refuses_with(ARRAY("grad_q_heads", MHA_FLOAT64, numbers, 2, 3, 2, 4),
        "case.npz: grad_q_heads has shape (2, 3, 2, 4), (2, 2, 3, 4) is needed");
    assert_refuses_with(ARRAY("grad_wo", MHA_FLOAT64, numbers, 1, 1, 1, 1, 1, 1, 8, 8),
        "case.npz: grad_wo has shape (1, 1, 1, 1, 1, 1, 8, 8), (8, 8) is needed");
    assert_refuses_with((mha_array){.name = "grad_wo", .dtype = MHA_FLOAT64, .data = numbers},
        "case.npz: grad_wo has shape (), (8, 8) is needed");
}
END_TEST

START_TEST(a_gradient_of_no_context) {
    const mha_shape shape = case_file_shape(true);
    case_file_fill(&file, &shape, true, CASE_OPEN, MHA_FLOAT64);
    file.claimed |= BIT_OF(MHA_SOURCE);
    assert_case_refused(&file,
        "case.npz: grad_context is given, but no context: in self-attention all of it is "
        "grad_query");
}
END_TEST

START_TEST(heads_that_nobody_tells) {
    fill();
    put_extra((mha_array){.name = "heads"});
    assert_case_refused(&file, "case.npz does not tell the number of heads");
    assert_program_refuses(
        WORDS("gradcheck", "--case", "case.npz", "--heads", "3"), "is not divisible by 3 heads");
    assert_program_refuses(WORDS("gradcheck", "--case", "case.npz", "--heads", "0"), "--heads '0'");
}
END_TEST

START_TEST(options_that_do_not_go_with_it) {
    static const char *const options[][2] = {{"--op", "softmax"}, {"--seed", "1"}, {"--seed", "0"},
        {"--batch", "2"}, {"--target-length", "3"}, {"--source-length", "4"}, {"--width", "8"},
        {"--kernel", "fused"}, {"--mode", "tiled"}, {"--threads", "1"}};
    fill();
    case_file_write(&file, "case.npz");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_program_refuses(
            WORDS("gradcheck", "--case", "case.npz", options[i][0], options[i][1]),
            "--case has the sizes of its arrays: nothing but --causal and --heads goes with it");
    }
    assert_program_refuses(
        WORDS("gradcheck", "--case", "case.npz", "--self-test"), "does not go with --case");
    assert_program_refuses(WORDS("gradcheck", "--case", "case.npz", "--causal"),
        "case.npz: causal with target length 3 and source length 4 needs an alignment");
}
END_TEST

/* Whatever overflows, nothing is called right that cannot be told, and nothing crashes. */
START_TEST(huge_numbers) {
    static const double sizes[] = {1e60, 1e100, 1e154, 1e200, 1e308};
    fill();
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        double *numbers = _i / 5 == 0 ? file.leaf[value] : file.grad_output;
        for (size_t i = 0; i < 48; i++) {
            numbers[i] = (numbers[i] > 0 ? 1.0 : -0.9) * sizes[_i % 5];
        }
    }
    for (size_t i = 0; i < 48; i++) {
        file.gradient[MHA_WO][i] = 1.0;
    }
    case_file_write(&file, "case.npz");
    struct outcome outcome = run_program(folder_path(""), WORDS("gradcheck", "--case", "case.npz"));
    ck_assert_msg(outcome.status == 1 || outcome.status == 2, "status %d: %s%s", outcome.status,
        outcome.err, outcome.out);
    ck_assert_ptr_null(strstr(outcome.out, "\nPASS:"));
    outcome_free(&outcome);
}
END_TEST

START_TEST(numbers_that_are_not_finite) {
    fill();
    file.leaf[MHA_SOURCE][0] = (double)NAN;
    assert_case_refused(&file, "case.npz: context[0, 0, 0] is nan in a row that a query sees");
    fill();
    file.leaf[MHA_QUERY][9] = HUGE_VAL;
    assert_case_refused(&file, "case.npz: query[0, 1, 1] is inf");
    fill();
    file.grad_output[8] = (double)NAN;
    assert_case_refused(&file, "case.npz: grad_output[0, 1, 0] is nan");
    fill();
    file.leaf[MHA_WV][8] = (double)NAN;
    assert_case_refused(&file, "case.npz");
}
END_TEST

/* Attention weights that no machine holds, of numbers that any does. */
START_TEST(more_than_the_machine_has) {
    enum { T = 1 << 21 };
    static double numbers[T];
    static const double one = 1.0;
    static const int64_t heads = 1;
    static const char *const names[] = {"wq", "wk", "wv", "wo", "grad_wq"};
    mha_array arrays[8] = {ARRAY("query", MHA_FLOAT64, numbers, 1, T, 1),
        ARRAY("grad_output", MHA_FLOAT64, numbers, 1, T, 1),
        {.name = "heads", .dtype = MHA_INT64, .data = &heads}};
    for (size_t i = 0; i < 5; i++) {
        arrays[3 + i] = ARRAY(names[i], MHA_FLOAT64, &one, 1, 1);
    }
    numbers[0] = 1.0;
    ck_assert_int_eq(mha_npz_write(folder_path("large.npz"), arrays, 8, NULL), MHA_OK);
    assert_program_refuses(WORDS("gradcheck", "--case", "large.npz"), "no memory for 4 times ");
}
END_TEST

START_TEST(a_mask_of_another_shape) {
    static const unsigned char bytes[64];
    assert_refuses_with(ARRAY("mask", MHA_BOOL, bytes, 4, 3),
        "case.npz: mask (4, 3) does not fit (target length, source length) = (3, 4)");
}
END_TEST

TCase *case_refusals(void) {
    TCase *tests = tcase_create("refusals");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, files_that_are_none);
    tcase_add_test(tests, long_file_names);
    tcase_add_test(tests, nothing_to_check);
    tcase_add_test(tests, nothing_to_check_with);
    tcase_add_test(tests, names_that_mean_nothing);
    tcase_add_test(tests, numbers_that_are_whole);
    tcase_add_test(tests, half_precision);
    tcase_add_test(tests, wrong_shapes);
    tcase_add_test(tests, a_gradient_of_no_context);
    tcase_add_test(tests, heads_that_nobody_tells);
    tcase_add_test(tests, options_that_do_not_go_with_it);
    tcase_add_loop_test(tests, huge_numbers, 0, 10);
    tcase_add_test(tests, numbers_that_are_not_finite);
    tcase_add_test(tests, more_than_the_machine_has);
    tcase_add_test(tests, a_mask_of_another_shape);
    return tests;
}
