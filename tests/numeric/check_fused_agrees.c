/* The fused wing against the readable one: outputs and every gradient, over random shapes and masks.
 * The readable wing computes in double whatever the precision here is; stored and tiled mode have the
 * same bits.
 *
 * Tolerances on each array by itself, scores of unit variance: in double a relative error (Euclidean
 * norm) of 1e-13, in float 4e-6 and 1e-5 of the largest entry. One number, or few, may by chance be small
 * sums of large terms: float has 1 + 4 / sqrt(count) times as much. Where rows see few keys, the gradients
 * of scores are differences that cancel, up to exactly 0 for one key: the errors of what they make
 * (dx_query, dwq, dwk) count against the norm of dwv too, which is a sum of as many terms of the same
 * size. */
#include "base/real.h"

#include <stdlib.h>

#include "arrays.h"
#include "fused_cases.h"
#include "parity.h"
#include "random_case.h"

#define RELATIVE (MHA_PRECISION == 32 ? 4e-6 : 1e-13)
#define LARGEST  (MHA_PRECISION == 32 ? 1e-5 : 1e-13)

static wide *doubles(size_t count) {
    wide *array = calloc(count + 1, sizeof *array);
    arrays_keep(array, free);
    return array;
}

static wide *widened(const mha_real *from, size_t count) {
    wide *array = doubles(count);
    for (size_t i = 0; i < count; i++) {
        array[i] = (wide)from[i];
    }
    return array;
}

/* What the readable wing makes of the inputs of the trial, in double. */
static parity_results expected_of(const trial *t) {
    parity_inputs inputs = {.kernel = MHA_KERNEL_REFERENCE, .shape = t->shape, .mask = t->mask};
    const mha_real *const leaves[PARITY_LEAVES] = {t->query, t->source, t->weights.matrix[0],
        t->weights.matrix[1], t->weights.matrix[2], t->weights.matrix[3]};
    parity_results results = {doubles(trial_count(t, MHA_OUTPUT)),
        doubles(trial_count(t, MHA_ATTENTION_WEIGHTS)), {NULL}};
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        const size_t count = trial_count(t, (mha_value)i);
        inputs.leaf[i] = leaves[i] == NULL ? NULL : widened(leaves[i], count);
        results.dleaf[i] = doubles(count);
    }
    inputs.doutput = widened(t->doutput, trial_count(t, MHA_OUTPUT));
    mha_f64_parity_run(&results, &inputs);
    return results;
}

typedef struct size_of_array {
    wide norm, largest;
} size_of_array;

static size_of_array measured(const wide *x, size_t count) {
    size_of_array size = {0, 0};
    wide sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i] * x[i];
        size.largest = fmax(size.largest, fabs(x[i]));
    }
    size.norm = sqrt(sum);
    return size;
}

/* floor is a size that errors may count against as well. */
static void assert_agrees(const trial *t, const char *name, const mha_real *actual,
    const wide *expected, size_t count, size_of_array floor) {
    const mha_shape *s = &t->shape;
    wide *error = doubles(count);
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        error[i] = (wide)actual[i] - expected[i];
        finite = finite && isfinite(error[i]);
    }
    ck_assert_msg(finite, "%s is not finite", name);
    const size_of_array size = measured(expected, count), wrong = measured(error, count);
    const wide norm = fmax(size.norm, floor.norm), largest = fmax(size.largest, floor.largest);
    const wide few = MHA_PRECISION == 32 ? 1 + 4 / sqrt((wide)count) : 1;
    ck_assert_msg(wrong.norm <= few * RELATIVE * norm && wrong.largest <= few * LARGEST * largest,
        "shape %zu,%zu,%zu,%zu,%zu: %s is wrong by %.3g of its norm, %.3g of its largest entry",
        s->batch, s->target_length, s->source_length, s->width, s->heads, name, wrong.norm / norm,
        wrong.largest / largest);
}

