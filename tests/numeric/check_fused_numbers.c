/* Raw scores up to the largest finite number, and what is not finite: the weights are those of a long
 * double softmax, NaN and infinity show in the rows that they belong to and in no other. */
#include "base/real.h"

#include "arrays.h"
#include "fused_call.h"
#include "fused_cases.h"

enum { KEYS = 70, ROWS = 50, WIDTH = 4 };

/* Scores of one row; the raw score is the product with 1 in one feature, or a sum of four equal ones. */
static const mha_real huge[] = {REAL_LARGEST, -REAL_LARGEST, REAL_LARGEST / 2, REAL(0.0), REAL(1.0),
    -REAL_LARGEST / 2, REAL_LARGEST, REAL(-1.0)};

/* Every row sees all scores, odd rows with the other sign. */
static fused_call with_scores(const mha_real *scores, size_t count, size_t keys, mha_mode mode) {
    const mha_shape shape = {1, ROWS, keys, WIDTH, 1};
    const fused_call c = fused_call_new(&shape, NULL, mode, 71);
    for (size_t t = 0; t < ROWS; t++) {
        const mha_real sign = t % 2 == 0 ? REAL(1.0) : REAL(-1.0);
        for (size_t i = 0; i < WIDTH; i++) { /* by one feature, or by all of them */
            c.q[t * WIDTH + i] = t % 3 == 0 ? (i == 2 ? sign : REAL(0.0)) : sign / 4;
        }
    }
    for (size_t s = 0; s < keys; s++) {
        for (size_t i = 0; i < WIDTH; i++) {
            c.k[s * WIDTH + i] = scores[s % count];
        }
    }
    return c;
}

/* The softmax of the scores with the sign, divided by sqrt(WIDTH) = 2. */
static void soften(
    long double *weights, const mha_real *scores, size_t count, size_t keys, long double sign) {
    long double largest = -HUGE_VALL, sum = 0;
    for (size_t s = 0; s < keys; s++) {
        largest = fmaxl(largest, sign * (long double)scores[s % count]);
    }
    for (size_t s = 0; s < keys; s++) {
        weights[s] = expl((sign * (long double)scores[s % count] - largest) / 2);
        sum += weights[s];
    }
    for (size_t s = 0; s < keys; s++) {
        weights[s] /= sum;
    }
}

/* The gaps are 0 or beyond every exponential, so that weights are 1/n and 0 exactly. */
START_TEST(scores_up_to_the_largest_number_are_right) {
    static const size_t key_counts[] = {1, 2, 3, 7, 16, 17, 33, KEYS};
    for (size_t i = 0; i < COUNT(key_counts); i++) {
        const size_t keys = key_counts[i];
        const fused_call c = with_scores(huge, COUNT(huge), keys, MHA_MODE_STORED);
        const fused_call tiled = fused_call_again(&c, MHA_MODE_TILED);
        fused_call_run(&c);
        fused_call_run(&tiled);
        assert_calls_same(&tiled, &c);
        for (size_t t = 0; t < ROWS; t++) {
            long double expected[KEYS];
            soften(expected, huge, COUNT(huge), keys, t % 2 == 0 ? 1 : -1);
            for (size_t s = 0; s < keys; s++) {
                const mha_real weight = (mha_real)expected[s];
                assert_arrays_same("weight", c.saved.weights + t * keys + s, &weight, 1);
            }
            ck_assert(isfinite(c.context[t * WIDTH]) && isfinite(c.dq[t * WIDTH]));
        }
        for (size_t j = 0; j < keys; j++) {
            ck_assert(isfinite(c.dk[j * WIDTH]) && isfinite(c.dv[j * WIDTH]));
        }
        arrays_release();
    }
}
END_TEST

/* Scores of thousands, whole numbers and so exact, with gaps that count. */
START_TEST(large_scores_with_small_gaps_are_right) {
    mha_real scores[KEYS];
    for (size_t s = 0; s < KEYS; s++) {
        scores[s] = REAL(4096.0) + (mha_real)(s * 5 % 31);
    }
    const fused_call c = with_scores(scores, KEYS, KEYS, MHA_MODE_STORED);
    fused_call_forward(&c);
    for (size_t t = 0; t < ROWS; t++) {
        long double expected[KEYS];
        soften(expected, scores, KEYS, KEYS, t % 2 == 0 ? 1 : -1);
        for (size_t s = 0; s < KEYS; s++) {
            const long double weight = (long double)c.saved.weights[t * KEYS + s];
            const long double unit = MHA_PRECISION == 32 ? 0x1p-24L : 0x1p-53L;
            ck_assert_msg(fabsl(weight - expected[s]) <= 40 * unit * expected[s],
                "weight %zu of row %zu is %Lg, not %Lg", s, t, weight, expected[s]);
        }
    }
}
END_TEST

