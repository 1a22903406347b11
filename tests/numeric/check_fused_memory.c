/* The fused wing never shows what memory held before: results, tape, workspace. All comparisons are of
 * bits. */
#include "base/real.h"

#include "arrays.h"
#include "fused_cases.h"
#include "random_case.h"

/* A pass that leaves NaN wherever layer and tape keep numbers. */
static void spoil(mha_layer *layer, mha_tape *tape, const mha_shape *largest) {
    trial t = trial_new(largest, CROSS_ATTENTION, NULL, 9);
    t.layer = layer;
    t.tape = tape;
    t.query = array_new(trial_count(&t, MHA_QUERY));
    t.source = array_new(trial_count(&t, MHA_SOURCE));
    t.doutput = array_new(trial_count(&t, MHA_OUTPUT));
    trial_run(&t);
    const size_t last = trial_count(&t, MHA_QUERY) - 1;
    ck_assert(isnan(t.output[last]) && isnan(t.dx_query[last]) && isnan(t.dblock[0]));
}

static void assert_same_as_fresh(
    mha_layer *layer, mha_tape *tape, const random_case *c, const trial *expected) {
    trial t = trial_new(&c->shape, c->kind, mask_of(c), c->seed);
    t.layer = layer;
    t.tape = tape;
    trial_run(&t);
    assert_trials_same(&t, expected);
}

/* Shapes that shrink and grow, in one layer and on one tape, after passes of nothing but NaN and after
 * each other. Pairs of T and S: around tiles, and across the groups of backward. */
START_TEST(shapes_that_shrink_and_grow_have_the_bits_of_fresh_ones) {
    static const mha_shape largest = {3, 97, 1100, 6, 2};
    static const size_t lengths[][3] = {{3, 97, 64}, {1, 50, 1025}, {2, 13, 17}, {3, 1, 1},
        {1, 97, 97}, {2, 49, 1024}, {1, 2, 1100}, {3, 6, 5}, {3, 48, 129}};
    wing_use(_i == 0 ? WING_STORED : WING_TILED);
    mha_layer *layer;
    mha_tape *tape;
    ck_assert_int_eq(mha_layer_create(&layer, &largest, wing_options(), NULL), MHA_OK);
    ck_assert_int_eq(mha_tape_create(&tape, &largest, wing_options(), NULL), MHA_OK);
    const uint64_t seed = 51;
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < 2 * COUNT(lengths); i++) {
        const size_t *l = lengths[i % COUNT(lengths)];
        random_case c = {.shape = {l[0], l[1], l[2], 6, 2}, .kind = CROSS_ATTENTION, .seed = i};
        c.masked = random_mask(&c.mask, &c.shape, &rng);
        const trial expected = trial_new(&c.shape, c.kind, mask_of(&c), c.seed);
        trial_run(&expected);
        if (i < COUNT(lengths)) {
            spoil(layer, tape, &largest);
        }
        assert_same_as_fresh(layer, tape, &c, &expected);
        arrays_release();
    }
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
}
END_TEST

enum { GROUPS = 4, CASES = 40 };

/* The same over random shapes, each after a spoilt pass of its own shape. */
START_TEST(a_spoilt_pass_before_changes_no_bit) {
    const uint64_t seed[] = {(uint64_t)_i, 52};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    for (size_t i = 0; i < CASES; i++) {
        wing_use(i % 2 == 0 ? WING_STORED : WING_TILED);
        const random_case c = random_case_draw(&rng, 100000);
        const trial expected = trial_new(&c.shape, c.kind, mask_of(&c), c.seed);
        trial_run(&expected);
        mha_layer *layer = trial_layer(&c.shape, wing_options());
        mha_tape *tape = trial_tape(&c.shape, wing_options());
        spoil(layer, tape, &c.shape);
        assert_same_as_fresh(layer, tape, &c, &expected);
        arrays_release();
    }
}
END_TEST

TCase *fused_memory_case(void) {
    TCase *cases = wing_case_named("memory", WING_STORED);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_set_timeout(cases, 30);
    tcase_set_tags(cases, "long");
    tcase_add_loop_test(cases, shapes_that_shrink_and_grow_have_the_bits_of_fresh_ones, 0, 2);
    tcase_add_loop_test(cases, a_spoilt_pass_before_changes_no_bit, 0, GROUPS);
    return cases;
}
