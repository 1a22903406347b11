/* A row of keys and values that is not finite is seen by some queries and blocked for others; so is a
 * query. What does not see it keeps every bit that it has beside a finite row, on every path. */
#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "fused_call.h"
#include "fused_cases.h"
#include "random_case.h"

enum { GROUPS = 8, CASES = 40 };

static bool sees(const fused_call *c, size_t b, size_t h, size_t t, size_t s) {
    const mha_mask_row row = mha_mask_row_at(c->mask, &c->shape, b, h, t);
    return mha_mask_row_allows(&row, s);
}

static void fill_row(
    mha_real *x, const fused_call *c, size_t length, size_t b, size_t row, mha_real value) {
    for (size_t i = 0; i < c->shape.width; i++) {
        x[(b * length + row) * c->shape.width + i] = value;
    }
}

static void assert_row_same(const char *what, const mha_real *actual, const mha_real *expected,
    const fused_call *c, size_t length, const size_t at[3]) {
    const size_t offset = fused_call_row(&c->shape, length, at[0], at[2], at[1]);
    assert_arrays_same(what, actual + offset, expected + offset, mha_head_width(&c->shape));
}

/* In sample `at[0]` and head `at[1]`: queries that do not see key `at[2]`, and keys that no query sees
 * together with it, have the bits of the call without it. Returns how many rows that were. */
static size_t assert_key_is_hidden(
    const fused_call *spoilt, const fused_call *clean, size_t b, size_t h, size_t key) {
    const size_t T = clean->shape.target_length, S = clean->shape.source_length;
    size_t compared = 0;
    for (size_t t = 0; t < T; t++) {
        if (!sees(clean, b, h, t, key)) {
            const size_t at[] = {b, h, t};
            assert_row_same("context", spoilt->context, clean->context, clean, T, at);
            assert_row_same("dq", spoilt->dq, clean->dq, clean, T, at);
            compared++;
        }
    }
    for (size_t s = 0; s < S; s++) {
        bool together = s == key;
        for (size_t t = 0; t < T && !together; t++) {
            together = sees(clean, b, h, t, key) && sees(clean, b, h, t, s);
        }
        if (!together) {
            const size_t at[] = {b, h, s};
            assert_row_same("dk", spoilt->dk, clean->dk, clean, S, at);
            assert_row_same("dv", spoilt->dv, clean->dv, clean, S, at);
            compared++;
        }
    }
    return compared;
}

/* Those that do see it are no longer finite. */
static size_t assert_key_shows(const fused_call *spoilt, size_t b, size_t h, size_t key) {
    const size_t T = spoilt->shape.target_length;
    size_t shown = 0;
    for (size_t t = 0; t < T; t++) {
        if (sees(spoilt, b, h, t, key)) {
            ck_assert(!isfinite(spoilt->context[fused_call_row(&spoilt->shape, T, b, t, h)]));
            shown++;
        }
    }
    return shown;
}

static fused_call draw_call(mha_rng *rng, mha_mask *mask, size_t index) {
    random_case drawn;
    do {
        drawn = random_case_draw(rng, 60000);
    } while (!drawn.masked);
    *mask = drawn.mask;
    return fused_call_new(
        &drawn.shape, mask, index % 2 == 0 ? MHA_MODE_STORED : MHA_MODE_TILED, drawn.seed);
}

/* _i / 2 picks the value; NaN and infinity in v always show, in k a NaN does. */
START_TEST(a_key_that_is_not_finite_stays_with_those_that_see_it) {
    const mha_real values[] = {not_a_number, REAL_INFINITY, -REAL_INFINITY, REAL_LARGEST};
    const uint64_t seed[] = {(uint64_t)_i, 81};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    const mha_real value = values[_i / 2];
    const bool in_keys = _i % 2 == 0;
    size_t compared = 0, shown = 0;
    for (size_t i = 0; i < CASES; i++) {
        mha_mask mask;
        const fused_call clean = draw_call(&rng, &mask, i);
        const fused_call spoilt = fused_call_again(&clean, clean.mode);
        const size_t B = clean.shape.batch, S = clean.shape.source_length;
        const size_t b = draw_below(&rng, B), key = draw_below(&rng, S);
        fill_row(in_keys ? spoilt.k : spoilt.v, &clean, S, b, key, value);
        fused_call_run(&clean);
        fused_call_run(&spoilt);
        for (size_t head = 0; head < B * clean.shape.heads; head++) {
            const size_t of = head / clean.shape.heads, h = head % clean.shape.heads;
            if (of == b) {
                compared += assert_key_is_hidden(&spoilt, &clean, b, h, key);
                const bool must_show = isnan(value) || (!in_keys && !isfinite(value));
                shown += must_show ? assert_key_shows(&spoilt, b, h, key) : 1;
            }
            for (size_t t = 0; of != b && t < clean.shape.target_length; t++) {
                const size_t at[] = {of, h, t};
                assert_row_same("context of another sample", spoilt.context, clean.context, &clean,
                    clean.shape.target_length, at);
                assert_row_same("dq of another sample", spoilt.dq, clean.dq, &clean,
                    clean.shape.target_length, at);
            }
        }
        arrays_release();
    }
    ck_assert_uint_gt(compared, 100);
    ck_assert_uint_gt(shown, 10);
}
END_TEST