/* Worked out by hand: keys 0 and 2 share the weight, their difference moves the value. */
START_TEST(huge_scores_have_right_gradients) {
    const mha_shape one = {1, 1, 3, 1, 1};
    const mha_real root = real_sqrt(REAL_LARGEST) / REAL(2.0);
    const fused_call c = fused_call_new(&one, NULL, _i == 0 ? MHA_MODE_STORED : MHA_MODE_TILED, 72);
    const mha_real k[3] = {root, -root, root}, v[3] = {REAL(1.0), REAL(7.0), REAL(3.0)};
    c.q[0] = root;
    c.dcontext[0] = REAL(1.0);
    for (size_t s = 0; s < 3; s++) {
        c.k[s] = k[s];
        c.v[s] = v[s];
    }
    fused_call_run(&c);
    ck_assert(c.context[0] == REAL(2.0));
    ck_assert(c.dv[0] == REAL(0.5) && c.dv[1] == REAL(0.0) && c.dv[2] == REAL(0.5));
    ck_assert(c.dq[0] == REAL(0.0));
    ck_assert(c.dk[0] == REAL(-0.5) * root && c.dk[1] == REAL(0.0) && c.dk[2] == REAL(0.5) * root);
}
END_TEST

/* ---- what is not finite ---- */

enum { IN_Q, IN_K, IN_V, IN_DCONTEXT, PLACES };

/* The same entries are finite as in the readable wing, which has no tiles. */
static void assert_finite_alike(
    const char *what, const mha_real *x, const mha_real *reference, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg((isfinite(x[i]) != 0) == (isfinite(reference[i]) != 0),
            "%s[%zu] is %g, in the readable wing %g", what, i, (wide)x[i], (wide)reference[i]);
    }
}

/* One head, where both wings have the same layout. */
static void assert_like_operators(const fused_call *c) {
    const size_t targets = fused_call_count(c, MHA_Q), sources = fused_call_count(c, MHA_K);
    const size_t pairs = fused_call_count(c, MHA_ATTENTION_WEIGHTS);
    mha_real *context = array_new(targets), *weights = array_new(pairs);
    mha_real *scratch = array_new(2 * pairs), *dq = array_constant(targets, REAL(0.0));
    mha_real *dk = array_constant(sources, REAL(0.0)), *dv = array_constant(sources, REAL(0.0));
    mha_attention_forward(context, weights, scratch, c->q, c->k, c->v, c->mask, &c->shape);
    mha_attention_backward(
        dq, dk, dv, scratch, c->dcontext, weights, c->q, c->k, c->v, c->mask, &c->shape);
    assert_finite_alike("context", c->context, context, targets);
    assert_finite_alike("dq", c->dq, dq, targets);
    assert_finite_alike("dk", c->dk, dk, sources);
    assert_finite_alike("dv", c->dv, dv, sources);
    if (c->saved.weights != NULL) {
        assert_finite_alike("weights", c->saved.weights, weights, pairs);
    }
}

/* A NaN or an infinity in row 30 of q, k, v or dcontext; without a mask, and with one that hides key 30
 * from some queries. */
START_TEST(what_is_not_finite_shows_as_in_the_readable_wing) {
    static const mha_shape shape = {1, 61, 67, 5, 1};
    static const mha_mask causal = {.causal = MHA_CAUSAL_TOP_LEFT};
    const mha_real values[] = {not_a_number, REAL_INFINITY, -REAL_INFINITY};
    const size_t place = (size_t)_i / 2;
    const mha_mode mode = _i % 2 == 0 ? MHA_MODE_STORED : MHA_MODE_TILED;
    for (size_t i = 0; i < 2 * COUNT(values); i++) {
        const fused_call c = fused_call_new(&shape, i % 2 == 0 ? NULL : &causal, mode, 73);
        mha_real *const arrays[PLACES] = {c.q, c.k, c.v, c.dcontext};
        arrays[place][30 * 5 + 2] = values[i / 2];
        fused_call_run(&c);
        assert_like_operators(&c);
        arrays_release();
    }
}
END_TEST

