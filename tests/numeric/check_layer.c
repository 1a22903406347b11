/* The layer: its weights and the numbers of the lesson's example. The suite of all its tests. */
#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

#define layer_suite MHA_NAME(layer_suite)

Suite *layer_suite(void);

START_TEST(a_view_is_four_matrices_in_a_row) {
    mha_real block[4 * 9];
    const mha_weights weights = mha_weights_view(block, 3);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        ck_assert_ptr_eq(weights.matrix[i], block + i * 9);
    }
}
END_TEST

/* Depends on every bit of every value, and on their order. */
static uint64_t checksum(const mha_real *values, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
#if MHA_PRECISION == 32
        uint32_t bits;
#else
        uint64_t bits;
#endif
        memcpy(&bits, &values[i], sizeof bits);
        sum = sum * UINT64_C(6364136223846793005) + bits;
    }
    return sum;
}

/* NumPy: default_rng(seed).normal(size=(D,D)) / numpy.sqrt(D), four times, and .astype(float32). */
START_TEST(weights_are_those_of_numpy) {
    static const struct {
        uint64_t seed;
        size_t width;
        uint64_t sum_float, sum_double;
    } draws[] = {{0, 8, 0xe0472f5648c623be, 0x15ee69ab1e4e799b},
        {3, 6, 0x0562ed408fdb624b, 0xe8ff3c3baf988ffd},
        {3, 7, 0x9fef9a2ec7a5fa8d, 0xc0cd8591e6459d38},
        {3, 48, 0xa4eeaacd88740da7, 0x1b0322e8120404b0}};
    for (size_t i = 0; i < COUNT(draws); i++) {
        const size_t count = MHA_WEIGHT_COUNT * draws[i].width * draws[i].width;
        mha_real *block = array_new(count);
        const mha_weights weights = mha_weights_view(block, draws[i].width);
        mha_rng rng;
        mha_rng_seed(&rng, &draws[i].seed, 1);
        mha_weights_draw(&weights, &rng, draws[i].width);
        ck_assert_uint_eq(
            checksum(block, count), MHA_PRECISION == 32 ? draws[i].sum_float : draws[i].sum_double);
    }
}
END_TEST

/* Each matrix is drawn where the table points, in the order q, k, v, o. */
START_TEST(weights_are_drawn_in_order_wherever_they_lie) {
    enum { D = 5, EACH = D * D };
    mha_real *block = array_new(MHA_WEIGHT_COUNT * EACH), *apart[MHA_WEIGHT_COUNT];
    const mha_weights in_a_row = mha_weights_view(block, D);
    mha_weights weights;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        apart[i] = array_new(EACH);
        weights.matrix[i] = apart[i];
    }
    const uint64_t seed = 7;
    mha_rng first, second;
    mha_rng_seed(&first, &seed, 1);
    second = first;
    mha_weights_draw(&in_a_row, &first, D);
    mha_weights_draw(&weights, &second, D);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        assert_arrays_same("matrix", apart[i], block + i * EACH, EACH);
    }
    ck_assert_uint_eq(mha_rng_bits64(&first), mha_rng_bits64(&second));
}
END_TEST

/* Cross-attention of the lesson: query and source from default_rng(4), weights from default_rng(0),
 * computed with NumPy in float64. */
START_TEST(the_lesson_has_its_numbers) {
    static const mha_shape shape = {2, 4, 6, 8, 2};
    static const wide wq[3] = {0.04445234596761114, -0.046706122330500685, 0.2264235994769533};
    static const wide row[3] = {-0.4100551479247409, -0.8449866700028672, 0.3468450211882493};
    static const wide attention[3] = {
        0.10824182895061817, 0.22017095956060373, 0.22096203554329957};
    const wide tolerance = MHA_PRECISION == 32 ? 2e-6 : 1e-12;
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 0);
    const uint64_t seeds[] = {0, 4};
    mha_rng rng;
    mha_rng_seed(&rng, &seeds[0], 1);
    mha_weights_draw(&t.weights, &rng, shape.width);
    mha_rng_seed(&rng, &seeds[1], 1);
    for (size_t i = 0; i < trial_count(&t, MHA_QUERY); i++) {
        t.query[i] = (mha_real)mha_rng_normal(&rng);
    }
    for (size_t i = 0; i < trial_count(&t, MHA_SOURCE); i++) {
        t.source[i] = (mha_real)mha_rng_normal(&rng);
    }
    trial_forward(&t);
    wide sum = 0;
    for (size_t i = 0; i < trial_count(&t, MHA_OUTPUT); i++) {
        sum += (wide)t.output[i];
    }
    ck_assert_double_eq_tol(sum, 12.038959065698084, MHA_PRECISION == 32 ? 1e-5 : 1e-12);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(t.weights.matrix[0][i] == (mha_real)wq[i]);
        ck_assert_double_eq_tol((wide)t.output[i], row[i], tolerance);
        ck_assert_double_eq_tol((wide)trial_attention(&t)[i], attention[i], tolerance);
    }
}
END_TEST

static TCase *layer_numbers_case(wing chosen) {
    TCase *cases = wing_case("numbers", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, the_lesson_has_its_numbers);
    return cases;
}

Suite *layer_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "layer (float)" : "layer (double)");
    TCase *weights = tcase_create("weights");
    tcase_add_checked_fixture(weights, NULL, arrays_release);
    tcase_add_test(weights, a_view_is_four_matrices_in_a_row);
    tcase_add_test(weights, weights_are_those_of_numpy);
    tcase_add_test(weights, weights_are_drawn_in_order_wherever_they_lie);
    suite_add_tcase(suite, weights);
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        suite_add_tcase(suite, layer_numbers_case(chosen));
        suite_add_tcase(suite, layer_refusals_case(chosen));
        suite_add_tcase(suite, layer_overlaps_case(chosen));
        suite_add_tcase(suite, layer_streams_case(chosen));
        suite_add_tcase(suite, layer_independence_case(chosen));
        suite_add_tcase(suite, layer_masks_case(chosen));
        suite_add_tcase(suite, layer_gradients_case(chosen));
        suite_add_tcase(suite, layer_tape_case(chosen));
    }
    suite_add_tcase(suite, layer_stages_case());
    suite_add_tcase(suite, layer_options_case());
    return suite;
}