/* A query, or what flows back to it: dk and dv of the keys that it does not see, and all other queries. */
START_TEST(a_query_that_is_not_finite_stays_with_its_keys) {
    const mha_real values[] = {not_a_number, REAL_INFINITY, -REAL_INFINITY, REAL_LARGEST};
    const uint64_t seed[] = {(uint64_t)_i, 82};
    mha_rng rng;
    mha_rng_seed(&rng, seed, COUNT(seed));
    size_t compared = 0;
    for (size_t i = 0; i < CASES; i++) {
        mha_mask mask;
        const fused_call clean = draw_call(&rng, &mask, i);
        const fused_call spoilt = fused_call_again(&clean, clean.mode);
        const size_t T = clean.shape.target_length, S = clean.shape.source_length;
        const size_t b = draw_below(&rng, clean.shape.batch);
        const size_t query = draw_below(&rng, T);
        fill_row(_i % 2 == 0 ? spoilt.q : spoilt.dcontext, &clean, T, b, query, values[_i / 2]);
        fused_call_run(&clean);
        fused_call_run(&spoilt);
        for (size_t head = 0; head < clean.shape.batch * clean.shape.heads; head++) {
            const size_t of = head / clean.shape.heads, h = head % clean.shape.heads;
            for (size_t t = 0; t < T; t++) {
                const size_t at[] = {of, h, t};
                if (of != b || t != query) {
                    assert_row_same("context", spoilt.context, clean.context, &clean, T, at);
                    assert_row_same("dq", spoilt.dq, clean.dq, &clean, T, at);
                }
            }
            for (size_t s = 0; s < S; s++) {
                const size_t at[] = {of, h, s};
                if (of != b || !sees(&clean, b, h, query, s)) {
                    assert_row_same("dk", spoilt.dk, clean.dk, &clean, S, at);
                    assert_row_same("dv", spoilt.dv, clean.dv, &clean, S, at);
                    compared++;
                }
            }
        }
        arrays_release();
    }
    ck_assert_uint_gt(compared, 100);
}
END_TEST

/* Finite numbers behind the mask, in every row that some pair blocks: no bit of a pair that is allowed
 * moves. Here a window of one key for each query, so that each key is blocked for all but one. */
START_TEST(blocked_pairs_have_weight_0_in_every_tile) {
    static const mha_shape shape = {1, 130, 130, 6, 2};
    static unsigned char diagonal[130 * 130];
    for (size_t t = 0; t < 130; t++) {
        diagonal[t * 130 + t] = 1;
    }
    const mha_mask mask = {.allowed = diagonal, .rank = 2, .dims = {130, 130}};
    const fused_call c =
        fused_call_new(&shape, &mask, _i == 0 ? MHA_MODE_STORED : MHA_MODE_TILED, 83);
    fused_call_run(&c);
    assert_arrays_same("context", c.context, c.v, 130 * 6);
    assert_arrays_same("dv", c.dv, c.dcontext, 130 * 6);
    for (size_t j = 0; c.saved.weights != NULL && j < 2 * 130 * 130; j++) {
        ck_assert(c.saved.weights[j] == (j % (130 * 130) % 131 == 0 ? REAL(1.0) : REAL(0.0)));
    }
}
END_TEST

TCase *fused_hidden_case(void) {
    TCase *cases = tcase_create("hidden");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_set_timeout(cases, 30);
    tcase_set_tags(cases, "long");
    tcase_add_loop_test(cases, a_key_that_is_not_finite_stays_with_those_that_see_it, 0, GROUPS);
    tcase_add_loop_test(cases, a_query_that_is_not_finite_stays_with_its_keys, 0, GROUPS);
    tcase_add_loop_test(cases, blocked_pairs_have_weight_0_in_every_tile, 0, 2);
    return cases;
}
