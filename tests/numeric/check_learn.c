/* The losses. The golden values were computed with NumPy in float64;
 * all inputs are exact in float. */
#include "base/real.h"

#include <check.h>
#include <string.h>

#include "learn_cases.h"

#define learn_suite MHA_NAME(learn_suite)

Suite *learn_suite(void);

enum { ROWS = 4, STRIDE = 7, ANSWERS = 2, CLASSES = 3, LOGITS = ROWS * STRIDE };

static void fill(mha_real *values, size_t count, uint64_t seed) {
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = (mha_real)mha_rng_normal(&rng);
    }
}

static void fill_constant(mha_real *values, size_t count, mha_real value) {
    for (size_t i = 0; i < count; i++) {
        values[i] = value;
    }
}

/* ---- squared error ---- */

static const mha_real prediction[9] = {REAL(0.5), REAL(-1.25), REAL(2.0), REAL(7.0), REAL(7.0),
    REAL(7.0), REAL(0.125), REAL(3.0), REAL(-0.75)};
static const mha_real target[9] = {REAL(1.0), REAL(-1.0), REAL(2.5), REAL(0.0), REAL(0.0),
    REAL(0.0), REAL(0.25), REAL(-2.0), REAL(4.0)};

START_TEST(mse_has_the_golden_values) {
    static const wide gradient[9] = {
        -1.0 / 6, -0.5 / 6, -1.0 / 6, 0, 0, 0, -0.25 / 6, 10.0 / 6, -9.5 / 6};
    static const unsigned char counted[3] = {1, 0, 1};
    mha_real dprediction[9];
    fill_constant(dprediction, 9, REAL(0.5));
    assert_close(mha_mse_loss(dprediction, prediction, target, counted, 3, 3), 8.0234375, 0);
    for (size_t i = 0; i < 9; i++) {
        assert_close((wide)dprediction[i], 0.5 + gradient[i], i);
    }
    assert_close(mha_mse_loss(NULL, prediction, target, NULL, 3, 3), 21.682291666666668, 0);
}
END_TEST

START_TEST(mse_gradient_is_its_central_difference) {
    mha_real x[12];
    mha_real y[12];
    mha_real dx[12] = {0};
    fill(x, 12, 1);
    fill(y, 12, 2);
    static const unsigned char counted[4] = {1, 1, 0, 1};
    mha_mse_loss(dx, x, y, counted, 4, 3);
    /* The loss is quadratic, so that a large step is exact and rounding stays small. */
    const mha_real step = REAL(0.5);
    for (size_t i = 0; i < 12; i++) {
        mha_real kept = x[i];
        x[i] = kept + step;
        wide above = mha_mse_loss(NULL, x, y, counted, 4, 3);
        x[i] = kept - step;
        wide below = mha_mse_loss(NULL, x, y, counted, 4, 3);
        x[i] = kept;
        assert_close((wide)dx[i], above - below, i);
    }
}
END_TEST

START_TEST(mse_leaves_uncounted_rows_alone) {
    static const unsigned char counted[3] = {1, 0, 1};
    static const unsigned char nothing[3] = {0, 0, 0};
    mha_real hidden[9];
    mha_real dprediction[9];
    memcpy(hidden, prediction, sizeof hidden);
    fill_constant(hidden + 3, 3, not_a_number);
    fill_constant(dprediction, 9, not_a_number);
    fill_constant(dprediction, 3, REAL(0.0));
    fill_constant(dprediction + 6, 3, REAL(0.0));
    assert_close(mha_mse_loss(dprediction, hidden, target, counted, 3, 3), 8.0234375, 0);
    for (size_t i = 0; i < 9; i++) {
        ck_assert_int_eq(isnan(dprediction[i]) != 0, i / 3 == 1);
    }
    fill_constant(hidden, 9, not_a_number);
    fill_constant(dprediction, 9, REAL(3.0));
    ck_assert(mha_mse_loss(dprediction, hidden, hidden, nothing, 3, 3) == 0);
    ck_assert(mha_mse_loss(dprediction, NULL, NULL, NULL, 0, 3) == 0);
    ck_assert(mha_mse_loss(dprediction, NULL, NULL, NULL, 3, 0) == 0);
    for (size_t i = 0; i < 9; i++) {
        ck_assert(dprediction[i] == REAL(3.0));
    }
}
END_TEST

