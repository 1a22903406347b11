/* The softmax over one row of keys, and over the rows of a mask. */
#include "base/real.h"

#include "arrays.h"
#include "ops_cases.h"

enum { KEYS = 6 };

/* The weights of one query over `keys` keys; allowed may be NULL. */
static void weigh(mha_real *weights, const mha_real *x, const unsigned char *allowed, size_t keys) {
    const mha_shape shape = {1, 1, keys, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {1, keys}};
    for (size_t s = 0; s < keys; s++) {
        weights[s] = not_a_number;
    }
    mha_softmax_forward(weights, x, allowed == NULL ? NULL : &mask, &shape);
}

/* exp(x - m) * (1 / sum), in the order of the keys, over those that are allowed. */
START_TEST(weights_have_the_bits_of_the_definition) {
    static const unsigned char some[KEYS] = {0, 1, 1, 0, 1, 1};
    for (uint64_t seed = 0; seed < 50; seed++) {
        const unsigned char *allowed = seed % 2 == 0 ? NULL : some;
        mha_real *x = array_normal(KEYS, seed), weights[KEYS], expected[KEYS];
        mha_real maximum = -REAL_INFINITY, sum = REAL(0.0), total = REAL(0.0);
        for (size_t s = 0; s < KEYS; s++) {
            x[s] *= REAL(5.0);
            maximum = (allowed == NULL || allowed[s]) && x[s] > maximum ? x[s] : maximum;
        }
        for (size_t s = 0; s < KEYS; s++) {
            expected[s] = allowed == NULL || allowed[s] ? real_exp(x[s] - maximum) : REAL(0.0);
            sum += expected[s];
        }
        const mha_real inverse = REAL(1.0) / sum;
        for (size_t s = 0; s < KEYS; s++) {
            expected[s] *= inverse;
        }
        weigh(weights, x, allowed, KEYS);
        assert_arrays_same("weights", weights, expected, KEYS);
        for (size_t s = 0; s < KEYS; s++) {
            total += weights[s];
            ck_assert(weights[s] >= REAL(0.0) && weights[s] <= REAL(1.0));
        }
        assert_arrays_near("sum of weights", &total, &(mha_real){REAL(1.0)}, 1, KEYS * 0x1p-53);
    }
}
END_TEST

/* x and x + c, both exact, give the same weights. */
START_TEST(a_constant_shift_changes_no_bit) {
    mha_real *x = array_whole(KEYS, 1), *shifted = array_copy(x, KEYS);
    mha_real weights[KEYS], expected[KEYS];
    weigh(expected, x, NULL, KEYS);
    static const mha_real shifts[] = {REAL(1.0), REAL(-64.0), REAL(1e6), REAL(-1e6)};
    for (size_t i = 0; i < COUNT(shifts); i++) {
        for (size_t s = 0; s < KEYS; s++) {
            shifted[s] = x[s] + shifts[i];
        }
        weigh(weights, shifted, NULL, KEYS);
        assert_arrays_same("weights", weights, expected, KEYS);
    }
}
END_TEST

/* exp(0) is exactly 1, so that one key alone weighs 1 and equal keys weigh the same power of two.
 */
START_TEST(exp_of_0_is_exactly_1) {
    static const mha_real values[] = {REAL(0.0), REAL(1.25), REAL(-700.1), REAL(1e30)};
    for (size_t i = 0; i < COUNT(values); i++) {
        const mha_real x[4] = {values[i], values[i], values[i], values[i]};
        mha_real weights[4];
        for (size_t keys = 1; keys <= 4; keys *= 2) {
            weigh(weights, x, NULL, keys);
            assert_array_is("weights", weights, REAL(1.0) / (mha_real)keys, keys);
        }
    }
}
END_TEST

/* An exponential below the smallest normal number is exactly 0; the last one above it is not. */
START_TEST(exponentials_below_the_normal_numbers_are_0) {
    /* The largest x with exp(x) below the smallest normal number, found by bisection. */
    mha_real below = MHA_PRECISION == 32 ? REAL(-90.0) : REAL(-720.0), above = REAL(-80.0);
    for (mha_real middle = (below + above) / 2; middle > below && middle < above;
         middle = below + (above - below) / 2) {
        if (real_exp(middle) < REAL_SMALLEST) {
            below = middle;
        } else {
            above = middle;
        }
    }
    ck_assert(real_exp(below) > REAL(0.0)); /* a denormal number, that is to be 0 */
    mha_real weights[2];
    weigh(weights, (const mha_real[]){REAL(0.0), below}, NULL, 2);
    ck_assert(weights[0] == REAL(1.0) && weights[1] == REAL(0.0));
    weigh(weights, (const mha_real[]){REAL(0.0), above}, NULL, 2);
    ck_assert(weights[0] == REAL(1.0) && weights[1] >= REAL_SMALLEST);
    weigh(weights, (const mha_real[]){REAL(0.0), -REAL_INFINITY}, NULL, 2);
    ck_assert(weights[0] == REAL(1.0) && weights[1] == REAL(0.0));
}
END_TEST

START_TEST(scores_up_to_the_largest_finite_number_are_right) {
    const mha_real huge = REAL_LARGEST;
    mha_real weights[4];
    weigh(weights, (const mha_real[]){huge, -huge, huge, REAL(0.0)}, NULL, 4);
    ck_assert(weights[0] == REAL(0.5) && weights[2] == REAL(0.5));
    ck_assert(weights[1] == REAL(0.0) && weights[3] == REAL(0.0));
    weigh(weights, (const mha_real[]){-huge, -huge, -huge, -huge}, NULL, 4);
    assert_array_is("weights", weights, REAL(0.25), 4);
}
END_TEST

