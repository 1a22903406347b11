/* Where an entry of a claim stands, which number of times it is what is right, and of which parts. */
#include "claims_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/rng.h>

#include "checks/marks/claims.h"

static const mha_shape shapes[] = {
    {2, 3, 4, 6, 3}, {1, 1, 1, 1, 1}, {3, 1, 2, 4, 1}, {1, 5, 1, 4, 4}, {12, 11, 13, 24, 12}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Which axis of a value the letter names, by the value's own table. */
static size_t axis_of(const mha_value_shape *of, char letter) {
    const char *at = strchr(of->axes, letter);
    return at == NULL ? MHA_VALUE_RANK : (size_t)(at - of->axes);
}

/* The head of an entry of a value that has no axis of heads. */
static bool joined_head(size_t *head, mha_value value, const size_t *index, size_t d) {
    switch (value) {
    case MHA_WQ:
    case MHA_WK:
    case MHA_WV:
        *head = index[1] / d;
        return true;
    case MHA_WO:
        *head = index[0] / d;
        return true;
    case MHA_Q:
    case MHA_K:
    case MHA_V:
    case MHA_CONTEXT:
        *head = index[2] / d;
        return true;
    default:
        return false;
    }
}

/* The text of an entry, or as much of it as fits. */
static void assert_text(const char *expected, const struct claim *claim, size_t entry, size_t size,
    const mha_shape *shape) {
    char *text = malloc(size);
    ck_assert_ptr_nonnull(text);
    claim_entry_text(text, size, claim, entry, shape);
    ck_assert_msg(strlen(text) <= strlen(expected) &&
                      strlen(text) == (strlen(expected) < size ? strlen(expected) : size - 1) &&
                      strncmp(text, expected, strlen(text)) == 0,
        "'%s' is not '%s'", text, expected);
    free(text);
}

static void assert_entry(mha_value value, size_t entry, const mha_shape *shape) {
    static const char letters[AXIS_COUNT] = {'h', 'B', 'T', 'S'};
    const mha_value_shape of = mha_value_shape_of(value, shape);
    const struct claim claim = {.name = "grad", .value = value};
    size_t index[MHA_VALUE_RANK] = {0}, rest = entry, head = 0;
    char expected[128] = "grad[";
    for (size_t i = of.rank; i-- > 0; rest /= of.dims[i]) {
        index[i] = rest % of.dims[i];
    }
    bool has_head = joined_head(&head, value, index, mha_head_width(shape));
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        size_t at = SIZE_MAX, length = SIZE_MAX;
        const size_t i = axis_of(&of, letters[axis]);
        const bool has = i < MHA_VALUE_RANK, joined = axis == AXIS_HEAD && has_head;
        ck_assert_int_eq(claim_coordinate(&at, &length, value, (enum claim_axis)axis, entry, shape),
            has || joined);
        ck_assert_uint_eq(at, has ? index[i] : joined ? head : SIZE_MAX);
        ck_assert_uint_eq(length, has ? of.dims[i] : joined ? shape->heads : SIZE_MAX);
        head = axis == AXIS_HEAD && has ? index[i] : head;
    }
    has_head = has_head || axis_of(&of, 'h') < MHA_VALUE_RANK;
    for (size_t i = 0; i < of.rank; i++) {
        const size_t used = strlen(expected);
        snprintf(
            expected + used, sizeof expected - used, i + 1 < of.rank ? "%zu," : "%zu]", index[i]);
    }
    const size_t used = strlen(expected);
    if (has_head) {
        snprintf(expected + used, sizeof expected - used, " (head %zu)", head);
    }
    assert_text(expected, &claim, entry, 96, shape);
    for (size_t size = 1; entry == of.count - 1 && size < 40; size++) {
        assert_text(expected, &claim, entry, size, shape);
    }
}

START_TEST(every_entry_of_every_value) {
    const mha_shape *shape = &shapes[_i / MHA_VALUE_COUNT];
    const mha_value value = (mha_value)(_i % MHA_VALUE_COUNT);
    const size_t count = mha_value_count(value, shape);
    for (size_t entry = 0; entry < count; entry += 1 + count / 500) {
        assert_entry(value, entry, shape);
    }
    assert_entry(value, count - 1, shape);
}
END_TEST

static const char once[] = "counted twice", lost[] = "the scale 1/sqrt(d) is missing";

