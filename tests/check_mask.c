/* Which keys a query sees, against rules written here anew: positions as signed numbers, broadcasts
 * as strides of 0. The suite of all tests of masks and shapes. */
#include <stdlib.h>

#include <mha/mask.h>

#include "count.h"
#include "mask_cases.h"
#include "suites.h"

enum { LONGEST = 5, MOST = 3 };

static bool causal_allows(mha_causal causal, long T, long S, long t, long s) {
    switch (causal) {
    case MHA_CAUSAL_OFF:
        return true;
    case MHA_CAUSAL_BOTTOM_RIGHT:
        return s - (S - 1) <= t - (T - 1); /* counted from the ends */
    default:
        return s <= t;
    }
}

/* The mask's array at (b,h,t,s), right-aligned to four axes, an axis of 1 standing for all. */
static bool array_allows(const mha_mask *mask, size_t b, size_t h, size_t t, size_t s) {
    if (mask->rank == 0) {
        return true;
    }
    size_t dims[4] = {1, 1, mask->dims[mask->rank - 2], mask->dims[mask->rank - 1]};
    if (mask->rank >= 3) {
        dims[0] = mask->dims[0];
    }
    if (mask->rank == 4) {
        dims[1] = mask->dims[1];
    }
    const size_t at[4] = {b, h, t, s};
    size_t offset = 0, stride = 1;
    for (size_t axis = 4; axis-- > 0;) {
        offset += dims[axis] == 1 ? 0 : at[axis] * stride;
        stride *= dims[axis];
    }
    return mask->allowed[offset] == 1;
}

static bool rule_allows(
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h, size_t t, size_t s) {
    return causal_allows(mask->causal, (long)shape->target_length, (long)shape->source_length,
               (long)t, (long)s) &&
           (mask->lengths == NULL || (int64_t)s < mask->lengths[b]) &&
           array_allows(mask, b, h, t, s);
}

/* Every pair, and every source row, is seen as the rules say; returns the pairs that are. */
static size_t assert_rules(const mha_mask *mask, const mha_shape *shape) {
    size_t visible = 0;
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(mha_mask_check(mask, shape, &error) == MHA_OK, "%s", error.text);
    for (size_t b = 0; b < shape->batch; b++) {
        bool seen[LONGEST + 1] = {false};
        for (size_t h = 0; h < shape->heads; h++) {
            for (size_t t = 0; t < shape->target_length; t++) {
                const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
                ck_assert_uint_le(row.limit, shape->source_length);
                for (size_t s = 0; s < shape->source_length; s++) {
                    const bool allowed = rule_allows(mask, shape, b, h, t, s);
                    ck_assert_msg(mha_mask_row_allows(&row, s) == allowed,
                        "T %zu, S %zu: query %zu, key %zu of sample %zu, head %zu",
                        shape->target_length, shape->source_length, t, s, b, h);
                    seen[s] = seen[s] || allowed;
                    visible += allowed ? 1 : 0;
                }
            }
        }
        for (size_t s = 0; s < shape->source_length; s++) {
            ck_assert_int_eq(mha_mask_sees_source(mask, shape, b, s), seen[s]);
        }
    }
    return visible;
}

/* Pseudo-random bytes 0 and 1, blocks of them of exactly count bytes. */
static unsigned char *random_bytes(size_t count, unsigned *state) {
    unsigned char *bytes = malloc(count == 0 ? 1 : count);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < count; i++) {
        *state = *state * 1103515245u + 12345u;
        bytes[i] = (unsigned char)(*state >> 16 & 1);
    }
    return bytes;
}

/* One array with each combination of alignment and lengths. */
static void assert_combinations(const mha_shape *shape, size_t rank, const size_t *dims) {
    static unsigned state = 1;
    size_t count = 1;
    mha_mask mask = {.rank = rank};
    for (size_t i = 0; i < rank; i++) {
        mask.dims[i] = dims[i];
        count *= dims[i];
    }
    unsigned char *bytes = rank == 0 ? NULL : random_bytes(count, &state);
    mask.allowed = bytes;
    int64_t lengths[MOST];
    for (size_t b = 0; b < MOST; b++) {
        lengths[b] = (int64_t)((b * 2 + shape->target_length) % (shape->source_length + 1));
    }
    for (int causal = MHA_CAUSAL_OFF; causal <= MHA_CAUSAL_BOTTOM_RIGHT; causal++) {
        mask.causal = (mha_causal)causal;
        if (causal == MHA_CAUSAL_SQUARE && shape->target_length != shape->source_length) {
            continue;
        }
        mask.lengths = NULL;
        const size_t more = assert_rules(&mask, shape);
        mask.lengths = lengths;
        ck_assert_uint_le(assert_rules(&mask, shape), more);
    }
    free(bytes);
}

START_TEST(causal_and_lengths_follow_the_rules) {
    for (size_t T = 0; T <= LONGEST; T++) {
        for (size_t S = 0; S <= LONGEST; S++) {
            assert_combinations(&(mha_shape){2, T, S, 4, 2}, 0, NULL);
        }
    }
}
END_TEST