/* Whether a row is empty is decided by the mask: without a key it is 0 whatever its query holds. */
START_TEST(an_empty_row_is_0_whatever_it_holds) {
    static const mha_shape shape = {1, 60, 40, 6, 2};
    static const mha_mask mask = {.causal = MHA_CAUSAL_BOTTOM_RIGHT}; /* 20 rows see nothing */
    const mha_real values[] = {not_a_number, REAL_INFINITY, REAL_LARGEST};
    const mha_mode mode = _i == 0 ? MHA_MODE_STORED : MHA_MODE_TILED;
    const fused_call expected = fused_call_new(&shape, &mask, mode, 74);
    fused_call_run(&expected);
    for (size_t i = 0; i < COUNT(values); i++) {
        const fused_call c = fused_call_again(&expected, mode);
        for (size_t j = 0; j < 20 * 6; j++) {
            c.q[j] = values[i];
            c.dcontext[j] = values[COUNT(values) - 1 - i];
        }
        fused_call_run(&c);
        assert_array_is("context", c.context, REAL(0.0), 20 * 6);
        assert_array_is("dq", c.dq, REAL(0.0), 20 * 6);
        assert_calls_same(&c, &expected);
    }
}
END_TEST

/* Nothing but -infinity among the allowed scores: a NaN for these, exactly 0 for the blocked ones. */
START_TEST(a_row_of_minus_infinity_is_not_empty) {
    static const mha_shape shape = {1, 2, 40, 1, 1};
    static const int64_t length = 23;
    const mha_mask mask = {.lengths = &length};
    const fused_call c = fused_call_new(&shape, &mask, MHA_MODE_STORED, 75);
    for (size_t s = 0; s < 40; s++) {
        c.k[s] = -REAL_INFINITY;
    }
    c.q[0] = REAL(1.0);
    c.q[1] = REAL(2.0);
    fused_call_run(&c);
    for (size_t s = 0; s < 40; s++) {
        for (size_t t = 0; t < 2; t++) {
            const mha_real weight = c.saved.weights[t * 40 + s];
            ck_assert(s < 23 ? isnan(weight) != 0 : weight == REAL(0.0));
        }
    }
    ck_assert(isnan(c.context[0]) && isnan(c.dv[0]));
    assert_array_is("dv", c.dv + 23, REAL(0.0), 40 - 23);
}
END_TEST

/* Values whose sum overflows before it is divided: their mean does not. */
START_TEST(values_up_to_the_largest_number_are_right) {
    const mha_shape shape = {1, ROWS, KEYS, WIDTH, 1};
    const fused_call c = fused_call_new(&shape, NULL, MHA_MODE_TILED, 72);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        c.q[i] = REAL(0.0);
    }
    for (size_t i = 0; i < KEYS * WIDTH; i++) {
        c.v[i] = i % WIDTH == 1 ? REAL(1.0) : REAL_LARGEST / 2;
    }
    fused_call_forward(&c);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        const mha_real expected = i % WIDTH == 1 ? REAL(1.0) : REAL_LARGEST / 2;
        ck_assert_msg(
            fabs((double)(c.context[i] / expected) - 1) < (MHA_PRECISION == 32 ? 1e-5 : 1e-13),
            "context %zu is %g, not %g", i, (double)c.context[i], (double)expected);
    }
}
END_TEST

/* A product that underflows leaves -0 in a sum; a hidden value must not decide what becomes of it. */
START_TEST(hidden_values_decide_no_sign_of_zero) {
    static const unsigned char allowed[] = {1, 1, 0};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {1, 3}};
    const mha_shape shape = {1, 1, 3, 1, 1};
    mha_real contexts[2];
    for (size_t i = 0; i < 2; i++) {
        const fused_call c = fused_call_new(&shape, &mask, MHA_MODE_STORED, 73);
        c.q[0] = REAL(1.0);
        c.k[0] = c.k[2] = c.v[0] = REAL(0.0);
        c.k[1] = MHA_PRECISION == 32 ? REAL(-69.3) : REAL(-700.0);
        c.v[1] = -REAL_SMALLEST;
        c.v[2] = i == 0 ? REAL(-1.0) : REAL(1.0);
        fused_call_forward(&c);
        contexts[i] = c.context[0];
    }
    assert_arrays_same("context", &contexts[0], &contexts[1], 1);
}
END_TEST

TCase *fused_numbers_case(void) {
    TCase *cases = tcase_create("numbers");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, scores_up_to_the_largest_number_are_right);
    tcase_add_test(cases, values_up_to_the_largest_number_are_right);
    tcase_add_test(cases, hidden_values_decide_no_sign_of_zero);
    tcase_add_test(cases, large_scores_with_small_gaps_are_right);
    tcase_add_loop_test(cases, huge_scores_have_right_gradients, 0, 2);
    tcase_add_loop_test(cases, what_is_not_finite_shows_as_in_the_readable_wing, 0, 2 * PLACES);
    tcase_add_loop_test(cases, an_empty_row_is_0_whatever_it_holds, 0, 2);
    tcase_add_test(cases, a_row_of_minus_infinity_is_not_empty);
    return cases;
}