/* d = 4: sqrt(d) is 2. */
START_TEST(a_factor_of_two_meanings) {
    const mha_shape shape = {3, 3, 3, 8, 2};
    char text[DIAGNOSIS_SIZE];
    ck_assert_int_eq(factor_mark(text, sizeof text, 2.0, 1e-9, BY_SCALE_NO, &shape), MARK_TWICE);
    ck_assert(strstr(text, once) != NULL && strstr(text, lost) == NULL);
    ck_assert_int_eq(factor_mark(text, sizeof text, 2.0, 1e-9, BY_SCALE_MAYBE, &shape), MARK_TWICE);
    ck_assert(strstr(text, once) != NULL && strstr(text, lost) != NULL);
    ck_assert_int_eq(
        factor_mark(text, sizeof text, 2.0, 1e-9, BY_SCALE_YES, &shape), MARK_SCALE_LOST);
    ck_assert(strstr(text, once) == NULL && strstr(text, lost) != NULL);
    ck_assert_int_eq(factor_mark(text, sizeof text, 2.1, 1e-9, BY_SCALE_YES, &shape), MARK_FACTOR);
    ck_assert_str_eq(text, "2.1 times what is right");
}
END_TEST

/* With d, h or B of 1 a factor of 1 means nothing, and nothing is divided by. */
START_TEST(factors_of_one) {
    const mha_shape shape = {1, 1, 1, 1, 1};
    char text[DIAGNOSIS_SIZE];
    for (int scale = BY_SCALE_NO; scale <= BY_SCALE_YES; scale++) {
        ck_assert_int_eq(
            factor_mark(text, sizeof text, 1.0 + 1e-7, 1e-6, (enum by_scale)scale, &shape),
            MARK_FACTOR);
        ck_assert_str_eq(text, "(1 +1e-07) times what is right");
        ck_assert_int_eq(
            factor_mark(text, sizeof text, -1.0, 1e-6, (enum by_scale)scale, &shape), MARK_SIGN);
    }
}
END_TEST

enum { MOST = 64 };
static double truths[MHA_VALUE_COUNT][MOST], doubled[MHA_VALUE_COUNT][MOST];

/* Claims by these values, of which those in `twice` are doubled: what is said of the first. */
static enum by_scale by_scale_of(const mha_value *values, size_t count, unsigned long twice) {
    static const mha_shape shape = {2, 3, 3, 8, 2};
    struct claim claims[8];
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < mha_value_count(values[i], &shape); k++) {
            truths[i][k] = (double)(k % 5) + 1.0 + (double)i;
            doubled[i][k] = 2.0 * truths[i][k];
        }
        claims[i] = (struct claim){"claim", values[i],
            (twice >> i & 1) != 0 ? doubled[i] : truths[i], truths[i], 1e-12, NULL};
    }
    const struct claim_setting setting = {.shape = &shape, .claims = claims, .count = count};
    return claim_by_scale(&claims[0], 2.0, &setting);
}

START_TEST(other_claims_tell_which) {
    const mha_value four[] = {MHA_WQ, MHA_WK, MHA_WV, MHA_QUERY};
    ck_assert_int_eq(by_scale_of(four, 1, 1), BY_SCALE_MAYBE);
    ck_assert_int_eq(by_scale_of(four, 3, 3), BY_SCALE_YES);
    ck_assert_int_eq(by_scale_of(four, 3, 1), BY_SCALE_MAYBE);
    ck_assert_int_eq(by_scale_of(four, 3, 7), BY_SCALE_NO);
    const mha_value query[] = {MHA_QUERY, MHA_WQ, MHA_WK};
    ck_assert_int_eq(by_scale_of(query, 1, 1), BY_SCALE_MAYBE);
    ck_assert_int_eq(by_scale_of(query, 2, 1), BY_SCALE_NO);
    ck_assert_int_eq(by_scale_of(query, 3, 7), BY_SCALE_YES);
    const mha_value value[] = {MHA_WV};
    ck_assert_int_eq(by_scale_of(value, 1, 1), BY_SCALE_NO);
}
END_TEST

/* A truth of parts, each claimed with a factor of its own. */

enum { PARTS = 26 };
static double parts_of[PARTS][MOST], whole[MOST], made[MOST];

static struct diagnosis diagnosis_of_parts(const double *factors, size_t count, mha_value value) {
    static const mha_shape shape = {3, 2, 2, 10, 2};
    struct claim_part parts[PARTS];
    char names[PARTS][16];
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){43}, 1);
    const size_t entries = mha_value_count(value, &shape);
    memset(whole, 0, sizeof whole);
    memset(made, 0, sizeof made);
    for (size_t p = 0; p < count; p++) {
        snprintf(names[p], sizeof names[p], "part %zu", p);
        parts[p] = (struct claim_part){names[p], parts_of[p]};
        for (size_t i = 0; i < entries; i++) {
            parts_of[p][i] = mha_rng_normal(&rng);
            whole[i] += parts_of[p][i];
            made[i] += factors[p] * parts_of[p][i];
        }
    }
    const struct claim claim = {"claim", value, made, whole, 1e-12, NULL};
    const struct claim_setting setting = {
        .shape = &shape, .claims = &claim, .count = 1, .parts = parts, .part_count = count};
    struct diagnosis found;
    diagnose(&found, &claim, &setting);
    return found;
}

