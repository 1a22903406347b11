/* What `mha apply` refuses, each with its line, and without touching the output. */
#include "check_apply.h"

#include <math.h>
#include <stdint.h>

#include "folder.h"
#include "program_cases.h"

static struct lesson lesson;
static const float float_pairs[T * S];
static const int64_t integers[B * S * D];

/* The lesson with one array more, or another of that name, is refused. */
static void assert_refuses_with(mha_array array, const char *text) {
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_set(&input, array);
    assert_apply_refuses(&input, NO_OPTIONS, text);
}

START_TEST(streams_of_wrong_shapes) {
    lesson_fill(&lesson);
    const double *numbers = lesson.weights[0];
    assert_refuses_with(DOUBLES("query", numbers, T, D),
        "in.npz: query has shape (4, 8), (batch, target length, width) is needed");
    assert_refuses_with(DOUBLES("context", numbers, 1, B, S, D),
        "in.npz: context has shape (1, 2, 6, 8), (batch, source length, width) is needed");
    assert_refuses_with(DOUBLES("context", numbers, 3, S, D),
        "in.npz: context (3, 6, 8) has batch 3, query (2, 4, 8) has 2");
    assert_refuses_with(DOUBLES("context", numbers, B, S, 4),
        "in.npz: context (2, 6, 4) has width 4, query (2, 4, 8) has 8");
    assert_refuses_with(DOUBLES("query", numbers, B, T, 5),
        "in.npz: context (2, 6, 8) has width 8, query (2, 4, 5) has 5");
    assert_refuses_with(DOUBLES("grad_output", numbers, B, S, D),
        "in.npz: grad_output (2, 6, 8) has target length 6, query (2, 4, 8) has 4");
    assert_refuses_with(DOUBLES("grad_output", numbers, T, D),
        "in.npz: grad_output has shape (4, 8), (batch, target length, width) is needed");
}
END_TEST

START_TEST(streams_of_wrong_dtypes) {
    assert_refuses_with(ARRAY("query", MHA_INT64, integers, B, T, D),
        "in.npz: query is int64, floating numbers are needed");
    assert_refuses_with(ARRAY("context", MHA_UINT8, integers, B, S, D),
        "in.npz: context is uint8, floating numbers are needed");
    assert_refuses_with(ARRAY("grad_output", MHA_BOOL, integers, B, T, D),
        "in.npz: grad_output is bool, floating numbers are needed");
}
END_TEST

START_TEST(a_missing_query) {
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_remove(&input, "query");
    assert_apply_refuses(&input, NO_OPTIONS, "in.npz: no array 'query'");
}
END_TEST

