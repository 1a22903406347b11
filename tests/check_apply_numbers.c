/* The numbers of `mha apply`: the lesson's, and the same in every precision and weight layout. */
#include "check_apply.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "program_cases.h"

static void assert_near(double found, double expected) {
    ck_assert_msg(
        fabs(found - expected) <= 1e-12 * fabs(expected), "%.17g, not %.17g", found, expected);
}

START_TEST(the_lessons_numbers) {
    struct lesson lesson;
    lesson_fill(&lesson);
    ck_assert(lesson.weights[0][0] == 0.04445234596761114);
    ck_assert(lesson.weights[0][1] == -0.046706122330500685);
    ck_assert(lesson.weights[0][2] == 0.2264235994769533);
    const struct input input = lesson_input(&lesson);
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    ck_assert_uint_eq(mha_arrays_count(arrays), 2);
    const double *output = RESULT(arrays, "output", B, T, D);
    const double *weights = RESULT(arrays, "weights", B, H, T, S);
    double sum = 0.0;
    for (size_t i = 0; i < B * T * D; i++) {
        sum += output[i];
    }
    assert_near(sum, 12.038959065698084);
    assert_near(output[0], -0.4100551479247409);
    assert_near(output[1], -0.8449866700028672);
    assert_near(output[2], 0.3468450211882493);
    assert_near(weights[0], 0.10824182895061817);
    assert_near(weights[1], 0.22017095956060376);
    assert_near(weights[2], 0.22096203554329957);
    mha_arrays_free(arrays);
}
END_TEST

/* |a - b| / |b| over all numbers of an array, a of floats and b of doubles. */
static double relative_difference(
    const mha_arrays *floats, const mha_arrays *doubles, const char *name) {
    const mha_array *in_a = mha_arrays_find(floats, name);
    const mha_array *in_b = mha_arrays_find(doubles, name);
    ck_assert_int_eq(in_a->dtype, MHA_FLOAT32);
    ck_assert_int_eq(in_b->dtype, MHA_FLOAT64);
    const float *a = in_a->data;
    const double *b = in_b->data;
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < mha_array_count(in_b); i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += b[i] * b[i];
    }
    ck_assert_double_gt(norm, 0.0);
    return sqrt(difference / norm);
}

/* The lesson with floats in place of doubles. */
struct float_lesson {
    float query[B * T * D], context[B * S * D], weights[4][D * D], grad_output[B * T * D];
};

static void round_numbers(float *to, double *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (float)from[i];
        from[i] = (double)to[i];
    }
}

/* Rounds the lesson, so that both hold the same numbers, and adds grad_output to its input. */
static struct input rounded_input(struct float_lesson *rounded, struct lesson *lesson) {
    round_numbers(rounded->query, lesson->query, B * T * D);
    round_numbers(rounded->context, lesson->context, B * S * D);
    round_numbers(rounded->grad_output, lesson->grad_output, B * T * D);
    round_numbers(rounded->weights[0], lesson->weights[0], 4 * D * D);
    struct input input = lesson_input(lesson);
    input_set(&input, DOUBLES("grad_output", lesson->grad_output, B, T, D));
    return input;
}

static void set_floats(struct input *input, const char *name, const float *numbers) {
    size_t i = 0;
    while (strcmp(input->at[i].name, name) != 0) {
        i++;
    }
    input->at[i].dtype = MHA_FLOAT32;
    input->at[i].data = numbers;
}

static void set_all_floats(struct input *input, const struct float_lesson *rounded) {
    set_floats(input, "query", rounded->query);
    set_floats(input, "context", rounded->context);
    set_floats(input, "grad_output", rounded->grad_output);
    set_floats(input, "wq", rounded->weights[0]);
    set_floats(input, "wk", rounded->weights[1]);
    set_floats(input, "wv", rounded->weights[2]);
    set_floats(input, "wo", rounded->weights[3]);
}

START_TEST(floats_give_floats_near_the_doubles) {
    struct lesson lesson;
    struct float_lesson rounded;
    lesson_fill(&lesson);
    struct input input = rounded_input(&rounded, &lesson);
    mha_arrays *doubles = apply(&input, NO_OPTIONS);
    set_all_floats(&input, &rounded);
    mha_arrays *floats = apply(&input, NO_OPTIONS);
    ck_assert_uint_eq(mha_arrays_count(floats), 8);
    for (size_t i = 0; i < 8; i++) {
        const char *name = mha_arrays_at(floats, i)->name;
        const double difference = relative_difference(floats, doubles, name);
        ck_assert_msg(difference <= 2e-6, "%s: %g", name, difference);
    }
    mha_arrays_free(doubles);
    mha_arrays_free(floats);
}
END_TEST

