/* Bits of the fused wing that depend neither on the mode, nor on the way in which a mask is given, nor
 * on the other samples of the batch. */
#include "base/real.h"

#include <stdlib.h>

#include "arrays.h"
#include "fused_cases.h"
#include "random_case.h"

/* Rows that are longer than a group of keys of backward and than any buffer of a tile, and more queries
 * than one task has. */
static const mha_shape long_shapes[] = {{1, 3, 5000, 12, 2}, {1, 50, 2049, 16, 1},
    {2, 13, 1025, 6, 3}, {1, 1, 4097, 33, 1}, {2, 385, 70, 8, 2}, {1, 400, 1024, 8, 1}};

static const mha_mask long_masks[] = {{.causal = MHA_CAUSAL_OFF},
    {.causal = MHA_CAUSAL_BOTTOM_RIGHT}, {.causal = MHA_CAUSAL_TOP_LEFT},
    {.lengths = (const int64_t[]){700, 0}}};

START_TEST(modes_have_the_same_bits_in_long_rows) {
    const mha_shape *shape = &long_shapes[_i];
    for (size_t i = 0; i <= COUNT(long_masks); i++) {
        if (i < COUNT(long_masks) && long_masks[i].lengths != NULL && shape->source_length < 700) {
            continue;
        }
        mha_mask window = {.rank = 2, .dims = {shape->target_length, shape->source_length}};
        unsigned char *bytes = calloc(shape->target_length, shape->source_length);
        arrays_keep(bytes, free);
        for (size_t j = 0; j < shape->target_length * shape->source_length; j++) {
            const size_t t = j / shape->source_length, s = j % shape->source_length;
            bytes[j] = s / 300 % 2 == t % 2 && s + 40 >= t ? 1 : 0;
        }
        window.allowed = bytes;
        const mha_mask *mask = i < COUNT(long_masks) ? &long_masks[i] : &window;
        wing_use(WING_STORED);
        const trial stored = trial_new(shape, CROSS_ATTENTION, mask, 41);
        wing_use(WING_TILED);
        const trial tiled = trial_new(shape, CROSS_ATTENTION, mask, 41);
        trial_run(&stored);
        trial_run(&tiled);
        assert_arrays_same("output", tiled.output, stored.output, trial_count(&stored, MHA_OUTPUT));
        assert_gradients_same(&tiled, &stored);
        arrays_release();
    }
}
END_TEST

/* ---- masks ---- */

/* The same mask as one byte for every pair. */
static mha_mask merged(const mha_mask *mask, const mha_shape *shape) {
    const size_t B = shape->batch, H = shape->heads, T = shape->target_length;
    const size_t S = shape->source_length;
    unsigned char *bytes = calloc(B * H * T * S, 1);
    arrays_keep(bytes, free);
    for (size_t row = 0; row < B * H * T; row++) {
        const mha_mask_row seen = mha_mask_row_at(mask, shape, row / T / H, row / T % H, row % T);
        for (size_t s = 0; s < S; s++) {
            bytes[row * S + s] = mha_mask_row_allows(&seen, s) ? 1 : 0;
        }
    }
    return (mha_mask){.allowed = bytes, .rank = 4, .dims = {B, H, T, S}};
}

enum { GROUPS = 6, CASES = 60 };

/* Tiles are left out, cut or computed whole by limits or by bytes, to one result. */
START_TEST(merged_masks_have_the_bits_of_their_parts) {
    const uint64_t seed[] = {(uint64_t)_i, 42};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t i = 0; i < CASES; i++) {
        wing_use(i % 2 == 0 ? WING_STORED : WING_TILED);
        const random_case c = random_case_draw(&rng, 200000);
        const mha_mask one = merged(mask_of(&c), &c.shape);
        const trial parts = trial_new(&c.shape, c.kind, mask_of(&c), c.seed);
        const trial whole = trial_new(&c.shape, c.kind, &one, c.seed);
        trial_run(&parts);
        trial_run(&whole);
        assert_trials_same(&whole, &parts);
        arrays_release();
    }
}
END_TEST

/* ---- samples ---- */

enum { B = 5 };

/* Sample b of the batch alone, with its part of the mask. */
static void assert_sample(const trial *whole, size_t b) {
    mha_shape one = whole->shape;
    one.batch = 1;
    const size_t T = one.target_length, S = one.source_length, D = one.width, H = one.heads;
    mha_mask mask = *whole->mask;
    mask.lengths = mask.lengths == NULL ? NULL : mask.lengths + b;
    if (mask.allowed != NULL && mask.rank == 4 && mask.dims[0] > 1) {
        mask.allowed += b * mask.dims[1] * mask.dims[2] * mask.dims[3];
        mask.dims[0] = 1;
    }
    trial part = trial_on(&whole->options, &one, CROSS_ATTENTION, &mask, 1);
    part.weights = whole->weights;
    part.query = array_copy(whole->query + b * T * D, T * D);
    part.source = array_copy(whole->source + b * S * D, S * D);
    part.doutput = array_copy(whole->doutput + b * T * D, T * D);
    trial_run(&part);
    assert_arrays_same("output", part.output, whole->output + b * T * D, T * D);
    assert_arrays_same("attention weights", trial_attention(&part),
        trial_attention(whole) + b * H * T * S, H * T * S);
    assert_arrays_same("dx_query", part.dx_query, whole->dx_query + b * T * D, T * D);
    assert_arrays_same("dx_source", part.dx_source, whole->dx_source + b * S * D, S * D);
}

START_TEST(a_sample_has_the_same_bits_in_any_batch) {
    static const mha_shape shapes[] = {{B, 1, 1, 2, 1}, {B, 7, 18, 30, 2}, {B, 50, 70, 32, 2},
        {B, 97, 33, 24, 1}, {B, 13, 1025, 6, 1}};
    const mha_shape *shape = &shapes[_i];
    const uint64_t seed[] = {(uint64_t)_i, 43};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t i = 0; i < 6; i++) {
        mha_mask mask;
        do {
            random_mask(&mask, shape, &rng);
        } while (mask.rank == 3); /* which sample and which head it means depends on their number */
        wing_use(i % 2 == 0 ? WING_STORED : WING_TILED);
        const trial whole = trial_new(shape, CROSS_ATTENTION, &mask, 44 + i);
        trial_run(&whole);
        for (size_t b = 0; b < B; b++) {
            assert_sample(&whole, b);
        }
        arrays_release();
    }
}
END_TEST

TCase *fused_bits_case(void) {
    TCase *cases = wing_case_named("bits", WING_STORED);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_set_timeout(cases, 30);
    tcase_set_tags(cases, "long");
    tcase_add_loop_test(cases, modes_have_the_same_bits_in_long_rows, 0, COUNT(long_shapes));
    tcase_add_loop_test(cases, merged_masks_have_the_bits_of_their_parts, 0, GROUPS);
    tcase_add_loop_test(cases, a_sample_has_the_same_bits_in_any_batch, 0, 5);
    return cases;
}
