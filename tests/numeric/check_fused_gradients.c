/* The fused wing's attention by itself: it is that of the operators, and its backward adds to what is
 * wanted and to nothing else. */
#include "base/real.h"

#include "arrays.h"
#include "fused_call.h"
#include "fused_cases.h"
#include "trial.h"
#include "reports_case.h"

/* Across tiles, groups of keys, and heads. */
static const mha_shape shapes[] = {
    {2, 4, 6, 8, 2}, {1, 50, 67, 12, 3}, {2, 97, 33, 10, 1}, {1, 5, 1030, 6, 2}};
static const int64_t lengths[] = {29, 5};
static const mha_mask masks[] = {{.causal = MHA_CAUSAL_OFF}, {.causal = MHA_CAUSAL_BOTTOM_RIGHT},
    {.causal = MHA_CAUSAL_TOP_LEFT, .lengths = lengths}};
enum { VARIANTS = 2 * COUNT(shapes) * COUNT(masks) };

/* Shape, mask and mode of a loop index. Lengths must fit the source: the first shape has 6 keys. */
static fused_call call_of(int index) {
    const size_t i = (size_t)index / 2, shape = i % COUNT(shapes), mask = i / COUNT(shapes);
    const bool fits = masks[mask].lengths == NULL || shapes[shape].source_length >= 29;
    return fused_call_new(&shapes[shape], fits ? &masks[mask] : &masks[1],
        index % 2 == 0 ? MHA_MODE_STORED : MHA_MODE_TILED, 61);
}

static mha_real *split(const fused_call *c, const mha_real *x, size_t length) {
    const mha_shape *s = &c->shape;
    mha_real *heads = array_new(s->batch * length * s->width);
    mha_split_heads_forward(heads, x, s->batch, length, s->heads, mha_head_width(s));
    return heads;
}

static mha_real *combined(const fused_call *c, const mha_real *heads, size_t length) {
    const mha_shape *s = &c->shape;
    mha_real *x = array_new(s->batch * length * s->width);
    mha_combine_heads_forward(x, heads, s->batch, length, s->heads, mha_head_width(s));
    return x;
}

START_TEST(attention_by_itself_is_that_of_the_operators) {
    const fused_call c = call_of(_i);
    const size_t T = c.shape.target_length, S = c.shape.source_length;
    const size_t targets = fused_call_count(&c, MHA_Q), sources = fused_call_count(&c, MHA_K);
    const size_t pairs = fused_call_count(&c, MHA_ATTENTION_WEIGHTS);
    mha_real *q = split(&c, c.q, T), *k = split(&c, c.k, S), *v = split(&c, c.v, S);
    mha_real *dcontext = split(&c, c.dcontext, T), *context = array_new(targets);
    mha_real *weights = array_new(pairs), *scratch = array_new(2 * pairs);
    mha_real *dq = array_constant(targets, REAL(0.0)), *dk = array_constant(sources, REAL(0.0));
    mha_real *dv = array_constant(sources, REAL(0.0));
    mha_attention_forward(context, weights, scratch, q, k, v, c.mask, &c.shape);
    mha_attention_backward(dq, dk, dv, scratch, dcontext, weights, q, k, v, c.mask, &c.shape);
    fused_call_run(&c);
    const wide tolerance = 1e-14;
    assert_arrays_near("context", c.context, combined(&c, context, T), targets, tolerance);
    assert_arrays_near("dq", c.dq, combined(&c, dq, T), targets, tolerance);
    assert_arrays_near("dk", c.dk, combined(&c, dk, S), sources, tolerance);
    assert_arrays_near("dv", c.dv, combined(&c, dv, S), sources, tolerance);
    if (c.saved.weights != NULL) {
        assert_arrays_near("weights", c.saved.weights, weights, pairs, tolerance);
    }
}
END_TEST