START_TEST(parts_with_factors) {
    static const struct {
        double factors[3];
        const char *text;
    } cases[] = {{{1, 0, 1}, "part 1 is missing"},
        {{0, 1, 0}, "part 0 is missing; part 2 is missing"},
        {{1, 1, 2}, "part 2 2 times what is right: counted twice"},
        {{-1, 1, 1}, "part 0 -1 times what is right: the sign is wrong"},
        {{1, 1.25, 0.5}, "part 1 1.25 times what is right; part 2 half of what is right"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct diagnosis found = diagnosis_of_parts(cases[i].factors, 3, MHA_QUERY);
        ck_assert_msg(
            found.mark == MARK_PATH, "%s: %d %s", cases[i].text, (int)found.mark, found.text);
        ck_assert_msg(strstr(found.text, cases[i].text) == found.text, "'%s' is not '%s'",
            found.text, cases[i].text);
    }
}
END_TEST

/* Too many parts to solve for, more than there are numbers for, and texts that do not fit. */
START_TEST(too_many_parts) {
    double factors[PARTS];
    for (size_t p = 0; p < PARTS; p++) {
        factors[p] = p % 2 == 0 ? 3.7 : -1.0;
    }
    ck_assert_int_eq(diagnosis_of_parts(factors, PARTS, MHA_QUERY).mark, MARK_UNKNOWN);
    ck_assert_int_eq(diagnosis_of_parts(factors, 25, MHA_QUERY).mark, MARK_UNKNOWN);
    const struct diagnosis found = diagnosis_of_parts(factors, 24, MHA_QUERY);
    ck_assert_int_eq(found.mark, MARK_PATH);
    ck_assert_ptr_nonnull(memchr(found.text, '\0', sizeof found.text));
    ck_assert_uint_ge(strlen(found.text), 200);
}
END_TEST

/* One part twice: there is no one answer, and none is given. */
START_TEST(parts_that_depend_on_each_other) {
    static const mha_shape shape = {1, 4, 4, 4, 2};
    double part[16], sum[16], claimed[16];
    for (size_t i = 0; i < 16; i++) {
        part[i] = (double)(i * i % 7) - 2.5;
        sum[i] = 2.0 * part[i];
        claimed[i] = sum[i] + (double)(i % 3);
    }
    const struct claim_part parts[] = {
        {"one", part}, {"the same", part}, {"nothing", (double[16]){0}}};
    const struct claim claim = {"claim", MHA_QUERY, claimed, sum, 1e-12, NULL};
    for (size_t count = 0; count <= 3; count++) {
        const struct claim_setting setting = {
            .shape = &shape, .claims = &claim, .count = 1, .parts = parts, .part_count = count};
        struct diagnosis found;
        diagnose(&found, &claim, &setting);
        ck_assert_int_eq(found.mark, MARK_UNKNOWN);
    }
}
END_TEST

/* More places than a line has room for are not called right. */
START_TEST(many_places) {
    enum { T = 80 };
    static const mha_shape shape = {1, T, T, 4, 2};
    static double truth[T * 4], claimed[T * 4];
    for (size_t i = 0; i < T * 4; i++) {
        truth[i] = 1.0 + (double)(i % 9);
        claimed[i] = i / 4 < 60 ? 0.0 : truth[i];
    }
    const struct claim claim = {"claim", MHA_QUERY, claimed, truth, 1e-12, NULL};
    const struct claim_setting setting = {.shape = &shape, .claims = &claim, .count = 1};
    struct diagnosis found;
    diagnose(&found, &claim, &setting);
    ck_assert_int_eq(found.mark, MARK_POSITION);
    ck_assert_msg(strstr(found.text, "zero in target positions 0 1 2 3") == found.text &&
                      strstr(found.text, " and others, right elsewhere") != NULL,
        "%s", found.text);
}
END_TEST

TCase *claims_places(void) {
    TCase *tests = tcase_create("places");
    tcase_add_loop_test(tests, every_entry_of_every_value, 0, SHAPES * MHA_VALUE_COUNT);
    tcase_add_test(tests, a_factor_of_two_meanings);
    tcase_add_test(tests, factors_of_one);
    tcase_add_test(tests, other_claims_tell_which);
    tcase_add_test(tests, parts_with_factors);
    tcase_add_test(tests, too_many_parts);
    tcase_add_test(tests, parts_that_depend_on_each_other);
    tcase_add_test(tests, many_places);
    return tests;
}
