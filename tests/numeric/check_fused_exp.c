/* The exponential of the fused wing, seen through the weights of one query: exactly 1 at 0, exactly 0
 * below the normal numbers, and within two units of the last place of what its argument says. */
#include "base/real.h"

#include "arrays.h"
#include "fused_call.h"
#include "fused_cases.h"

#define UNIT (MHA_PRECISION == 32 ? 0x1p-24L : 0x1p-53L) /* half a unit of the last place of 1 */

/* Weights of `rows` queries over two keys each, whose scores are 0 and -gap. */
static const mha_real *weights_of_gaps(const mha_real *gaps, size_t rows) {
    const mha_shape shape = {1, rows, 2, 1, 1};
    const fused_call c = fused_call_new(&shape, NULL, MHA_MODE_STORED, 1);
    for (size_t t = 0; t < rows; t++) {
        c.q[t] = gaps[t];
    }
    c.k[0] = REAL(0.0);
    c.k[1] = REAL(-1.0);
    fused_call_forward(&c);
    return c.saved.weights;
}

START_TEST(equal_scores_weigh_the_same) {
    static const mha_real scores[] = {REAL(0.0), REAL(1.25), REAL(-700.1), REAL(1e30)};
    for (size_t keys = 1; keys <= 130; keys++) {
        const mha_shape shape = {1, COUNT(scores), keys, 1, 1};
        const fused_call c = fused_call_new(&shape, NULL, MHA_MODE_STORED, 2);
        for (size_t t = 0; t < COUNT(scores); t++) {
            c.q[t] = scores[t];
        }
        for (size_t s = 0; s < keys; s++) {
            c.k[s] = REAL(1.0);
        }
        fused_call_forward(&c);
        assert_array_is(
            "weights", c.saved.weights, REAL(1.0) / (mha_real)keys, COUNT(scores) * keys);
        arrays_release();
    }
}
END_TEST

enum { GAPS = 20000 };

/* Evenly spread from 0 to where the exponential is 0 for certain, and then some. */
static mha_real *spread_gaps(void) {
    mha_real *gaps = array_new(GAPS);
    for (size_t i = 0; i < GAPS; i++) {
        gaps[i] = (mha_real)i * (MHA_PRECISION == 32 ? REAL(103.0) : REAL(745.0)) / GAPS;
    }
    return gaps;
}

/* A weight is e / (1 + e) for e = 2^y. Its argument y is the gap times log2(e), each rounded: an error
 * that grows with y, as that of any score does. What is added to it is the exponential's own. */
START_TEST(weights_have_the_exponential_of_their_gap) {
    const mha_real *gaps = spread_gaps(), *weights = weights_of_gaps(gaps, GAPS);
    const mha_real log2_e = REAL(1.44269504088896340736);
    for (size_t i = 0; i < GAPS; i++) {
        const mha_real y = -gaps[i] * log2_e;
        const long double e = exp2l((long double)y), own = e / (1 + e);
        const long double exact_e = expl(-(long double)gaps[i]), exact = exact_e / (1 + exact_e);
        const long double weight = (long double)weights[2 * i + 1];
        if (y < (MHA_PRECISION == 32 ? REAL(-126.0) : REAL(-1022.0))) {
            ck_assert_msg(weight == 0, "gap %.17g weighs %Lg", (wide)gaps[i], weight);
            ck_assert(weights[2 * i] == REAL(1.0));
            continue;
        }
        ck_assert_msg(fabsl(weight - own) <= 4 * UNIT * own,
            "gap %.17g weighs %.21Lg, its argument says %.21Lg", (wide)gaps[i], weight, own);
        ck_assert_msg(fabsl(weight - exact) <= 2 * (1 + (long double)gaps[i]) * UNIT * exact,
            "gap %.17g weighs %.21Lg, not %.21Lg", (wide)gaps[i], weight, exact);
        ck_assert(weight >= (long double)REAL_SMALLEST);
    }
}
END_TEST

/* No denormal weight, one number beside the other around the smallest normal one. */
START_TEST(weights_below_the_normal_numbers_are_0) {
    enum { AROUND = 2000 };
    const mha_real middle = -real_log(REAL_SMALLEST);
    mha_real *gaps = array_new(AROUND);
    gaps[0] = middle * (REAL(1.0) - (mha_real)(AROUND / 2 * UNIT));
    for (size_t i = 1; i < AROUND; i++) {
        gaps[i] = gaps[i - 1] + (mha_real)UNIT * middle;
    }
    const mha_real *weights = weights_of_gaps(gaps, AROUND);
    size_t zeros = 0;
    for (size_t i = 0; i < AROUND; i++) {
        const mha_real weight = weights[2 * i + 1];
        ck_assert_msg(weight == REAL(0.0) || weight >= REAL_SMALLEST, "gap %.17g weighs %g",
            (wide)gaps[i], (wide)weight);
        zeros += weight == REAL(0.0) ? 1 : 0;
    }
    ck_assert(zeros > AROUND / 8 && zeros < AROUND - AROUND / 8);
}
END_TEST

/* The sum of the weights, less 1; compensated (Kahan), since long double may be no more than double. */
static long double beyond_1(const mha_real *weights, size_t count) {
    long double sum = -1, lost = 0;
    for (size_t i = 0; i < count; i++) {
        const long double term = (long double)weights[i] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    return sum;
}

/* Rows of all lengths, with gaps that underflow among them. */
START_TEST(weights_sum_to_1) {
    static const size_t key_counts[] = {2, 15, 16, 17, 64, 129, 1023, 2049};
    for (size_t i = 0; i < COUNT(key_counts); i++) {
        const size_t keys = key_counts[i];
        const mha_shape shape = {1, 25, keys, 1, 1};
        const fused_call c = fused_call_new(&shape, NULL, MHA_MODE_STORED, 90 + i);
        for (size_t t = 0; t < 25; t++) {
            c.q[t] *= (mha_real)(t * t); /* flat to steep */
        }
        fused_call_forward(&c);
        for (size_t t = 0; t < 25; t++) {
            const long double rest = beyond_1(c.saved.weights + t * keys, keys);
            ck_assert_msg(
                fabsl(rest) <= 6 * UNIT, "%zu weights sum to 1 %+.3Lg units", keys, rest / UNIT);
        }
        arrays_release();
    }
}
END_TEST

TCase *fused_exp_case(void) {
    TCase *cases = tcase_create("exponential");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, equal_scores_weigh_the_same);
    tcase_add_test(cases, weights_have_the_exponential_of_their_gap);
    tcase_add_test(cases, weights_below_the_normal_numbers_are_0);
    tcase_add_test(cases, weights_sum_to_1);
    return cases;
}
