/* Numbers and times that depended on the machine: on how many threads add gradients, and on numbers too
 * small to be normal. All on inputs that have gone wrong elsewhere. (Compilers' flags that remove NaN
 * are refused by headers and Makefile, see the target "doors"; threads that are really there are in
 * tests/threads.) */
#include "base/real.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arrays.h"
#include "fused_call.h"
#include "trial.h"

#define reports_machine_suite MHA_NAME(reports_machine_suite)

Suite *reports_machine_suite(void);

/* ---- the same seed, the same weights ---- */

static const mha_shape trained = {3, 17, 13, 12, 3};
enum { STEPS = 50, RUNS = 5, MATRICES = MHA_WEIGHT_COUNT * 12 * 12 };

/* The weights after a training from seed 7. */
static const mha_real *train(size_t threads) {
    mha_layer_options options = *wing_options();
    options.threads = threads;
    trial t = trial_on(&options, &trained, CROSS_ATTENTION, NULL, 7);
    const mha_real *target = array_normal(trial_count(&t, MHA_OUTPUT), 8);
    mha_real *velocity = array_constant(MATRICES, REAL(0.0));
    const mha_sgd_options descent = {.learning_rate = 0.5, .momentum = 0.9};
    for (size_t step = 0; step < STEPS; step++) {
        trial_forward(&t);
        memset(t.doutput, 0, trial_count(&t, MHA_OUTPUT) * sizeof *t.doutput);
        memset(t.dblock, 0, MATRICES * sizeof *t.dblock);
        mha_mse_loss(t.doutput, t.output, target, NULL, 3 * 17, 12);
        trial_backward(&t);
        ck_assert_int_eq(mha_sgd_step(t.block, velocity, t.dblock, MATRICES,
                             mha_gradient_norm(t.dblock, MATRICES), &descent, NULL),
            MHA_OK);
    }
    return t.block;
}

/* Sums whose order was left to chance changed the last bits from run to run. */
START_TEST(training_again_gives_the_same_weights) {
    static const size_t threads[] = {1, 2, 3, 8};
    const mha_real *first = train(1);
    for (size_t i = 0; i < RUNS * COUNT(threads); i++) {
        assert_arrays_same("weights", train(threads[i % COUNT(threads)]), first, MATRICES);
    }
    const trial start = trial_new(&trained, CROSS_ATTENTION, NULL, 7);
    ck_assert(memcmp(first, start.block, MATRICES * sizeof *first) != 0);
}
END_TEST

START_TEST(modes_train_to_the_same_weights) {
    wing_use(WING_STORED);
    const mha_real *stored = train(1);
    wing_use(WING_TILED);
    assert_arrays_same("weights", train(1), stored, MATRICES);
}
END_TEST

/* ---- numbers below the normal ones ---- */

enum { LENGTH = 256, WIDTH = 16, ROUNDS = 15, GAPS = 5, WARM = 2 };

/* Of the best key before all others; the first is the measure of the others. */
static const mha_real gaps[GAPS] = {REAL(20.0), MHA_PRECISION == 32 ? REAL(80.0) : REAL(700.0),
    MHA_PRECISION == 32 ? REAL(87.0) : REAL(708.0), MHA_PRECISION == 32 ? REAL(95.0) : REAL(730.0),
    MHA_PRECISION == 32 ? REAL(103.0) : REAL(744.0)};

