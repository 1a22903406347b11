/* Losses, norm and descent over sizes at which their inner loops begin, end and take turns, and the
 * accuracy of what they compute, against plain sums in double. */
#include "base/real.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "learn_cases.h"

#define learn_sizes_suite MHA_NAME(learn_sizes_suite)

Suite *learn_sizes_suite(void);

/* One unit of rounding of the precision. */
#define ROUNDING (MHA_PRECISION == 32 ? (wide)FLT_EPSILON / 2 : DBL_EPSILON / 2)

static void draw(mha_real *values, size_t count, uint64_t seed) {
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = (mha_real)mha_rng_normal(&rng);
    }
}

static void assert_within(wide value, wide expected, wide tolerance, size_t index) {
    ck_assert_msg(fabs(value - expected) <= tolerance, "entry %zu is %.17g, not %.17g", index,
        value, expected);
}

/* ---- squared error and norm ---- */

enum { ROWS = 5, MOST_FEATURES = 41 };

static wide squared_difference(const mha_real *x, const mha_real *y, size_t count) {
    wide sum = 0;
    for (size_t i = 0; i < count; i++) {
        const wide difference = (wide)(x[i] - y[i]);
        sum += difference * difference;
    }
    return sum;
}

START_TEST(mse_of_any_number_of_features) {
    static const unsigned char all[ROWS] = {1, 1, 1, 1, 1}, some[ROWS] = {1, 0, 1, 1, 0};
    mha_real x[ROWS * MOST_FEATURES], y[ROWS * MOST_FEATURES];
    draw(x, ROWS * MOST_FEATURES, 1);
    draw(y, ROWS * MOST_FEATURES, 2);
    for (size_t features = 1; features <= MOST_FEATURES; features++) {
        mha_real dx[ROWS * MOST_FEATURES] = {0}, again[ROWS * MOST_FEATURES] = {0};
        const wide n = (wide)(ROWS * features);
        const wide expected = squared_difference(x, y, ROWS * features) / n;
        const wide loss = mha_mse_loss(dx, x, y, NULL, ROWS, features);
        assert_within(loss, expected, 1e-14 * expected, features);
        for (size_t i = 0; i < ROWS * features; i++) {
            const wide slope = 2 * ((wide)x[i] - (wide)y[i]) / n;
            assert_within((wide)dx[i], slope, 4 * ROUNDING * fabs(slope), i);
        }
        ck_assert(mha_mse_loss(again, x, y, all, ROWS, features) == loss);
        ck_assert(memcmp(again, dx, sizeof dx) == 0);
        const wide counted =
            (squared_difference(x, y, features) +
                squared_difference(x + 2 * features, y + 2 * features, 2 * features)) /
            (wide)(3 * features);
        assert_within(
            mha_mse_loss(NULL, x, y, some, ROWS, features), counted, 1e-14 * counted, features);
    }
}
END_TEST

START_TEST(norm_of_any_number_of_entries) {
    mha_real x[MOST_FEATURES];
    const mha_real zeros[MOST_FEATURES] = {0};
    draw(x, MOST_FEATURES, 3);
    for (size_t count = 0; count <= MOST_FEATURES; count++) {
        const wide expected = sqrt(squared_difference(x, zeros, count));
        assert_within(mha_gradient_norm(x, count), expected, 1e-15 * expected, count);
    }
}
END_TEST

/* ---- cross-entropy ---- */

/* Of the logits 0 and x < 0, of which the first is the label, d(loss)/dx = e^x / (1 + e^x): relatively
 * right down to the smallest normal number, and 0 below it in float. */
START_TEST(cross_entropy_gradient_is_relatively_right) {
    enum { PLACES = 4000 };
    const wide lowest = log((wide)REAL_SMALLEST);
    const int32_t label = 0;
    for (size_t i = 0; i < PLACES; i++) {
        const mha_real logits[2] = {REAL(0.0), (mha_real)(lowest * ((wide)i / (PLACES - 0.5)))};
        mha_real gradient[2] = {0};
        const mha_class_score score = mha_cross_entropy_loss(gradient, logits, &label, 1, 2, 1, 2);
        const wide e = exp((wide)logits[1]);
        assert_within((wide)gradient[1], e / (1 + e), 4.5 * ROUNDING * e / (1 + e), i);
        assert_within(score.loss, log1p(e), 2 * ROUNDING, i);
        ck_assert_uint_eq(score.correct, 1);
    }
    const wide below[] = {
        1.001 * lowest, 1.018 * lowest, 1.05 * lowest, 2 * lowest, -1e30, -(wide)INFINITY};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        const mha_real logits[2] = {REAL(0.0), (mha_real)below[i]};
        mha_real gradient[2] = {0};
        mha_cross_entropy_loss(gradient, logits, &label, 1, 2, 1, 2);
        ck_assert(gradient[0] == REAL(0.0) && gradient[1] >= REAL(0.0));
        ck_assert(gradient[1] <= (MHA_PRECISION == 32 ? REAL(0.0) : REAL_SMALLEST));
    }
}
END_TEST

enum { MOST_CLASSES = 1300, ANSWERS = 3 };

/* One answer in double: returns its loss and writes its gradient (classes). */
static wide plain_answer(
    wide *gradient, size_t *correct, const mha_real *logits, int32_t label, size_t classes) {
    wide z = 0;
    size_t largest = 0;
    for (size_t c = 0; c < classes; c++) {
        z += exp((wide)logits[c]);
        largest = logits[c] > logits[largest] ? c : largest;
    }
    *correct += largest == (size_t)label;
    for (size_t c = 0; c < classes; c++) {
        gradient[c] = exp((wide)logits[c]) / z - (c == (size_t)label ? 1 : 0);
    }
    return log(z) - (wide)logits[label];
}