/* Where one array is double, all is done in double, to the bit. */
START_TEST(one_array_of_doubles_is_enough) {
    struct lesson lesson;
    struct float_lesson rounded;
    lesson_fill(&lesson);
    const struct input all = rounded_input(&rounded, &lesson);
    mha_arrays *doubles = apply(&all, NO_OPTIONS);
    static const char *const names[] = {"query", "context", "grad_output", "wk"};
    for (size_t i = 0; i < 4; i++) {
        struct input input = all;
        set_all_floats(&input, &rounded);
        for (size_t j = 0; j < all.count; j++) {
            if (strcmp(all.at[j].name, names[i]) == 0) {
                input_set(&input, all.at[j]);
            }
        }
        mha_arrays *mixed = apply(&input, NO_OPTIONS);
        assert_same_arrays(mixed, doubles);
        mha_arrays_free(mixed);
    }
    mha_arrays_free(doubles);
}
END_TEST

/* A mask or lengths, however wide their integers, do not make the pass double. */
START_TEST(integers_do_not_make_it_double) {
    struct lesson lesson;
    struct float_lesson rounded;
    lesson_fill(&lesson);
    struct input input = rounded_input(&rounded, &lesson);
    set_all_floats(&input, &rounded);
    static const int64_t lengths[] = {6, 3};
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    ck_assert_int_eq(mha_arrays_find(arrays, "output")->dtype, MHA_FLOAT32);
    mha_arrays_free(arrays);
}
END_TEST

/* to (cols,rows) is from (rows,cols) turned over. */
static void transpose(double *to, const double *from, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows * cols; i++) {
        to[i % cols * rows + i / cols] = from[i];
    }
}

/* The lesson's arrays with the weights as torch stores them; its gradients stay (in,out). */
START_TEST(weights_in_torchs_layout_give_the_same) {
    struct lesson lesson;
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_set(&input, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    static double in_proj[3 * D * D], out_proj[D * D];
    for (size_t i = 0; i < 3; i++) {
        transpose(in_proj + i * D * D, lesson.weights[i], D, D);
    }
    transpose(out_proj, lesson.weights[3], D, D);
    static const char *const names[] = {"wq", "wk", "wv", "wo", "heads"};
    for (size_t i = 0; i < 5; i++) {
        input_remove(&input, names[i]);
    }
    assert_apply_refuses(&input, WORDS("--heads", "2"), "in.npz");
    struct input weights = {.count = 0};
    input_set(&weights, DOUBLES("encoder.in_proj_weight", in_proj, 3 * D, D));
    input_set(&weights, DOUBLES("encoder.out_proj.weight", out_proj, D, D));
    ck_assert_int_eq(mha_npz_write(folder_path("w.npz"), weights.at, weights.count, NULL), MHA_OK);
    assert_apply_refuses(&input, WORDS("--weights", "w.npz"),
        "w.npz does not tell the number of heads: give --heads, or an integer array 'heads'");
    mha_arrays *beside = apply(&input, WORDS("--weights", "w.npz", "--heads", "2"));
    assert_same_arrays(beside, expected);
    input_set(&input, weights.at[0]);
    input_set(&input, weights.at[1]);
    mha_arrays *within = apply(&input, WORDS("--heads=2", "--layout=torch", "--prefix=encoder."));
    assert_same_arrays(within, expected);
    mha_arrays_free(within);
    mha_arrays_free(beside);
    mha_arrays_free(expected);
}
END_TEST

/* Names that tell no layout: the option does, and it matters. */
START_TEST(the_layout_may_have_to_be_told) {
    struct lesson lesson;
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    input.at[2].name = "Wq";
    input.at[3].name = "Wk";
    input.at[4].name = "Wv";
    input.at[5].name = "Wo";
    assert_apply_refuses(&input, NO_OPTIONS, "--layout");
    mha_arrays *same = apply(&input, WORDS("--layout", "lesson"));
    assert_same_arrays(same, expected);
    mha_arrays *turned = apply(&input, WORDS("--layout", "torch-linear"));
    ck_assert(*RESULT(turned, "output", B, T, D) != *RESULT(expected, "output", B, T, D));
    mha_arrays_free(turned);
    mha_arrays_free(same);
    mha_arrays_free(expected);
}
END_TEST

TCase *apply_numbers(void) {
    TCase *numbers = tcase_create("numbers");
    tcase_add_checked_fixture(numbers, folder_make, folder_remove);
    tcase_add_test(numbers, the_lessons_numbers);
    tcase_add_test(numbers, floats_give_floats_near_the_doubles);
    tcase_add_test(numbers, one_array_of_doubles_is_enough);
    tcase_add_test(numbers, integers_do_not_make_it_double);
    tcase_add_test(numbers, weights_in_torchs_layout_give_the_same);
    tcase_add_test(numbers, the_layout_may_have_to_be_told);
    return numbers;
}
