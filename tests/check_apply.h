/* Shared by the tests of `mha apply`: arrays written to a file, the program run on it as a user does,
 * and its results read back. All files stand in the folder of the test. */
#ifndef TESTS_CHECK_APPLY_H
#define TESTS_CHECK_APPLY_H

#include <check.h>
#include <stdbool.h>

#include <mha/io.h>

#include "array_assert.h"
#include "program.h"

/* An mha_array of doubles. */
#define DOUBLES(its_name, its_data, ...) ARRAY(its_name, MHA_FLOAT64, its_data, __VA_ARGS__)

/* Arrays of an input file, by name. */
enum { INPUT_MOST = 16 };
struct input {
    mha_array at[INPUT_MOST];
    size_t count;
};

/* Adds an array, or replaces the one of that name. */
void input_set(struct input *input, mha_array array);
void input_remove(struct input *input, const char *name);

/* The cross-attention example of the lesson: query (2,4,8) and context (2,6,8) from default_rng(4), wq
 * wk wv wo from default_rng(0), 2 heads; besides, a grad_output (2,4,8) from default_rng(6). */
enum { B = 2, T = 4, S = 6, D = 8, H = 2 };
struct lesson {
    double query[B * T * D], context[B * S * D], weights[4][D * D], grad_output[B * T * D];
    int64_t heads;
};
void lesson_fill(struct lesson *lesson);

/* query, context, wq wk wv wo and heads of the lesson as arrays; grad_output is set by the test. */
struct input lesson_input(const struct lesson *lesson);

/* An input of width 1 with one head, whose output is the mean of the allowed source numbers: wq and wk
 * are 0, wv and wo are 1. query (1,T,1); context (1,S,1), or NULL for self-attention. */
struct input mean_input(const double *query, size_t t, const double *context, size_t s);

/* Writes in.npz, runs `mha apply in.npz -o out.npz` and the options, which must succeed and say
 * nothing, and reads out.npz. */
mha_arrays *apply(const struct input *input, const char *const *options);
#define NO_OPTIONS WORDS(NULL)

/* The numbers of an array of doubles that must have these dims. */
const double *doubles_of(
    const mha_arrays *arrays, const char *name, size_t rank, const size_t *dims);
#define RESULT(arrays, name, ...)                                                                  \
    doubles_of(                                                                                    \
        arrays, name, sizeof(size_t[]){__VA_ARGS__} / sizeof(size_t), (size_t[]){__VA_ARGS__})

/* `mha apply in.npz -o out.npz` and the options are refused with a line that holds the text, and no
 * file is left. */
void assert_apply_refuses(const struct input *input, const char *const *options, const char *text);

TCase *apply_numbers(void);
TCase *apply_gradients(void);
TCase *apply_kernels(void);
TCase *apply_masks(void);
TCase *apply_refusals(void);
TCase *apply_files(void);

#endif