static fused_call with_gap(mha_real gap, mha_mode mode) {
    const mha_shape shape = {1, LENGTH, LENGTH, WIDTH, 1};
    const fused_call c = fused_call_new(&shape, NULL, mode, 7);
    for (size_t i = 0; i < LENGTH * WIDTH; i++) {
        c.q[i] = i % WIDTH == 0 ? REAL(1.0) : REAL(0.0);
        c.k[i] = i == 0 ? gap * REAL(4.0) : REAL(0.0); /* sqrt(d) = 4 */
    }
    return c;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_seconds(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* Products with denormal weights took ten times as long and more. In turn, by medians. */
START_TEST(weights_that_underflow_take_no_longer) {
    fused_call calls[GAPS];
    double seconds[GAPS][ROUNDS];
    for (size_t g = 0; g < GAPS; g++) {
        calls[g] = with_gap(gaps[g], _i == 0 ? MHA_MODE_STORED : MHA_MODE_TILED);
    }
    for (size_t round = 0; round < WARM + ROUNDS; round++) {
        for (size_t g = 0; g < GAPS; g++) {
            const double begin = processor_seconds();
            fused_call_run(&calls[g]);
            seconds[g][round < WARM ? 0 : round - WARM] = processor_seconds() - begin;
        }
    }
    for (size_t g = 0; g < GAPS; g++) {
        qsort(seconds[g], ROUNDS, sizeof seconds[g][0], compare_seconds);
    }
    for (size_t g = 1; g < GAPS; g++) {
        const double ratio = seconds[g][ROUNDS / 2] / seconds[0][ROUNDS / 2];
        ck_assert_msg(ratio <= 3, "a gap of %g takes %.2f times as long as one of %g",
            (wide)gaps[g], ratio, (wide)gaps[0]);
    }
}
END_TEST

/* ... and are 0: the best key has all the weight. */
START_TEST(weights_that_underflow_are_0) {
    for (size_t g = 0; g < GAPS; g++) {
        const fused_call c = with_gap(gaps[g], MHA_MODE_STORED);
        fused_call_run(&c);
        const bool normal = g < 3;
        for (size_t t = 0; t < LENGTH; t++) {
            const mha_real *weights = c.saved.weights + t * LENGTH;
            ck_assert(weights[0] == REAL(1.0) || g == 0);
            ck_assert(normal ? weights[1] >= REAL_SMALLEST : weights[1] == REAL(0.0));
            if (!normal) {
                assert_arrays_same("context", c.context + t * WIDTH, c.v, WIDTH);
            }
        }
    }
}
END_TEST

/* Weight matrices of numbers that are not normal: all keys weigh the same, and nothing is NaN. */
START_TEST(denormal_matrices_give_means) {
    const mha_shape shape = {2, 9, 20, 12, 3};
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 7);
    for (size_t i = 0; i < MATRICES; i++) {
        t.block[i] *= REAL_SMALLEST / 64;
    }
    ck_assert(t.block[0] != REAL(0.0) && fabs((wide)t.block[0]) < (wide)REAL_SMALLEST);
    trial_run(&t);
    const mha_real *weights = trial_attention(&t), mean = REAL(1.0) / REAL(20.0);
    assert_array_is("attention weights", weights, mean, trial_count(&t, MHA_ATTENTION_WEIGHTS));
    const mha_real tiny = REAL(1000.0) * REAL_SMALLEST;
    for (size_t i = 0; i < MATRICES; i++) {
        ck_assert(t.dblock[i] <= tiny && t.dblock[i] >= -tiny);
    }
    ck_assert(t.dweights.matrix[2][0] != REAL(0.0) && t.dweights.matrix[3][0] != REAL(0.0));
}
END_TEST

Suite *reports_machine_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "reports machine (float)" : "reports machine (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("machine", chosen);
        tcase_set_tags(cases, "long");
        tcase_add_checked_fixture(cases, NULL, arrays_release);
        tcase_add_test(cases, training_again_gives_the_same_weights);
        tcase_add_test(cases, denormal_matrices_give_means);
        suite_add_tcase(suite, cases);
    }
    TCase *modes = wing_case_named("modes", WING_STORED);
    tcase_set_tags(modes, "long");
    tcase_add_checked_fixture(modes, NULL, arrays_release);
    tcase_add_test(modes, modes_train_to_the_same_weights);
    tcase_add_loop_test(modes, weights_that_underflow_take_no_longer, 0, 2);
    tcase_add_test(modes, weights_that_underflow_are_0);
    suite_add_tcase(suite, modes);
    return suite;
}