/* The largest allowed q.k of each row, and what the exponentials sum to; both 0 without a key. */
START_TEST(tiled_mode_saves_two_numbers_a_row) {
    static const mha_mask mask = {.causal = MHA_CAUSAL_BOTTOM_RIGHT};
    static const mha_shape shape = {2, 70, 50, 12, 3}; /* the first 20 queries see nothing */
    const fused_call c = fused_call_new(&shape, &mask, MHA_MODE_TILED, 62);
    fused_call_forward(&c);
    for (size_t row = 0; row < 2 * 3 * 70; row++) {
        const size_t b = row / 210, h = row / 70 % 3, t = row % 70;
        const mha_mask_row seen = mha_mask_row_at(&mask, &shape, b, h, t);
        wide largest = -HUGE_VAL, score[50], sum = 0;
        for (size_t s = 0; s < seen.limit; s++) {
            const mha_real *q = c.q + fused_call_row(&shape, 70, b, t, h);
            const mha_real *k = c.k + fused_call_row(&shape, 50, b, s, h);
            score[s] = 0;
            for (size_t i = 0; i < 4; i++) {
                score[s] += (wide)q[i] * (wide)k[i];
            }
            largest = fmax(largest, score[s]);
        }
        for (size_t s = 0; s < seen.limit; s++) {
            sum += exp((score[s] - largest) / 2); /* sqrt(d) = 2 */
        }
        const mha_real expected[2] = {seen.limit == 0 ? REAL(0.0) : (mha_real)largest,
            seen.limit == 0 ? REAL(0.0) : (mha_real)(1 / sum)};
        const mha_real saved[2] = {c.saved.row_maximum[row], c.saved.row_inverse_sum[row]};
        assert_arrays_near("maximum and inverse sum", saved, expected, 2, 2e-15);
        ck_assert((seen.limit == 0) == (saved[1] == REAL(0.0)));
        ck_assert(seen.limit > 0 || saved[0] == REAL(0.0));
    }
}
END_TEST

START_TEST(modes_have_the_same_bits) {
    const fused_call c = call_of(_i);
    const fused_call other =
        fused_call_again(&c, c.mode == MHA_MODE_STORED ? MHA_MODE_TILED : MHA_MODE_STORED);
    fused_call_run(&c);
    fused_call_run(&other);
    assert_calls_same(&other, &c);
}
END_TEST

/* Every subset of dq, dk and dv. */
START_TEST(unwanted_gradients_change_no_bit_of_the_others) {
    const fused_call all = call_of(_i);
    fused_call_run(&all);
    for (unsigned wanted = 0; wanted < 8; wanted++) {
        const fused_call kept = fused_call_again(&all, all.mode);
        fused_call some = kept, expected = all;
        fused_call_forward(&some);
        some.dq = (wanted & 1) != 0 ? some.dq : NULL;
        some.dk = (wanted & 2) != 0 ? some.dk : NULL;
        some.dv = (wanted & 4) != 0 ? some.dv : NULL;
        fused_call_backward(&some);
        const mha_real *zeros = array_constant(
            fused_call_count(&all, MHA_Q) + fused_call_count(&all, MHA_K), REAL(0.0));
        expected.dq = (wanted & 1) != 0 ? all.dq : array_copy(zeros, fused_call_count(&all, MHA_Q));
        expected.dk = (wanted & 2) != 0 ? all.dk : array_copy(zeros, fused_call_count(&all, MHA_K));
        expected.dv = (wanted & 4) != 0 ? all.dv : array_copy(zeros, fused_call_count(&all, MHA_V));
        assert_calls_same(&kept, &expected);
    }
}
END_TEST

/* Sums start from what is there; twice the same is twice as much. */
START_TEST(backward_adds) {
    const fused_call once = call_of(_i), onto = fused_call_again(&once, once.mode);
    fused_call_run(&once);
    fused_call_forward(&onto);
    mha_real *const gradients[] = {onto.dq, onto.dk, onto.dv};
    const mha_real *const expected[] = {once.dq, once.dk, once.dv};
    const mha_value values[] = {MHA_Q, MHA_K, MHA_V};
    for (size_t g = 0; g < 3; g++) {
        for (size_t i = 0; i < fused_call_count(&onto, values[g]); i++) {
            gradients[g][i] = REAL(2.0);
        }
    }
    fused_call_backward(&onto);
    fused_call_backward(&onto);
    for (size_t g = 0; g < 3; g++) {
        const size_t count = fused_call_count(&onto, values[g]);
        mha_real *sum = array_copy(expected[g], count);
        for (size_t i = 0; i < count; i++) {
            sum[i] = REAL(2.0) + REAL(2.0) * sum[i];
        }
        assert_arrays_near("gradient", gradients[g], sum, count, 2e-14);
    }
}
END_TEST

