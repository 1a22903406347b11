/* Kernels, modes and threads of `mha apply`. */
#include "check_apply.h"

#include <math.h>
#include <string.h>

#include <mha/rng.h>

#include "folder.h"
#include "program_cases.h"

/* Large enough for several threads, and more than one tile. */
enum { BATCH = 2, TARGETS = 50, SOURCES = 70, WIDTH = 32, HEADS = 4 };
enum { QUERIES = BATCH * TARGETS * WIDTH, KEYS = BATCH * SOURCES * WIDTH, SQUARE = WIDTH * WIDTH };

static struct example {
    double query[QUERIES], context[KEYS], grad_output[QUERIES], weights[4][SQUARE];
} example;

static void draw(double *numbers, size_t count, double scale, mha_rng *rng) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = scale * mha_rng_normal(rng);
    }
}

static struct input example_input(void) {
    static const int64_t heads = HEADS;
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    struct input input = {.count = 0};
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){11}, 1);
    draw(example.query, QUERIES, 1.0, &rng);
    draw(example.context, KEYS, 1.0, &rng);
    draw(example.grad_output, QUERIES, 1.0, &rng);
    input_set(&input, DOUBLES("query", example.query, BATCH, TARGETS, WIDTH));
    input_set(&input, DOUBLES("context", example.context, BATCH, SOURCES, WIDTH));
    input_set(&input, DOUBLES("grad_output", example.grad_output, BATCH, TARGETS, WIDTH));
    for (size_t i = 0; i < 4; i++) {
        draw(example.weights[i], SQUARE, 1.0 / sqrt(WIDTH), &rng);
        input_set(&input, DOUBLES(names[i], example.weights[i], WIDTH, WIDTH));
    }
    input_set(&input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads});
    return input;
}

static const char *const results[] = {
    "output", "grad_query", "grad_context", "grad_wq", "grad_wk", "grad_wv", "grad_wo", "weights"};
enum { RESULTS = sizeof results / sizeof *results };

/* All but the weights, with the bits of the stored ones. */
START_TEST(tiled_writes_no_weights) {
    const struct input input = example_input();
    mha_arrays *stored = apply(&input, WORDS("--causal=bottom-right"));
    mha_arrays *tiled = apply(&input, WORDS("--causal=bottom-right", "--mode", "tiled"));
    ck_assert_uint_eq(mha_arrays_count(stored), RESULTS);
    ck_assert_uint_eq(mha_arrays_count(tiled), RESULTS - 1);
    ck_assert_ptr_null(mha_arrays_find(tiled, "weights"));
    RESULT(stored, "weights", BATCH, HEADS, TARGETS, SOURCES);
    for (size_t i = 0; i < RESULTS - 1; i++) {
        assert_same_named(stored, tiled, results[i]);
    }
    mha_arrays_free(stored);
    mha_arrays_free(tiled);
}
END_TEST

START_TEST(threads_change_no_bit) {
    const struct input input = example_input();
    mha_arrays *one = apply(&input, WORDS("--threads", "1"));
    static const char *const threads[] = {"2", "3", "1024"};
    for (size_t i = 0; i < 3; i++) {
        mha_arrays *many = apply(&input, WORDS("--threads", threads[i]));
        assert_same_arrays(one, many);
        mha_arrays_free(many);
    }
    mha_arrays *many = apply(&input, NO_OPTIONS);
    assert_same_arrays(one, many);
    mha_arrays_free(many);
    mha_arrays_free(one);
}
END_TEST

/* |a - b| / |b| */
static double difference(const mha_arrays *a, const mha_arrays *b, const char *name) {
    const mha_array *in_a = mha_arrays_find(a, name), *in_b = mha_arrays_find(b, name);
    ck_assert_uint_eq(mha_array_count(in_a), mha_array_count(in_b));
    double squares = 0.0, norm = 0.0;
    for (size_t i = 0; i < mha_array_count(in_b); i++) {
        const double expected = number_of(in_b, i), off = number_of(in_a, i) - expected;
        squares += off * off;
        norm += expected * expected;
    }
    ck_assert_double_gt(norm, 0.0);
    return sqrt(squares / norm);
}

START_TEST(kernels_agree) {
    const struct input input = example_input();
    mha_arrays *fused = apply(&input, WORDS("--kernel", "fused"));
    mha_arrays *reference = apply(&input, WORDS("--kernel", "reference"));
    ck_assert_uint_eq(mha_arrays_count(reference), RESULTS);
    double largest = 0.0;
    for (size_t i = 0; i < RESULTS; i++) {
        const double off = difference(fused, reference, results[i]);
        ck_assert_msg(off <= 1e-13, "%s: %g", results[i], off);
        largest = fmax(largest, off);
    }
    ck_assert_double_gt(largest, 0.0); /* they are two */
    mha_arrays_free(fused);
    mha_arrays_free(reference);
}
END_TEST

TCase *apply_kernels(void) {
    TCase *kernels = tcase_create("kernels");
    tcase_add_checked_fixture(kernels, folder_make, folder_remove);
    tcase_add_test(kernels, tiled_writes_no_weights);
    tcase_add_test(kernels, threads_change_no_bit);
    tcase_add_test(kernels, kernels_agree);
    return kernels;
}
