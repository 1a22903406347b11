/* What mha_mask_check refuses: the status, and one line that names the thing and both numbers. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mha/mask.h>

#include "count.h"
#include "mask_cases.h"

/* Enough bytes for every mask below, all allowed. */
static unsigned char ones[256];

static void set_ones(void) {
    memset(ones, 1, sizeof ones);
}

static void assert_refused(
    const mha_mask *mask, const mha_shape *shape, mha_status status, const char *text) {
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_mask_check(mask, shape, &error), status);
    ck_assert_int_eq(error.status, status);
    ck_assert_str_eq(error.text, text);
    ck_assert_int_eq(mha_mask_check(mask, shape, NULL), status);
}

START_TEST(square_causal_needs_an_alignment_when_lengths_differ) {
    const mha_mask mask = {.causal = MHA_CAUSAL_SQUARE};
    assert_refused(&mask, &(mha_shape){1, 2, 3, 4, 2}, MHA_ERROR_MASK,
        "causal with target length 2 and source length 3 needs an alignment: top-left or "
        "bottom-right");
    assert_refused(&mask, &(mha_shape){1, 3, 0, 4, 2}, MHA_ERROR_MASK,
        "causal with target length 3 and source length 0 needs an alignment: top-left or "
        "bottom-right");
    const mha_mask unknown = {.causal = (mha_causal)4};
    assert_refused(&unknown, &(mha_shape){1, 2, 2, 4, 2}, MHA_ERROR_MASK,
        "causal value 4 is none of the known alignments");
}
END_TEST

START_TEST(lengths_lie_between_0_and_the_source_length) {
    const mha_shape shape = {3, 2, 3, 4, 2};
    const mha_mask too_long = {.lengths = (const int64_t[]){3, 0, 4}};
    assert_refused(
        &too_long, &shape, MHA_ERROR_MASK, "length 4 of sample 2 exceeds the source length 3");
    const mha_mask negative = {.lengths = (const int64_t[]){0, -1, 3}};
    assert_refused(&negative, &shape, MHA_ERROR_MASK, "length -1 of sample 1 is below 0");
    const mha_mask extreme = {.lengths = (const int64_t[]){INT64_MIN, 0, 0}};
    assert_refused(
        &extreme, &shape, MHA_ERROR_MASK, "length -9223372036854775808 of sample 0 is below 0");
    const mha_mask largest = {.lengths = (const int64_t[]){INT64_MAX, 0, 0}};
    assert_refused(&largest, &shape, MHA_ERROR_MASK,
        "length 9223372036854775807 of sample 0 exceeds the source length 3");
}
END_TEST

/* Arrays of the wrong form, all of them full of ones. */
static const struct {
    mha_shape shape;
    size_t rank, dims[4];
    const char *text;
} wrong_forms[] = {
    /* ranks */
    {{2, 3, 5, 4, 2}, 0, {0}, "a mask of rank 0 is not 2, 3 or 4"},
    {{2, 3, 5, 4, 2}, 1, {5}, "a mask of rank 1 is not 2, 3 or 4"},
    {{2, 3, 5, 4, 2}, 5, {1, 1, 1, 3}, "a mask of rank 5 is not 2, 3 or 4"},
    {{2, 3, 5, 4, 2}, SIZE_MAX, {0}, "a mask of rank 18446744073709551615 is not 2, 3 or 4"},
    /* padding */
    {{2, 3, 5, 4, 2}, 2, {2, 5},
        "mask (2, 5) looks like padding (batch, source length), a rank-2 mask is (target length, "
        "source length) = (3, 5): give lengths, or a mask (2, 1, 1, 5)"},
    /* exchanged axes, too many, too few, and no broadcast below rank 4 */
    {{2, 3, 5, 4, 2}, 2, {5, 3},
        "mask (5, 3) does not fit (target length, source length) = (3, 5)"},
    {{2, 3, 5, 4, 2}, 2, {1, 5},
        "mask (1, 5) does not fit (target length, source length) = (3, 5)"},
    {{2, 3, 5, 4, 2}, 2, {3, 1},
        "mask (3, 1) does not fit (target length, source length) = (3, 5)"},
    {{2, 3, 5, 4, 2}, 2, {3, 0},
        "mask (3, 0) does not fit (target length, source length) = (3, 5)"},
    {{3, 3, 5, 4, 2}, 3, {2, 3, 5},
        "mask (2, 3, 5) does not fit (batch, target length, source length) = (3, 3, 5)"},
    {{3, 3, 5, 4, 2}, 3, {1, 3, 5},
        "mask (1, 3, 5) does not fit (batch, target length, source length) = (3, 3, 5)"},
    {{3, 3, 5, 4, 2}, 3, {3, 5, 3},
        "mask (3, 5, 3) does not fit (batch, target length, source length) = (3, 3, 5)"},
    /* rank 3 where samples and heads could be meant, whatever its sizes */
    {{2, 3, 5, 4, 2}, 3, {2, 3, 5},
        "a rank-3 mask could belong to 2 samples or to 2 heads: give (2, 1, 3, 5) or "
        "(1, 2, 3, 5)"},
    {{2, 3, 5, 4, 2}, 3, {7, 7, 7},
        "a rank-3 mask could belong to 2 samples or to 2 heads: give (2, 1, 3, 5) or "
        "(1, 2, 3, 5)"},
    /* rank 4, each axis */
    {{2, 3, 5, 4, 4}, 4, {3, 4, 3, 5},
        "mask (3, 4, 3, 5) does not fit (batch, heads, target length, source length), where any "
        "may be 1, = (2, 4, 3, 5)"},
    {{2, 3, 5, 4, 4}, 4, {2, 2, 3, 5},
        "mask (2, 2, 3, 5) does not fit (batch, heads, target length, source length), where any "
        "may be 1, = (2, 4, 3, 5)"},
    {{2, 3, 5, 4, 4}, 4, {2, 4, 5, 3},
        "mask (2, 4, 5, 3) does not fit (batch, heads, target length, source length), where any "
        "may be 1, = (2, 4, 3, 5)"},
    {{2, 3, 5, 4, 4}, 4, {2, 4, 3, 0},
        "mask (2, 4, 3, 0) does not fit (batch, heads, target length, source length), where any "
        "may be 1, = (2, 4, 3, 5)"},
    {{2, 3, 5, 4, 4}, 4, {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX},
        "mask (18446744073709551615, 18446744073709551615, 18446744073709551615, "
        "18446744073709551615) does not fit (batch, heads, target length, source length), where "
        "any may be 1, = (2, 4, 3, 5)"},
};