START_TEST(cross_entropy_of_many_classes) {
    static const size_t sizes[] = {1, 2, 255, 256, 257, 511, 512, 513, 1024, MOST_CLASSES};
    static mha_real logits[ANSWERS * MOST_CLASSES], dlogits[ANSWERS * MOST_CLASSES];
    static wide gradient[MOST_CLASSES];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t classes = sizes[i];
        const int32_t last = (int32_t)classes - 1, labels[ANSWERS] = {0, last, last / 2};
        draw(logits, ANSWERS * classes, 4 + i);
        logits[2 * classes - 1] = REAL(9.0); /* answer 1 is right, the others are by chance */
        memset(dlogits, 0, sizeof dlogits);
        const mha_class_score score =
            mha_cross_entropy_loss(dlogits, logits, labels, 1, 0, ANSWERS, classes);
        wide loss = 0;
        size_t correct = 0;
        for (size_t a = 0; a < ANSWERS; a++) {
            const mha_real *x = logits + a * classes;
            loss += plain_answer(gradient, &correct, x, labels[a], classes) / ANSWERS;
            for (size_t c = 0; c < classes; c++) {
                assert_within((wide)dlogits[a * classes + c], gradient[c] / ANSWERS,
                    ROUNDING * (4 + 0.05 * (wide)classes), a * classes + c);
            }
        }
        assert_within(score.loss, loss, ROUNDING * (8 + 0.05 * (wide)classes), i);
        ck_assert_uint_eq(score.correct, correct);
        ck_assert_uint_ge(correct, 1);
    }
}
END_TEST

/* Among others an answer has the bits that it has alone, but for the factor 1/128. */
START_TEST(cross_entropy_gradient_of_an_answer_is_its_own) {
    enum { ALL = 160, COUNTED = 128, CLASSES = 5, STRIDE = 7 };
    static mha_real logits[ALL * STRIDE], dlogits[ALL * STRIDE], alone[ALL * STRIDE];
    int32_t labels[ALL];
    draw(logits, ALL * STRIDE, 5);
    for (size_t i = 0; i < ALL; i++) {
        labels[i] = i % 5 == 2 ? -1 : (int32_t)(i % CLASSES);
    }
    const mha_class_score score =
        mha_cross_entropy_loss(dlogits, logits, labels, ALL, STRIDE, 1, CLASSES);
    ck_assert_uint_eq(score.counted, COUNTED);
    mha_class_score sum = {0};
    for (size_t i = 0; i < ALL; i++) {
        const mha_class_score own = mha_cross_entropy_loss(
            alone + i * STRIDE, logits + i * STRIDE, labels + i, 1, STRIDE, 1, CLASSES);
        sum.loss += own.loss;
        sum.correct += own.correct;
    }
    ck_assert_uint_eq(score.correct, sum.correct);
    ck_assert_uint_gt(score.correct, 0);
    assert_within(score.loss, sum.loss / COUNTED, 1e-14, 0);
    for (size_t i = 0; i < ALL * STRIDE; i++) {
        ck_assert(dlogits[i] == alone[i] / (mha_real)COUNTED);
    }
}
END_TEST

/* ---- descent ---- */

START_TEST(sgd_names_the_first_entry_wherever_it_stands) {
    enum { COUNT = 37 };
    const mha_sgd_options options = {.learning_rate = 0.5, .momentum = 0.5, .nesterov = _i != 0};
    mha_real weights[COUNT], velocity[COUNT], gradients[COUNT];
    draw(weights, COUNT, 6);
    draw(gradients, COUNT, 7);
    for (size_t at = 0; at < COUNT; at++) {
        for (size_t i = 0; i < COUNT; i++) {
            const bool broken = i >= at && (i - at) % 3 == 0; /* the last entry seldom is */
            velocity[i] = !broken ? REAL(0.25) : i % 2 == 0 ? not_a_number : REAL_INFINITY;
        }
        mha_real w[COUNT], v[COUNT];
        memcpy(w, weights, sizeof w);
        memcpy(v, velocity, sizeof v);
        mha_error error = {0};
        ck_assert_int_eq(
            mha_sgd_step(w, v, gradients, COUNT, 1, &options, &error), MHA_ERROR_NOT_FINITE);
        char expected[48];
        snprintf(expected, sizeof expected, "weight %zu of %d would become", at, (int)COUNT);
        ck_assert_msg(
            strstr(error.text, expected) != NULL, "\"%s\" lacks \"%s\"", error.text, expected);
        ck_assert(memcmp(w, weights, sizeof w) == 0);
        ck_assert(memcmp(v, velocity, sizeof v) == 0);
    }
}
END_TEST

Suite *learn_sizes_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "learn, sizes (float)" : "learn, sizes (double)");
    TCase *cases = tcase_create("sizes");
    tcase_add_test(cases, mse_of_any_number_of_features);
    tcase_add_test(cases, norm_of_any_number_of_entries);
    tcase_add_test(cases, cross_entropy_gradient_is_relatively_right);
    tcase_add_test(cases, cross_entropy_of_many_classes);
    tcase_add_test(cases, cross_entropy_gradient_of_an_answer_is_its_own);
    tcase_add_loop_test(cases, sgd_names_the_first_entry_wherever_it_stands, 0, 2);
    suite_add_tcase(suite, cases);
    return suite;
}