static void assert_trial_agrees(const trial *t, const parity_results *expected) {
    const size_t D = t->shape.width;
    const size_of_array none = {0, 0}, matrix = measured(expected->dleaf[MHA_WV], D * D);
    const wide root = sqrt((wide)D); /* from a matrix (D,D) to a gradient of inputs */
    const size_of_array input = {matrix.norm / root, matrix.largest / root};
    assert_agrees(t, "output", t->output, expected->output, trial_count(t, MHA_OUTPUT), none);
    assert_agrees(
        t, "dx_query", t->dx_query, expected->dleaf[MHA_QUERY], trial_count(t, MHA_QUERY), input);
    if (t->source != NULL) {
        assert_agrees(t, "dx_source", t->dx_source, expected->dleaf[MHA_SOURCE],
            trial_count(t, MHA_SOURCE), none);
    }
    static const char *const names[] = {"dwq", "dwk", "dwv", "dwo"};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        assert_agrees(t, names[i], t->dweights.matrix[i], expected->dleaf[MHA_FIRST_WEIGHT + i],
            D * D, i < 2 ? matrix : none);
    }
}

static void assert_case(const random_case *c) {
    const size_t mark = arrays_mark();
    wing_use(WING_STORED);
    const trial stored = trial_new(&c->shape, c->kind, mask_of(c), c->seed);
    wing_use(WING_TILED);
    const trial tiled = trial_new(&c->shape, c->kind, mask_of(c), c->seed);
    trial_run(&stored);
    trial_run(&tiled);
    const parity_results expected = expected_of(&stored);
    assert_trial_agrees(&stored, &expected);
    assert_arrays_same("output", tiled.output, stored.output, trial_count(&stored, MHA_OUTPUT));
    assert_gradients_same(&tiled, &stored);
    arrays_release_to(mark);
}

enum { GROUPS = 20, CASES = 60 };

START_TEST(random_shapes_and_masks_agree) {
    const uint64_t seed[] = {(uint64_t)_i, 31};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t i = 0; i < CASES; i++) {
        const random_case c = random_case_draw(&rng, 300000);
        assert_case(&c);
        arrays_release();
    }
}
END_TEST

/* Every number of queries with every number of keys, at one width or another. */
START_TEST(edges_of_rows_and_keys_agree) {
    const uint64_t seed[] = {(uint64_t)_i, 32};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t k = 0; k < EDGE_KEYS; k++) {
        const size_t heads = 1 + k % 2, width = 4 + 3 * (((size_t)_i + k) % 4);
        random_case c = {.shape = {1, edge_rows[_i], edge_keys[k], heads * width, heads},
            .kind = CROSS_ATTENTION};
        c.masked = random_mask(&c.mask, &c.shape, &rng);
        c.seed = 100 * (uint64_t)_i + k;
        assert_case(&c);
        arrays_release();
    }
}
END_TEST

/* Every head width, for one head and for several. */
START_TEST(head_widths_agree) {
    const uint64_t seed[] = {(uint64_t)_i, 33};
    static const size_t lengths[][2] = {{13, 65}, {50, 17}};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t l = 0; l < 2 * COUNT(lengths); l++) {
        const size_t heads = l % 2 == 0 ? 1 : edge_widths[_i] > 16 ? 2 : 5;
        const size_t *length = lengths[l / 2];
        random_case c = {.shape = {1, length[0], length[1], heads * edge_widths[_i], heads},
            .kind = CROSS_ATTENTION};
        c.masked = random_mask(&c.mask, &c.shape, &rng);
        c.seed = 1000 + l;
        assert_case(&c);
        arrays_release();
    }
}
END_TEST

TCase *fused_agrees_case(void) {
    TCase *cases = wing_case_named("agrees", WING_STORED);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_set_timeout(cases, 30);
    tcase_set_tags(cases, "long");
    tcase_add_loop_test(cases, random_shapes_and_masks_agree, 0, GROUPS);
    tcase_add_loop_test(cases, edges_of_rows_and_keys_agree, 0, EDGE_ROWS);
    tcase_add_loop_test(cases, head_widths_agree, 0, EDGE_WIDTHS);
    return cases;
}
