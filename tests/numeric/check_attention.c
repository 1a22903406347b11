/* mha_attention_forward and _backward: the layer's stages in a row, linear in V, and exact where
 * the contracts of masks say so. */
#include "base/real.h"

#include "arrays.h"
#include "ops_cases.h"

enum { B = 2, T = 4, S = 5, H = 3, HEAD = 2, D = H * HEAD };
static const mha_shape shape = {B, T, S, D, H};
enum { QUERIES = B * H * T * HEAD, SOURCES = B * H * S * HEAD, PAIRS = B * H * T * S };

static const int64_t lengths[B] = {5, 2};
static const mha_mask masks[] = {{.causal = MHA_CAUSAL_OFF}, {.causal = MHA_CAUSAL_BOTTOM_RIGHT},
    {.causal = MHA_CAUSAL_TOP_LEFT, .lengths = lengths}};

/* Attention and the gradients of its three inputs. */
typedef struct attention {
    mha_real *q, *k, *v, *context, *weights, *dcontext, *dq, *dk, *dv, *scratch;
} attention;

static attention make(void) {
    return (attention){array_normal(QUERIES, 1), array_normal(SOURCES, 2), array_normal(SOURCES, 3),
        array_new(QUERIES), array_new(PAIRS), array_normal(QUERIES, 4),
        array_constant(QUERIES, REAL(0.0)), array_constant(SOURCES, REAL(0.0)),
        array_constant(SOURCES, REAL(0.0)), array_new(2 * PAIRS)};
}

static void run(attention *a, const mha_mask *mask) {
    mha_attention_forward(a->context, a->weights, a->scratch, a->q, a->k, a->v, mask, &shape);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        a->scratch[i] = not_a_number;
    }
    mha_attention_backward(
        a->dq, a->dk, a->dv, a->scratch, a->dcontext, a->weights, a->q, a->k, a->v, mask, &shape);
}

static size_t stage_of(mha_value result) {
    size_t i = 0;
    while (mha_stages[i].result != result) {
        i++;
        ck_assert_uint_lt(i, MHA_STAGE_COUNT);
    }
    return i;
}

START_TEST(attention_is_the_stages_in_a_row) {
    const mha_mask *mask = &masks[_i];
    attention a = make();
    run(&a, mask);
    mha_pass pass = {.shape = shape, .mask = mask};
    pass.value[MHA_Q_HEADS] = a.q;
    pass.value[MHA_K_HEADS] = a.k;
    pass.value[MHA_V_HEADS] = a.v;
    const size_t first = stage_of(MHA_SCORES), last = stage_of(MHA_CONTEXT_HEADS);
    for (size_t i = first; i <= last; i++) {
        const mha_value result = mha_stages[i].result;
        mha_real *values = array_new(mha_value_count(result, &shape));
        mha_stages[i].forward(values, &pass);
        pass.value[result] = values;
    }
    assert_arrays_same("weights", a.weights, pass.value[MHA_ATTENTION_WEIGHTS], PAIRS);
    assert_arrays_same("context", a.context, pass.value[MHA_CONTEXT_HEADS], QUERIES);
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t count = mha_value_count((mha_value)i, &shape);
        pass.gradient[i] = pass.value[i] == NULL ? NULL : array_constant(count, REAL(0.0));
    }
    for (size_t i = last + 1; i-- > first;) {
        const mha_value result = mha_stages[i].result;
        mha_stages[i].backward(
            &pass, result == MHA_CONTEXT_HEADS ? a.dcontext : pass.gradient[result]);
    }
    assert_arrays_same("dq", a.dq, pass.gradient[MHA_Q_HEADS], QUERIES);
    assert_arrays_same("dk", a.dk, pass.gradient[MHA_K_HEADS], SOURCES);
    assert_arrays_same("dv", a.dv, pass.gradient[MHA_V_HEADS], SOURCES);
}
END_TEST

START_TEST(the_context_is_linear_in_v) {
    const mha_mask *mask = &masks[_i];
    attention first = make(), second = make(), both = make();
    second.v = array_normal(SOURCES, 9);
    mha_real *sum = array_new(QUERIES), *doubled = array_new(QUERIES);
    for (size_t i = 0; i < SOURCES; i++) {
        both.v[i] = first.v[i] + second.v[i];
    }
    run(&first, mask);
    run(&second, mask);
    run(&both, mask);
    for (size_t i = 0; i < QUERIES; i++) {
        sum[i] = first.context[i] + second.context[i];
        doubled[i] = REAL(2.0) * first.context[i];
    }
    assert_arrays_near("context", both.context, sum, QUERIES, 1e-14);
    assert_arrays_same("weights", both.weights, first.weights, PAIRS);
    for (size_t i = 0; i < SOURCES; i++) {
        both.v[i] = REAL(2.0) * first.v[i];
    }
    run(&both, mask);
    assert_arrays_same("context", both.context, doubled, QUERIES);
}
END_TEST

/* Rows sum to 1, or are 0 where the mask leaves nothing; blocked pairs are exactly 0. */
START_TEST(weights_are_0_where_blocked_and_sum_to_1) {
    const mha_mask *mask = &masks[_i];
    attention a = make();
    run(&a, mask);
    for (size_t row = 0; row < B * H * T; row++) {
        const mha_mask_row seen =
            mha_mask_row_at(mask, &shape, row / (H * T), row / T % H, row % T);
        mha_real sum = REAL(0.0), expected = REAL(0.0);
        for (size_t s = 0; s < S; s++) {
            const bool allowed = mha_mask_row_allows(&seen, s);
            ck_assert(allowed || a.weights[row * S + s] == REAL(0.0));
            sum += a.weights[row * S + s];
            expected = allowed ? REAL(1.0) : expected;
        }
        assert_arrays_near("sum of weights", &sum, &expected, 1, S * 0x1p-53);
    }
}
END_TEST

/* Raw scores up to the largest finite number: exact weights, and gradients without a NaN. */
START_TEST(huge_scores_are_right) {
    const mha_shape one = {1, 1, 3, 1, 1};
    const mha_real root = real_sqrt(REAL_LARGEST) / REAL(2.0);
    const mha_real q = root, k[3] = {root, -root, root}, v[3] = {REAL(1.0), REAL(7.0), REAL(3.0)};
    const mha_real dcontext = REAL(1.0);
    mha_real context, weights[3], scratch[6];
    mha_attention_forward(&context, weights, scratch, &q, k, v, NULL, &one);
    ck_assert(weights[0] == REAL(0.5) && weights[1] == REAL(0.0) && weights[2] == REAL(0.5));
    ck_assert(context == REAL(2.0));
    mha_real dq = REAL(0.0), dk[3] = {0}, dv[3] = {0};
    mha_attention_backward(&dq, dk, dv, scratch, &dcontext, weights, &q, k, v, NULL, &one);
    assert_arrays_same("dv", dv, weights, 3);
    ck_assert(dq == REAL(0.0)); /* both keys that count are the same */
    ck_assert(dk[0] == REAL(-0.5) * root && dk[1] == REAL(0.0) && dk[2] == REAL(0.5) * root);
}
END_TEST

TCase *attention_case(void) {
    TCase *cases = tcase_create("attention");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, attention_is_the_stages_in_a_row, 0, COUNT(masks));
    tcase_add_loop_test(cases, the_context_is_linear_in_v, 0, COUNT(masks));
    tcase_add_loop_test(cases, weights_are_0_where_blocked_and_sum_to_1, 0, COUNT(masks));
    tcase_add_test(cases, huge_scores_are_right);
    return cases;
}