START_TEST(mse_shows_what_is_not_finite) {
    mha_real x[9];
    memcpy(x, prediction, sizeof x);
    x[4] = not_a_number;
    ck_assert(isnan(mha_mse_loss(NULL, x, target, NULL, 3, 3)));
    x[4] = -REAL_INFINITY;
    ck_assert(isinf(mha_mse_loss(NULL, x, target, NULL, 3, 3)));
}
END_TEST

/* ---- cross-entropy ---- */

/* The feature behind the logits of a row is NaN, and so are the logits that do not count. */
static const mha_real golden_logits[LOGITS] = {REAL(0.5), REAL(-1.25), REAL(2.0), REAL(1.0),
    REAL(1.0), REAL(0.25), (mha_real)NAN,                                                //
    REAL(1e4), REAL(-1e4), REAL(0.0), REAL(-3.0), REAL(-3.0), REAL(-3.0), (mha_real)NAN, //
    (mha_real)NAN, (mha_real)NAN, (mha_real)NAN, REAL(1e4), REAL(9999.5), REAL(-1e4),
    (mha_real)NAN, //
    REAL(-0.75), REAL(1.5), REAL(0.125), REAL(2.5), REAL(-0.5), REAL(1.0), (mha_real)NAN};
static const int32_t golden_labels[ROWS * ANSWERS] = {2, 1, 1, 0, -1, 1, 0, 2};

START_TEST(cross_entropy_has_the_golden_values) {
    static const wide gradient[LOGITS] = {0.025260026015349185, 0.004389534332348062,
        -0.029649560347697248, 0.05778153838020613, -0.08507560447693673, 0.027294066096730605, 0,
        0.14285714285714285, -0.14285714285714285, 0.0, -0.09523809523809523, 0.04761904761904762,
        0.04761904761904762, 0, 0.0, 0.0, 0.0, 0.08892276160018454, -0.08892276160031368, 0.0, 0,
        -0.13177143992000975, 0.1051782210278627, 0.026593218892147087, 0.11222814779846797,
        0.005587510467241064, -0.11781565826570906, 0};
    mha_real dlogits[LOGITS];
    fill_constant(dlogits, LOGITS, REAL(0.25));
    mha_class_score score = mha_cross_entropy_loss(
        dlogits, golden_logits, golden_labels, ROWS, STRIDE, ANSWERS, CLASSES);
    assert_close(score.loss, 2858.2154267483675, 0);
    ck_assert_uint_eq(score.counted, 7);
    ck_assert_uint_eq(score.correct, 2);
    for (size_t i = 0; i < LOGITS; i++) {
        if (gradient[i] == 0 && i != 9 && i != 19) { /* no logit of a counted answer */
            ck_assert(dlogits[i] == REAL(0.25));
        }
        /* NumPy's own rounding at logits of 1e4 is 1e-13. */
        ck_assert(
            fabs((wide)dlogits[i] - 0.25 - gradient[i]) < (MHA_PRECISION == 32 ? 1e-7 : 1e-12));
    }
    mha_class_score alone =
        mha_cross_entropy_loss(NULL, golden_logits, golden_labels, ROWS, STRIDE, ANSWERS, CLASSES);
    ck_assert(alone.loss == score.loss && alone.correct == 2 && alone.counted == 7);
}
END_TEST

/* The definition, in double and without the shift by the largest logit. */
static wide plain_cross_entropy(const wide *logits, const int32_t *labels) {
    wide sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < ROWS * ANSWERS; i++) {
        const wide *x = logits + (i / ANSWERS * STRIDE + i % ANSWERS * CLASSES);
        if (labels[i] >= 0) {
            sum += log(exp(x[0]) + exp(x[1]) + exp(x[2])) - x[labels[i]];
            count++;
        }
    }
    return sum / (wide)count;
}

