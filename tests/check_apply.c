#include "check_apply.h"

#include <math.h>
#include <string.h>

#include <mha/rng.h>

#include "folder.h"
#include "program_cases.h"

Suite *apply_suite(void);

void input_set(struct input *input, mha_array array) {
    size_t i = 0;
    while (i < input->count && strcmp(input->at[i].name, array.name) != 0) {
        i++;
    }
    input->count += i == input->count ? 1 : 0;
    ck_assert_uint_le(input->count, INPUT_MOST);
    input->at[i] = array;
}

void input_remove(struct input *input, const char *name) {
    for (size_t i = 0; i < input->count; i++) {
        if (strcmp(input->at[i].name, name) == 0) {
            input->at[i] = input->at[--input->count];
            return;
        }
    }
    ck_abort_msg("there is no %s", name);
}

static void draw(double *numbers, size_t count, mha_rng *rng) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = mha_rng_normal(rng);
    }
}

void lesson_fill(struct lesson *lesson) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){4}, 1);
    draw(lesson->query, B * T * D, &rng);
    draw(lesson->context, B * S * D, &rng);
    mha_rng_seed(&rng, (uint64_t[]){0}, 1);
    draw(lesson->weights[0], 4 * D * D, &rng);
    for (size_t i = 0; i < 4 * D * D; i++) {
        lesson->weights[i / (D * D)][i % (D * D)] /= sqrt(D);
    }
    mha_rng_seed(&rng, (uint64_t[]){6}, 1);
    draw(lesson->grad_output, B * T * D, &rng);
    lesson->heads = H;
}

static const char *const weight_names[] = {"wq", "wk", "wv", "wo"};

struct input lesson_input(const struct lesson *lesson) {
    struct input input = {.count = 0};
    input_set(&input, DOUBLES("query", lesson->query, B, T, D));
    input_set(&input, DOUBLES("context", lesson->context, B, S, D));
    for (size_t i = 0; i < 4; i++) {
        input_set(&input, DOUBLES(weight_names[i], lesson->weights[i], D, D));
    }
    input_set(&input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &lesson->heads});
    return input;
}

struct input mean_input(const double *query, size_t t, const double *context, size_t s) {
    static const double zero = 0.0, one = 1.0;
    static const int64_t heads = 1;
    struct input input = {.count = 0};
    input_set(&input, DOUBLES("query", query, 1, t, 1));
    if (context != NULL) {
        input_set(&input, DOUBLES("context", context, 1, s, 1));
    }
    for (size_t i = 0; i < 4; i++) {
        input_set(&input, DOUBLES(weight_names[i], i < 2 ? &zero : &one, 1, 1));
    }
    input_set(&input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads});
    return input;
}

/* The words of the command in the test's folder. */
struct command_words {
    const char *at[24];
};

static struct command_words command_of(const char *const *options) {
    struct command_words words = {{"apply", "in.npz", "-o", "out.npz"}};
    for (size_t i = 0; options[i] != NULL; i++) {
        words.at[4 + i] = options[i];
    }
    return words;
}

static void write_input(const struct input *input) {
    mha_error error;
    ck_assert_msg(mha_npz_write(folder_path("in.npz"), input->at, input->count, &error) == MHA_OK,
        "%s", error.text);
}

mha_arrays *apply(const struct input *input, const char *const *options) {
    write_input(input);
    struct outcome outcome = run_well(command_of(options).at);
    ck_assert_str_eq(outcome.out, "");
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
    return read_arrays_with(mha_npz_read, "out.npz");
}

const double *doubles_of(
    const mha_arrays *arrays, const char *name, size_t rank, const size_t *dims) {
    const mha_array *array = mha_arrays_find(arrays, name);
    ck_assert_msg(array != NULL, "no %s", name);
    ck_assert_int_eq(array->dtype, MHA_FLOAT64);
    ck_assert_uint_eq(array->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        ck_assert_msg(array->dims[i] == dims[i], "%s has %zu, not %zu in axis %zu", name,
            array->dims[i], dims[i], i);
    }
    return array->data;
}

void assert_apply_refuses(const struct input *input, const char *const *options, const char *text) {
    write_input(input);
    assert_program_refuses(command_of(options).at, text);
}

Suite *apply_suite(void) {
    Suite *suite = suite_create("apply");
    suite_add_tcase(suite, apply_numbers());
    suite_add_tcase(suite, apply_gradients());
    suite_add_tcase(suite, apply_kernels());
    suite_add_tcase(suite, apply_masks());
    suite_add_tcase(suite, apply_refusals());
    suite_add_tcase(suite, apply_files());
    return suite;
}
