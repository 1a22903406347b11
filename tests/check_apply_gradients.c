/* The gradients that `mha apply` writes are those of the output that it writes. */
#include "check_apply.h"

#include <math.h>
#include <string.h>

#include <mha/rng.h>

#include "folder.h"

enum {
    MOVED = 6,       /* arrays that have a gradient */
    MOST = B * S * D /* numbers of one */
};

/* sum of grad_output * output */
static double loss_of(
    const struct input *input, const char *const *options, const double *grad_output) {
    mha_arrays *arrays = apply(input, options);
    const double *output = RESULT(arrays, "output", B, T, D);
    double sum = 0.0;
    for (size_t i = 0; i < B * T * D; i++) {
        sum += grad_output[i] * output[i];
    }
    mha_arrays_free(arrays);
    return sum;
}

/* Moves all numbers of an array along a random direction, both ways, and holds the difference of the
 * loss against the sum of gradient times movement. */
static void assert_gradient(const mha_arrays *gradients, const char *name, double *numbers,
    const struct input *input, const char *const *options, const double *grad_output) {
    const double step = 1e-5;
    const mha_array *gradient = mha_arrays_find(gradients, name);
    ck_assert_msg(gradient != NULL, "no %s", name);
    const size_t count = mha_array_count(gradient);
    double kept[MOST], direction[MOST], analytic = 0.0, losses[2];
    ck_assert_uint_le(count, MOST);
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){7}, 1);
    for (size_t i = 0; i < count; i++) {
        kept[i] = numbers[i];
        direction[i] = mha_rng_normal(&rng);
        analytic += ((const double *)gradient->data)[i] * direction[i];
    }
    for (size_t way = 0; way < 2; way++) {
        for (size_t i = 0; i < count; i++) {
            numbers[i] = kept[i] + (way == 0 ? step : -step) * direction[i];
        }
        losses[way] = loss_of(input, options, grad_output);
    }
    memcpy(numbers, kept, count * sizeof *kept);
    const double numeric = (losses[0] - losses[1]) / (2.0 * step);
    ck_assert_msg(fabs(analytic - numeric) <= 1e-7 * fabs(numeric),
        "%s: %.12g, by differences %.12g", name, analytic, numeric);
}

/* One array after the other. */
START_TEST(cross_attention) {
    static struct lesson lesson;
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    static const int64_t lengths[] = {6, 5};
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    const char *const *options = WORDS("--causal=bottom-right");
    struct input with_gradient = input;
    input_set(&with_gradient, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    mha_arrays *gradients = apply(&with_gradient, options);
    ck_assert_uint_eq(mha_arrays_count(gradients), 8);
    RESULT(gradients, "grad_query", B, T, D);
    RESULT(gradients, "grad_context", B, S, D);
    RESULT(gradients, "grad_wq", D, D);
    const struct {
        const char *name;
        double *numbers;
    } moved[MOVED] = {{"grad_query", lesson.query}, {"grad_context", lesson.context},
        {"grad_wq", lesson.weights[0]}, {"grad_wk", lesson.weights[1]},
        {"grad_wv", lesson.weights[2]}, {"grad_wo", lesson.weights[3]}};
    assert_gradient(
        gradients, moved[_i].name, moved[_i].numbers, &input, options, lesson.grad_output);
    mha_arrays_free(gradients);
}
END_TEST

/* The one input receives the query, key and value paths. */
START_TEST(self_attention) {
    static struct lesson lesson;
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_remove(&input, "context");
    const char *const *options = WORDS("--causal");
    struct input with_gradient = input;
    input_set(&with_gradient, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    mha_arrays *gradients = apply(&with_gradient, options);
    ck_assert_uint_eq(mha_arrays_count(gradients), 7);
    ck_assert_ptr_null(mha_arrays_find(gradients, "grad_context"));
    RESULT(gradients, "weights", B, H, T, T);
    assert_gradient(gradients, "grad_query", lesson.query, &input, options, lesson.grad_output);
    assert_gradient(gradients, "grad_wk", lesson.weights[1], &input, options, lesson.grad_output);
    mha_arrays_free(gradients);
}
END_TEST

/* A context that equals the query is still a stream of its own: its gradient and the query's add up
 * to that of self-attention. */
START_TEST(a_context_has_a_gradient_of_its_own) {
    static struct lesson lesson;
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_set(&input, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    input_set(&input, DOUBLES("context", lesson.query, B, T, D));
    mha_arrays *two = apply(&input, NO_OPTIONS);
    input_remove(&input, "context");
    mha_arrays *one = apply(&input, NO_OPTIONS);
    assert_same_named(one, two, "output");
    assert_same_named(one, two, "weights");
    const double *query = RESULT(two, "grad_query", B, T, D);
    const double *context = RESULT(two, "grad_context", B, T, D);
    const double *both = RESULT(one, "grad_query", B, T, D);
    for (size_t i = 0; i < B * T * D; i++) {
        ck_assert_double_eq_tol(query[i] + context[i], both[i], 1e-13);
    }
    mha_arrays_free(two);
    mha_arrays_free(one);
}
END_TEST

TCase *apply_gradients(void) {
    TCase *gradients = tcase_create("gradients");
    tcase_add_checked_fixture(gradients, folder_make, folder_remove);
    tcase_add_loop_test(gradients, cross_attention, 0, MOVED);
    tcase_add_test(gradients, self_attention);
    tcase_add_test(gradients, a_context_has_a_gradient_of_its_own);
    return gradients;
}