START_TEST(arrays_of_the_wrong_form_are_refused) {
    mha_mask mask = {.allowed = ones, .rank = wrong_forms[_i].rank};
    memcpy(mask.dims, wrong_forms[_i].dims, sizeof mask.dims);
    assert_refused(&mask, &wrong_forms[_i].shape, MHA_ERROR_MASK, wrong_forms[_i].text);
}
END_TEST

/* Every byte that is read is looked at, whichever it is and whatever it holds. */
START_TEST(bytes_are_0_or_1) {
    const mha_shape shape = {2, 3, 5, 4, 4};
    unsigned char bytes[2 * 3 * 5];
    const mha_mask mask = {.allowed = bytes, .rank = 4, .dims = {2, 1, 3, 5}};
    memset(bytes, 1, sizeof bytes);
    bytes[7] = 0;
    ck_assert_int_eq(mha_mask_check(&mask, &shape, NULL), MHA_OK);
    for (size_t i = 0; i < sizeof bytes; i++) {
        const unsigned char kept = bytes[i];
        for (int value = 2; value <= 255; value += 253) {
            char text[96];
            bytes[i] = (unsigned char)value;
            snprintf(text, sizeof text, "mask entry %zu is %d, neither 0 (blocked) nor 1 (allowed)",
                i, value);
            assert_refused(&mask, &shape, MHA_ERROR_MASK, text);
        }
        bytes[i] = kept;
    }
}
END_TEST

START_TEST(sizes_without_bytes_are_refused) {
    const mha_mask mask = {.rank = 2, .dims = {3, 5}};
    assert_refused(
        &mask, &(mha_shape){2, 3, 5, 4, 2}, MHA_ERROR_ARGUMENT, "a mask of rank 2 has no bytes");
    const mha_mask empty = {.rank = 2, .dims = {3, 0}};
    ck_assert_int_eq(mha_mask_check(&empty, &(mha_shape){2, 3, 0, 4, 2}, NULL), MHA_OK);
}
END_TEST

/* What stands beside the refused forms, one step away, passes. */
START_TEST(neighbours_of_refused_forms_pass) {
    static const struct {
        mha_shape shape;
        size_t rank, dims[4];
    } fits[] = {{{2, 3, 5, 4, 2}, 2, {3, 5}}, {{3, 3, 5, 4, 2}, 3, {3, 3, 5}},
        {{1, 3, 5, 4, 1}, 3, {1, 3, 5}}, {{2, 3, 5, 4, 2}, 4, {2, 1, 3, 5}},
        {{2, 3, 5, 4, 2}, 4, {1, 2, 3, 5}}, {{2, 3, 5, 4, 2}, 4, {2, 1, 1, 5}},
        {{2, 3, 5, 4, 2}, 4, {1, 1, 1, 1}}, {{2, 3, 5, 4, 2}, 4, {2, 2, 3, 1}}};
    for (size_t i = 0; i < COUNT(fits); i++) {
        mha_mask mask = {.allowed = ones, .rank = fits[i].rank};
        memcpy(mask.dims, fits[i].dims, sizeof mask.dims);
        ck_assert_msg(mha_mask_check(&mask, &fits[i].shape, NULL) == MHA_OK, "mask %zu", i);
    }
}
END_TEST

TCase *mask_refusals_case(void) {
    TCase *cases = tcase_create("refusals");
    tcase_add_checked_fixture(cases, set_ones, NULL);
    tcase_add_test(cases, square_causal_needs_an_alignment_when_lengths_differ);
    tcase_add_test(cases, lengths_lie_between_0_and_the_source_length);
    tcase_add_loop_test(cases, arrays_of_the_wrong_form_are_refused, 0, COUNT(wrong_forms));
    tcase_add_test(cases, bytes_are_0_or_1);
    tcase_add_test(cases, sizes_without_bytes_are_refused);
    tcase_add_test(cases, neighbours_of_refused_forms_pass);
    return cases;
}