/* Each of the four axes whole or 1: bit i of _i says which. */
START_TEST(rank_4_broadcasts_every_axis) {
    for (size_t T = 0; T <= LONGEST; T++) {
        for (size_t S = 0; S <= LONGEST; S++) {
            const mha_shape shape = {2, T, S, 3, 3};
            const size_t whole[4] = {2, 3, T, S};
            size_t dims[4];
            for (size_t axis = 0; axis < 4; axis++) {
                dims[axis] = (_i >> axis & 1) != 0 ? whole[axis] : 1;
            }
            assert_combinations(&shape, 4, dims);
        }
    }
}
END_TEST

START_TEST(rank_2_and_3_are_masks_of_queries_and_keys) {
    static const size_t batches[][2] = {{1, 1}, {1, 3}, {3, 1}, {2, 3}, {0, 2}};
    for (size_t i = 0; i < COUNT(batches); i++) {
        for (size_t T = 0; T <= LONGEST; T++) {
            for (size_t S = 0; S <= LONGEST; S++) {
                const mha_shape shape = {batches[i][0], T, S, 6, batches[i][1]};
                assert_combinations(&shape, 2, (const size_t[]){T, S});
                assert_combinations(&shape, 3, (const size_t[]){shape.batch, T, S});
            }
        }
    }
}
END_TEST

/* One byte for all keys of a row opens or closes the row. */
START_TEST(a_source_axis_of_1_decides_whole_rows) {
    static const unsigned char allowed[] = {1, 0, 1};
    const mha_shape shape = {1, 3, 4, 2, 2};
    const mha_mask mask = {.allowed = allowed, .rank = 4, .dims = {1, 1, 3, 1}};
    ck_assert_uint_eq(assert_rules(&mask, &shape), 2 * 2 * 4);
    const mha_mask padded = {
        .lengths = (const int64_t[]){3}, .allowed = allowed, .rank = 4, .dims = {1, 1, 3, 1}};
    ck_assert_uint_eq(assert_rules(&padded, &shape), 2 * 2 * 3);
}
END_TEST

START_TEST(no_mask_allows_everything) {
    const mha_shape shape = {2, 3, 5, 4, 2};
    const mha_mask empty = {.causal = MHA_CAUSAL_OFF};
    mha_error error = {MHA_OK, "untouched"};
    ck_assert_int_eq(mha_mask_check(NULL, &shape, &error), MHA_OK);
    ck_assert_str_eq(error.text, "untouched");
    ck_assert_uint_eq(assert_rules(&empty, &shape), 2 * 2 * 3 * 5);
    const mha_mask_row row = mha_mask_row_at(NULL, &shape, 1, 1, 2);
    ck_assert_uint_eq(row.limit, 5);
    ck_assert_ptr_null(row.allowed);
    ck_assert(mha_mask_sees_source(NULL, &shape, 1, 4));
    const mha_shape no_queries = {2, 0, 5, 4, 2};
    ck_assert(!mha_mask_sees_source(NULL, &no_queries, 1, 4));
}
END_TEST

/* Reports: T = 2, S = 5 and T = 5, S = 2, how many leading keys each query sees. */
START_TEST(alignments_see_the_leading_keys_by_name) {
    static const struct {
        mha_causal causal;
        size_t T, S, limits[5];
    } cases[] = {{MHA_CAUSAL_TOP_LEFT, 2, 5, {1, 2}}, {MHA_CAUSAL_TOP_LEFT, 5, 2, {1, 2, 2, 2, 2}},
        {MHA_CAUSAL_BOTTOM_RIGHT, 2, 5, {4, 5}}, {MHA_CAUSAL_BOTTOM_RIGHT, 5, 2, {0, 0, 0, 1, 2}},
        {MHA_CAUSAL_SQUARE, 3, 3, {1, 2, 3}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const mha_shape shape = {1, cases[i].T, cases[i].S, 1, 1};
        const mha_mask mask = {.causal = cases[i].causal};
        for (size_t t = 0; t < cases[i].T; t++) {
            ck_assert_uint_eq(mha_mask_row_at(&mask, &shape, 0, 0, t).limit, cases[i].limits[t]);
        }
    }
}
END_TEST

Suite *mask_suite(void) {
    Suite *suite = suite_create("mask");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, causal_and_lengths_follow_the_rules);
    tcase_add_loop_test(rules, rank_4_broadcasts_every_axis, 0, 16);
    tcase_add_test(rules, rank_2_and_3_are_masks_of_queries_and_keys);
    tcase_add_test(rules, a_source_axis_of_1_decides_whole_rows);
    tcase_add_test(rules, no_mask_allows_everything);
    tcase_add_test(rules, alignments_see_the_leading_keys_by_name);
    suite_add_tcase(suite, rules);
    suite_add_tcase(suite, mask_refusals_case());
    suite_add_tcase(suite, sizes_case());
    return suite;
}