START_TEST(doubling_dcontext_doubles_every_bit) {
    const fused_call once = call_of(_i), doubled = fused_call_again(&once, once.mode);
    for (size_t i = 0; i < fused_call_count(&once, MHA_Q); i++) {
        doubled.dcontext[i] *= REAL(2.0);
        once.dq[i] = REAL(0.0);
    }
    fused_call_run(&once);
    fused_call_run(&doubled);
    for (size_t i = 0; i < fused_call_count(&once, MHA_Q); i++) {
        once.dq[i] *= REAL(2.0);
    }
    for (size_t i = 0; i < fused_call_count(&once, MHA_K); i++) {
        once.dk[i] *= REAL(2.0);
        once.dv[i] *= REAL(2.0);
    }
    assert_calls_same(&doubled, &once);
}
END_TEST

/* The softmax of one key is 1 whatever its score: nothing flows back through it, to the last bit. */
START_TEST(one_key_alone_gives_its_scores_no_gradient) {
    static const mha_shape one_key = {2, 50, 1, 35, 5}, square = {2, 50, 50, 35, 5};
    static const mha_mask causal = {.causal = MHA_CAUSAL_SQUARE};
    const mha_mode mode = _i == 0 ? MHA_MODE_STORED : MHA_MODE_TILED;
    const fused_call alone = fused_call_new(&one_key, NULL, mode, 63);
    const fused_call first = fused_call_new(&square, &causal, mode, 63);
    fused_call_run(&alone);
    fused_call_run(&first);
    assert_array_is("dq", alone.dq, REAL(0.0), 2 * 50 * 35);
    assert_array_is("dk", alone.dk, REAL(0.0), 2 * 35);
    for (size_t b = 0; b < 2; b++) { /* query 0 sees key 0 */
        assert_array_is("dq", first.dq + b * 50 * 35, REAL(0.0), 35);
        assert_arrays_same("context", first.context + b * 50 * 35, first.v + b * 50 * 35, 35);
    }
}
END_TEST

#if MHA_PRECISION == 64
/* A route without the readable wing: across the edges of a tile, under each mask. */
START_TEST(finite_differences_agree) {
    wing_use(_i == 0 ? WING_STORED : WING_TILED);
    for (size_t i = 0; i < COUNT(masks); i++) {
        layer_case c;
        open_case(&c, (mha_shape){1, 49, 65, 4, 2}, false);
        c.mask = &masks[i];
        draw_case(&c, 35 + i);
        const mha_gradcheck_options options = mha_gradcheck_defaults();
        mha_gradcheck_report reports[CASE_LEAVES];
        const size_t count = check_gradients(reports, &c, 0, &options);
        for (size_t l = 0; l < count; l++) {
            ck_assert_msg(reports[l].verdict == MHA_GRADCHECK_PASS, "leaf %zu: %s, error %g", l,
                mha_gradcheck_verdict_text(reports[l].verdict), reports[l].error);
            ck_assert_uint_gt(reports[l].checked, 0);
        }
        close_case(&c);
    }
}
END_TEST
#endif

TCase *fused_gradients_case(void) {
    TCase *cases = wing_case_named("gradients", WING_REFERENCE);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, attention_by_itself_is_that_of_the_operators, 0, VARIANTS);
    tcase_add_test(cases, tiled_mode_saves_two_numbers_a_row);
    tcase_add_loop_test(cases, modes_have_the_same_bits, 0, VARIANTS);
    tcase_add_loop_test(cases, unwanted_gradients_change_no_bit_of_the_others, 0, VARIANTS);
    tcase_add_loop_test(cases, backward_adds, 0, VARIANTS);
    tcase_add_loop_test(cases, doubling_dcontext_doubles_every_bit, 0, VARIANTS);
    tcase_add_loop_test(cases, one_key_alone_gives_its_scores_no_gradient, 0, 2);
#if MHA_PRECISION == 64
    tcase_add_loop_test(cases, finite_differences_agree, 0, 2);
#endif
    return cases;
}
