/* Float against double: the arithmetic that trains, in each wing and mode, against the readable wing in
 * the arithmetic that the gradient checker proves, on the same inputs.
 *
 * Tolerances, on each array by itself. With logits of unit variance float was measured at a
 * relative error (Euclidean norm) of 1.1e-6 or less and a largest error of 2.2e-6 of the largest
 * entry, up to 2048 keys; accepted are 4e-6 and 1e-5. The exponential turns an absolute error of a
 * logit into a relative one of its weight, so with logits up to 40 the errors grow with them:
 * measured 3.6e-6, accepted 1.5e-5 and 4e-5. A missing key, head or path is wrong by 1e-2 and more.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include <mha/rng.h>

#include "count.h"
#include "parity.h"

Suite *parity_suite(void);

static const int64_t lengths[] = {24, 0, 40};
static const int64_t eight_lengths[] = {512, 300};

static const struct {
    mha_shape shape;
    mha_mask mask;
    double logit_scale;
} plans[] = {
    {{3, 32, 40, 32, 4}, {.causal = MHA_CAUSAL_OFF}, 1},
    {{3, 32, 40, 32, 4}, {.causal = MHA_CAUSAL_BOTTOM_RIGHT}, 1},
    {{3, 32, 40, 32, 4}, {.causal = MHA_CAUSAL_TOP_LEFT, .lengths = lengths}, 1},
    {{1, 50, 50, 64, 1}, {.causal = MHA_CAUSAL_SQUARE}, 1},
    {{2, 9, 7, 12, 12}, {.causal = MHA_CAUSAL_OFF}, 1},
    {{2, 8, 512, 32, 2}, {.lengths = eight_lengths}, 1},
    {{3, 32, 40, 32, 4}, {.causal = MHA_CAUSAL_OFF}, 8},
    {{1, 50, 50, 64, 1}, {.causal = MHA_CAUSAL_SQUARE}, 8},
};

enum { WAYS = 3 };
static const struct {
    mha_kernel kernel;
    mha_mode mode;
} ways[WAYS] = {{MHA_KERNEL_REFERENCE, MHA_MODE_STORED}, {MHA_KERNEL_FUSED, MHA_MODE_STORED},
    {MHA_KERNEL_FUSED, MHA_MODE_TILED}};

static size_t count_of(mha_value value, const mha_shape *shape) {
    return mha_value_count(value, shape);
}

static double *allocate(size_t count) {
    double *array = calloc(count, sizeof *array);
    ck_assert_ptr_nonnull(array);
    return array;
}

/* scale * N(0,1), rounded to float. */
static double *draw(mha_rng *rng, size_t count, double scale) {
    double *array = allocate(count);
    for (size_t i = 0; i < count; i++) {
        array[i] = (double)(float)(scale * mha_rng_normal(rng));
    }
    return array;
}

/* |actual - expected| / |expected|, and the same of the largest entries. */
static void assert_within(const char *name, const double *actual, const double *expected,
    size_t count, double logit_scale) {
    double error_sum = 0, sum = 0, largest_error = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs(actual[i] - expected[i]);
        ck_assert_msg(isfinite(error), "%s[%zu] is %g, not %g", name, i, actual[i], expected[i]);
        error_sum += error * error;
        sum += expected[i] * expected[i];
        largest_error = fmax(largest_error, error);
        largest = fmax(largest, fabs(expected[i]));
    }
    const double relative = sqrt(error_sum / sum), relative_largest = largest_error / largest;
    ck_assert_msg(
        relative <= (logit_scale > 1 ? 1.5e-5 : 4e-6), "%s: relative error %.3g", name, relative);
    ck_assert_msg(relative_largest <= (logit_scale > 1 ? 4e-5 : 1e-5),
        "%s: largest relative error %.3g", name, relative_largest);
    /* The same bits would mean that one precision was compared with itself. */
    ck_assert_msg(relative > 1e-10, "%s: float is double, relative error %.3g", name, relative);
}

static parity_results allocate_results(const mha_shape *shape) {
    parity_results made = {allocate(count_of(MHA_OUTPUT, shape)),
        allocate(count_of(MHA_ATTENTION_WEIGHTS, shape)), {NULL}};
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        made.dleaf[i] = allocate(count_of((mha_value)i, shape));
    }
    return made;
}

static void free_results(const parity_results *results) {
    free(results->output);
    free(results->attention_weights);
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        free(results->dleaf[i]);
    }
}

/* Plan _i / WAYS in way _i % WAYS. */
START_TEST(float_agrees_with_double) {
    const size_t plan = (size_t)_i / WAYS, way = (size_t)_i % WAYS;
    const mha_shape *shape = &plans[plan].shape;
    const double scale = plans[plan].logit_scale, root = sqrt((double)shape->width);
    const uint64_t seed = 11;
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    double *leaves[PARITY_LEAVES];
    parity_inputs inputs = {.kernel = ways[way].kernel,
        .mode = ways[way].mode,
        .shape = *shape,
        .mask = &plans[plan].mask};
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        leaves[i] = draw(&rng, count_of((mha_value)i, shape),
            i < MHA_FIRST_WEIGHT ? 1 : (i == MHA_WQ ? scale : 1) / root);
        inputs.leaf[i] = leaves[i];
    }
    double *doutput = draw(&rng, count_of(MHA_OUTPUT, shape), 1);
    inputs.doutput = doutput;
    const parity_results single = allocate_results(shape), exact = allocate_results(shape);
    mha_f32_parity_run(&single, &inputs);
    inputs.kernel = MHA_KERNEL_REFERENCE;
    inputs.mode = MHA_MODE_STORED;
    mha_f64_parity_run(&exact, &inputs);
    assert_within("output", single.output, exact.output, count_of(MHA_OUTPUT, shape), scale);
    assert_within("attention weights", single.attention_weights, exact.attention_weights,
        count_of(MHA_ATTENTION_WEIGHTS, shape), scale);
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        const mha_value_shape leaf = mha_value_shape_of((mha_value)i, shape);
        assert_within(leaf.name, single.dleaf[i], exact.dleaf[i], leaf.count, scale);
        free(leaves[i]);
    }
    free(doutput);
    free_results(&single);
    free_results(&exact);
}
END_TEST

Suite *parity_suite(void) {
    Suite *suite = suite_create("parity");
    TCase *cases = tcase_create("float against double");
    tcase_add_loop_test(cases, float_agrees_with_double, 0, WAYS * COUNT(plans));
    suite_add_tcase(suite, cases);
    return suite;
}