START_TEST(numbers_that_are_not_finite) {
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_set(&input, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    const struct {
        double *at, value;
        const char *text;
    } cases[] = {
        {&lesson.query[3 * D + 1], (double)NAN, "in.npz: query[0, 3, 1] is nan"},
        {&lesson.query[B * T * D - 1], -(double)INFINITY, "in.npz: query[1, 3, 7] is -inf"},
        {&lesson.grad_output[0], (double)INFINITY, "in.npz: grad_output[0, 0, 0] is inf"},
        {&lesson.weights[1][2 * D + 5], -(double)NAN, "in.npz: wk[2, 5] is nan"},
        {&lesson.weights[3][D * D - 1], (double)INFINITY, "in.npz: wo[7, 7] is inf"},
        {&lesson.context[D], (double)NAN,
            "in.npz: context[0, 1, 0] is nan in a row that a query sees"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double kept = *cases[i].at;
        *cases[i].at = cases[i].value;
        assert_apply_refuses(&input, NO_OPTIONS, cases[i].text);
        *cases[i].at = kept;
    }
}
END_TEST

START_TEST(masks_of_wrong_dtypes_and_values) {
    assert_refuses_with(ARRAY("mask", MHA_FLOAT32, float_pairs, T, S),
        "in.npz: mask is float32, a mask holds booleans (true = allowed) or integers of 0 and 1");
    unsigned char bytes[T * S] = {1, 0, 1, 1, 1, 1, 255};
    assert_refuses_with(ARRAY("mask", MHA_UINT8, bytes, T, S),
        "in.npz: mask[1, 0] is 255, neither 0 (blocked) nor 1 (allowed)");
    int64_t wide[T * S] = {[T * S - 1] = INT64_MIN};
    assert_refuses_with(ARRAY("mask", MHA_INT64, wide, T, S),
        "in.npz: mask[3, 5] is -9223372036854775808, neither 0 (blocked) nor 1 (allowed)");
    wide[T * S - 1] = 256; /* 0 in its lowest byte */
    assert_refuses_with(ARRAY("mask", MHA_INT64, wide, T, S), "in.npz: mask[3, 5] is 256, neither");
}
END_TEST

START_TEST(masks_of_wrong_shapes) {
    static const unsigned char bytes[B * H * T * S];
    assert_refuses_with(ARRAY("mask", MHA_BOOL, bytes, S, T),
        "in.npz: mask (6, 4) does not fit (target length, source length) = (4, 6)");
    assert_refuses_with(
        ARRAY("mask", MHA_BOOL, bytes, B, S), "in.npz: mask (2, 6) looks like padding");
    assert_refuses_with(ARRAY("mask", MHA_BOOL, bytes, B, T, S),
        "in.npz: a rank-3 mask could belong to 2 samples or to 2 heads");
    assert_refuses_with(
        ARRAY("mask", MHA_BOOL, bytes, S), "in.npz: a mask of rank 1 is not 2, 3 or 4");
    assert_refuses_with(
        ARRAY("mask", MHA_BOOL, bytes, 1, 1, 1, T, S), "in.npz: a mask of rank 5 is not 2, 3 or 4");
}
END_TEST

START_TEST(lengths_that_do_not_fit) {
    static const int64_t longer[] = {3, 7}, negative[] = {-1, 3};
    static const double doubles[] = {3, 3};
    assert_refuses_with(ARRAY("lengths", MHA_INT64, longer, B),
        "in.npz: length 7 of sample 1 exceeds the source length 6");
    assert_refuses_with(
        ARRAY("lengths", MHA_INT64, negative, B), "in.npz: length -1 of sample 0 is below 0");
    assert_refuses_with(
        DOUBLES("lengths", doubles, B), "in.npz: lengths is float64, integers are needed");
    assert_refuses_with(
        ARRAY("lengths", MHA_BOOL, integers, B), "in.npz: lengths is bool, integers are needed");
    assert_refuses_with(ARRAY("lengths", MHA_INT64, integers, 3),
        "in.npz: lengths has shape (3,), (batch) = (2,) is needed");
    assert_refuses_with(ARRAY("lengths", MHA_INT64, integers, B, 1),
        "in.npz: lengths has shape (2, 1), (batch) = (2,) is needed");
}
END_TEST

START_TEST(causal_needs_its_alignment) {
    lesson_fill(&lesson);
    const struct input input = lesson_input(&lesson);
    assert_apply_refuses(&input, WORDS("--causal"),
        "in.npz: causal with target length 4 and source length 6 needs an alignment");
    assert_apply_refuses(
        &input, WORDS("--causal=left"), "--causal 'left' is none of top-left, bottom-right, off");
}
END_TEST

START_TEST(weights_that_do_not_fit) {
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    for (size_t i = 0; i < 4; i++) {
        input_set(&input, DOUBLES(names[i], lesson.weights[i], 5, 5));
    }
    input_remove(&input, "heads");
    assert_apply_refuses(
        &input, WORDS("--heads", "1"), "in.npz: query (2, 4, 8) has width 8, the weights have 5");
    assert_apply_refuses(&input, WORDS("--heads", "2"), "width 5 is not divisible by 2 heads");
    assert_apply_refuses(&input, NO_OPTIONS, "in.npz does not tell the number of heads");
    input_remove(&input, "wv");
    assert_apply_refuses(&input, NO_OPTIONS, "wv");
}
END_TEST

START_TEST(weights_in_two_places) {
    lesson_fill(&lesson);
    const struct input input = lesson_input(&lesson);
    ck_assert_int_eq(mha_npz_write(folder_path("w.npz"), input.at, input.count, NULL), MHA_OK);
    assert_apply_refuses(&input, WORDS("--weights", "w.npz"),
        "weights stand in in.npz and in --weights w.npz, one of them is needed");
}
END_TEST

START_TEST(wrong_use) {
    assert_program_refuses(WORDS("apply", "-o", "out.npz"), "IN is missing");
    assert_program_refuses(WORDS("apply", "in.npz"), "-o OUT is missing");
    assert_program_refuses(
        WORDS("apply", "a", "b", "-o", "c"), "one IN is expected, 'a' and 'b' are given");
    assert_program_refuses(
        WORDS("apply", "in.npz", "-o", "out.npz", "--layout", "unknown"), "--layout 'unknown'");
    assert_program_refuses(
        WORDS("apply", "in.npz", "-o", "out.npz", "--heads", "0"), "--heads '0'");
    assert_program_refuses(WORDS("apply", "in.npz", "-o", "out.npz"), "in.npz");
    lesson_fill(&lesson);
    const struct input input = lesson_input(&lesson);
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), input.at, input.count, NULL), MHA_OK);
    assert_program_refuses(WORDS("apply", "in.npz", "-o", "out.txt"), "out.txt");
    assert_program_refuses(WORDS("apply", "in.npz", "-o", "no/out.npz"), "no/out.npz");
    assert_program_refuses(
        WORDS("apply", "in.npz", "-o", "out.npz", "--max-bytes", "100"), "in.npz");
}
END_TEST

TCase *apply_refusals(void) {
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, folder_make, folder_remove);
    tcase_add_test(refusals, streams_of_wrong_shapes);
    tcase_add_test(refusals, streams_of_wrong_dtypes);
    tcase_add_test(refusals, a_missing_query);
    tcase_add_test(refusals, numbers_that_are_not_finite);
    tcase_add_test(refusals, masks_of_wrong_dtypes_and_values);
    tcase_add_test(refusals, masks_of_wrong_shapes);
    tcase_add_test(refusals, lengths_that_do_not_fit);
    tcase_add_test(refusals, causal_needs_its_alignment);
    tcase_add_test(refusals, weights_that_do_not_fit);
    tcase_add_test(refusals, weights_in_two_places);
    tcase_add_test(refusals, wrong_use);
    return refusals;
}