/* Keys 0 and 2 are allowed. */
static const unsigned char two_of_four[4] = {1, 0, 1, 0};
static const mha_real not_finite[][4] = {
    {(mha_real)NAN, REAL(1.0), REAL(2.0), REAL(9.0)},
    {REAL(1.0), REAL(1.0), (mha_real)NAN, REAL(9.0)},
    {REAL_INFINITY, REAL(0.0), REAL_INFINITY, REAL(9.0)},
    {-REAL_INFINITY, REAL(1.0), -REAL_INFINITY, REAL(9.0)},
    {(mha_real)NAN, REAL_INFINITY, -REAL_INFINITY, (mha_real)NAN},
};

/* A NaN, an infinity, or nothing but -infinity shows in all allowed keys. */
START_TEST(what_is_not_finite_shows) {
    mha_real weights[4];
    weigh(weights, not_finite[_i], two_of_four, 4);
    ck_assert(isnan(weights[0]) && isnan(weights[2]));
}
END_TEST

/* ... and in no other: a blocked pair weighs exactly 0 whatever its row holds. */
START_TEST(what_is_not_finite_stays_out_of_blocked_keys) {
    mha_real weights[4];
    weigh(weights, not_finite[_i], two_of_four, 4);
    ck_assert_msg(weights[1] == REAL(0.0) && weights[3] == REAL(0.0),
        "blocked keys weigh %g and %g", (wide)weights[1], (wide)weights[3]);
}
END_TEST

/* One infinite score beside finite ones is infinity - infinity, not a weight of 1. */
START_TEST(an_infinite_score_is_not_finite) {
    mha_real weights[2];
    weigh(weights, (const mha_real[]){REAL(0.0), REAL_INFINITY}, NULL, 2);
    ck_assert(isnan(weights[1]));
}
END_TEST

START_TEST(blocked_keys_hide_what_they_hold) {
    static const unsigned char allowed[4] = {1, 0, 1, 0};
    const mha_real hidden[] = {not_a_number, REAL_INFINITY, -REAL_INFINITY, REAL_LARGEST};
    mha_real x[4] = {REAL(0.5), REAL(0.0), REAL(-0.25), REAL(0.0)}, expected[4], weights[4];
    weigh(expected, x, allowed, 4);
    ck_assert(expected[1] == REAL(0.0) && expected[3] == REAL(0.0));
    for (size_t i = 0; i < COUNT(hidden); i++) {
        x[1] = hidden[i];
        x[3] = hidden[COUNT(hidden) - 1 - i];
        weigh(weights, x, allowed, 4);
        assert_arrays_same("weights", weights, expected, 4);
    }
}
END_TEST

/* The mask decides whether a row is empty, never its values. */
START_TEST(a_row_without_a_key_is_0) {
    static const unsigned char allowed[4] = {0};
    const mha_shape shape = {1, 1, 4, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {1, 4}};
    const mha_real values[] = {REAL(1.0), not_a_number, REAL_INFINITY, -REAL_INFINITY};
    mha_real weights[4];
    weigh(weights, values, allowed, 4);
    assert_array_is("weights", weights, REAL(0.0), 4);
    mha_real *gradient = array_constant(4, REAL(3.0));
    mha_softmax_backward(gradient, values, weights, &mask, &shape);
    assert_array_is("gradient", gradient, REAL(3.0), 4);
}
END_TEST

/* A row of gradients sums to 0, and blocked keys are neither read nor written. */
START_TEST(backward_is_the_definition_over_allowed_keys) {
    static const unsigned char allowed[KEYS] = {1, 1, 0, 1, 0, 1};
    const mha_shape shape = {1, 1, KEYS, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {1, KEYS}};
    const mha_real *x = array_normal(KEYS, 4);
    mha_real *dweights = array_normal(KEYS, 5), *dx = array_new(KEYS), weights[KEYS];
    mha_real dot = REAL(0.0), sum = REAL(0.0);
    weigh(weights, x, allowed, KEYS);
    for (size_t s = 0; s < KEYS; s++) {
        if (allowed[s] != 0) {
            dot += weights[s] * dweights[s];
            dx[s] = REAL(0.0);
        } else {
            dweights[s] = not_a_number;
        }
    }
    mha_softmax_backward(dx, dweights, weights, &mask, &shape);
    for (size_t s = 0; s < KEYS; s++) {
        if (allowed[s] != 0) {
            const mha_real expected = weights[s] * (dweights[s] - dot);
            assert_arrays_same("dx", dx + s, &expected, 1);
            sum += dx[s];
        } else {
            assert_arrays_same("dx", dx + s, &not_a_number, 1);
        }
    }
    assert_arrays_near("sum of dx", &sum, &(mha_real){REAL(0.0)}, 1, 4 * KEYS * 0x1p-53);
}
END_TEST

TCase *softmax_case(void) {
    TCase *cases = tcase_create("softmax");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, weights_have_the_bits_of_the_definition);
    tcase_add_test(cases, a_constant_shift_changes_no_bit);
    tcase_add_test(cases, exp_of_0_is_exactly_1);
    tcase_add_test(cases, exponentials_below_the_normal_numbers_are_0);
    tcase_add_test(cases, scores_up_to_the_largest_finite_number_are_right);
    tcase_add_loop_test(cases, what_is_not_finite_shows, 0, COUNT(not_finite));
    tcase_add_loop_test(cases, what_is_not_finite_stays_out_of_blocked_keys, 0, COUNT(not_finite));
    tcase_add_test(cases, an_infinite_score_is_not_finite);
    tcase_add_test(cases, blocked_keys_hide_what_they_hold);
    tcase_add_test(cases, a_row_without_a_key_is_0);
    tcase_add_test(cases, backward_is_the_definition_over_allowed_keys);
    return cases;
}