START_TEST(cross_entropy_gradient_is_its_central_difference) {
    static const int32_t labels[ROWS * ANSWERS] = {0, 1, 2, -1, 1, 1, 0, 2};
    mha_real logits[LOGITS];
    mha_real dlogits[LOGITS] = {0};
    wide x[LOGITS];
    fill(logits, LOGITS, 3);
    for (size_t i = 0; i < LOGITS; i++) {
        x[i] = (wide)logits[i];
    }
    mha_class_score score =
        mha_cross_entropy_loss(dlogits, logits, labels, ROWS, STRIDE, ANSWERS, CLASSES);
    assert_close(score.loss, plain_cross_entropy(x, labels), 0);
    const wide step = 1e-5;
    for (size_t i = 0; i < LOGITS; i++) {
        wide kept = x[i];
        x[i] = kept + step;
        wide above = plain_cross_entropy(x, labels);
        x[i] = kept - step;
        wide below = plain_cross_entropy(x, labels);
        x[i] = kept;
        wide numeric = (above - below) / (2 * step);
        ck_assert_msg(fabs((wide)dlogits[i] - numeric) < (MHA_PRECISION == 32 ? 2e-7 : 1e-9),
            "logit %zu: %.9g and %.9g", i, (wide)dlogits[i], numeric);
    }
}
END_TEST

START_TEST(cross_entropy_of_nothing_is_zero) {
    static const int32_t labels[ROWS * ANSWERS] = {-1, -1, -1, -1, -1, -1, -1, -1};
    mha_real logits[LOGITS];
    mha_real dlogits[LOGITS];
    fill_constant(logits, LOGITS, not_a_number);
    fill_constant(dlogits, LOGITS, REAL(3.0));
    mha_class_score score =
        mha_cross_entropy_loss(dlogits, logits, labels, ROWS, STRIDE, ANSWERS, CLASSES);
    ck_assert(score.loss == 0 && score.correct == 0 && score.counted == 0);
    for (size_t i = 0; i < LOGITS; i++) {
        ck_assert(dlogits[i] == REAL(3.0));
    }
}
END_TEST

/* One answer of three classes. */
static mha_class_score score_of(mha_real first, mha_real second, mha_real third, int32_t label) {
    const mha_real logits[3] = {first, second, third};
    return mha_cross_entropy_loss(NULL, logits, &label, 1, 3, 1, 3);
}

START_TEST(cross_entropy_counts_the_first_largest_logit) {
    const mha_real one = REAL(1.0);
    ck_assert_uint_eq(score_of(one, one, one, 0).correct, 1);
    ck_assert_uint_eq(score_of(one, one, one, 1).correct, 0);
    ck_assert_uint_eq(score_of(-one, one, one, 1).correct, 1);
    ck_assert_uint_eq(score_of(-one, one, one, 2).correct, 0);
    ck_assert_uint_eq(score_of(-one, -one, one, 2).correct, 1);
    ck_assert_uint_eq(score_of(-REAL_INFINITY, -one, -one, 1).correct, 1);
    ck_assert(score_of(-REAL_INFINITY, -one, -REAL_INFINITY, 1).loss == 0);
    ck_assert(isinf(score_of(-REAL_INFINITY, -one, -one, 0).loss));
}
END_TEST

START_TEST(cross_entropy_shows_a_nan) {
    for (int32_t at = 0; at < 3; at++) {
        for (int32_t label = 0; label < 3; label++) {
            mha_real logits[3] = {REAL(1.0), REAL(1.0), REAL(1.0)};
            mha_real dlogits[3] = {0};
            logits[at] = not_a_number;
            mha_class_score score = mha_cross_entropy_loss(dlogits, logits, &label, 1, 3, 1, 3);
            ck_assert(isnan(score.loss));
            ck_assert_uint_eq(score.correct, 0);
            ck_assert_uint_eq(score.counted, 1);
            ck_assert(isnan(dlogits[0]) && isnan(dlogits[1]) && isnan(dlogits[2]));
        }
    }
}
END_TEST

Suite *learn_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "learn (float)" : "learn (double)");
    TCase *loss = tcase_create("loss");
    tcase_add_test(loss, mse_has_the_golden_values);
    tcase_add_test(loss, mse_gradient_is_its_central_difference);
    tcase_add_test(loss, mse_leaves_uncounted_rows_alone);
    tcase_add_test(loss, mse_shows_what_is_not_finite);
    tcase_add_test(loss, cross_entropy_has_the_golden_values);
    tcase_add_test(loss, cross_entropy_gradient_is_its_central_difference);
    tcase_add_test(loss, cross_entropy_of_nothing_is_zero);
    tcase_add_test(loss, cross_entropy_counts_the_first_largest_logit);
    tcase_add_test(loss, cross_entropy_shows_a_nan);
    suite_add_tcase(suite, loss);
    suite_add_tcase(suite, sgd_case());
    return suite;
}
