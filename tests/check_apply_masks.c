/* Masks, lengths and causal alignments of `mha apply`. */
#include "check_apply.h"

#include <math.h>
#include <string.h>

#include "folder.h"

enum { PAIRS = B * H * T * S };

/* Whether a query may see a key, by rules written out here. */
struct rules {
    unsigned char by_head[PAIRS], by_sample[B * T * S], by_query[T * S], padding[B * S];
};

/* Each hides some pairs and leaves every row a key. */
static void fill_rules(struct rules *rules) {
    for (size_t i = 0; i < PAIRS; i++) {
        rules->by_head[i] = i * 7 % 5 != 0 || i % S == 1;
    }
    for (size_t i = 0; i < B * T * S; i++) {
        rules->by_sample[i] = i * 11 % 7 != 0 || i % S == 1;
    }
    for (size_t i = 0; i < T * S; i++) {
        rules->by_query[i] = i * 5 % 3 != 0 || i % S == 1;
    }
    for (size_t i = 0; i < B * S; i++) {
        rules->padding[i] = i % S < 4 - i / S;
    }
}

static struct input input_with_gradient(struct lesson *lesson) {
    lesson_fill(lesson);
    struct input input = lesson_input(lesson);
    input_set(&input, DOUBLES("grad_output", lesson->grad_output, B, T, D));
    return input;
}

/* The results under a mask, and options, are those under the pairs (B,h,T,S) that it should mean. */
static void assert_means(struct input input, mha_array mask, const char *const *options,
    const unsigned char pairs[PAIRS]) {
    input_set(&input, mask);
    mha_arrays *found = apply(&input, options);
    input_set(&input, ARRAY("mask", MHA_BOOL, pairs, B, H, T, S));
    input.count -= strcmp(input.at[input.count - 1].name, "lengths") == 0 ? 1 : 0;
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    assert_same_arrays(found, expected);
    const double *weights = RESULT(found, "weights", B, H, T, S);
    for (size_t i = 0; i < PAIRS; i++) {
        ck_assert_msg(
            pairs[i] != 0 ? weights[i] > 0.0 : weights[i] == 0.0, "pair %zu: %g", i, weights[i]);
    }
    mha_arrays_free(found);
    mha_arrays_free(expected);
}

/* Ranks 2, 3 and 4 with axes of 1, each against the same mask written out. */
START_TEST(a_mask_may_have_rank_2_3_or_4) {
    struct lesson lesson;
    struct rules rules;
    const struct input two_heads = input_with_gradient(&lesson);
    fill_rules(&rules);
    unsigned char by_query[PAIRS], padding[PAIRS], by_head[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t s = i % S, t = i / S % T, h = i / S / T % H, b = i / S / T / H;
        by_query[i] = rules.by_query[t * S + s];
        padding[i] = rules.padding[b * S + s];
        by_head[i] = rules.by_head[h * T * S + t * S + s];
    }
    assert_means(two_heads, ARRAY("mask", MHA_BOOL, rules.by_query, T, S), NO_OPTIONS, by_query);
    assert_means(
        two_heads, ARRAY("mask", MHA_BOOL, rules.padding, B, 1, 1, S), NO_OPTIONS, padding);
    assert_means(
        two_heads, ARRAY("mask", MHA_BOOL, rules.by_head, 1, H, T, S), NO_OPTIONS, by_head);
}
END_TEST

/* Rank 3 is (B,T,S), for any head; it is refused only where B = h. */
START_TEST(a_mask_of_rank_3_is_for_samples) {
    struct lesson lesson;
    struct rules rules;
    struct input input = input_with_gradient(&lesson);
    fill_rules(&rules);
    const mha_array mask = ARRAY("mask", MHA_BOOL, rules.by_sample, B, T, S);
    static const int64_t heads = 4;
    input_set(&input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads});
    input_set(&input, mask);
    mha_arrays *found = apply(&input, NO_OPTIONS);
    input_set(&input, ARRAY("mask", MHA_BOOL, rules.by_sample, B, 1, T, S));
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    assert_same_arrays(found, expected);
    const double *weights = RESULT(found, "weights", B, 4, T, S);
    for (size_t i = 0; i < B * 4 * T * S; i++) {
        const bool seen = rules.by_sample[i / (4 * T * S) * T * S + i % (T * S)] != 0;
        ck_assert(seen ? weights[i] > 0.0 : weights[i] == 0.0);
    }
    mha_arrays_free(found);
    mha_arrays_free(expected);
}
END_TEST

START_TEST(booleans_and_integers_mean_the_same) {
    struct lesson lesson;
    struct rules rules;
    struct input input = input_with_gradient(&lesson);
    fill_rules(&rules);
    int64_t integers[T * S];
    for (size_t i = 0; i < T * S; i++) {
        integers[i] = rules.by_query[i];
    }
    input_set(&input, ARRAY("mask", MHA_BOOL, rules.by_query, T, S));
    mha_arrays *booleans = apply(&input, NO_OPTIONS);
    input_set(&input, ARRAY("mask", MHA_UINT8, rules.by_query, T, S));
    mha_arrays *bytes = apply(&input, NO_OPTIONS);
    input_set(&input, ARRAY("mask", MHA_INT64, integers, T, S));
    mha_arrays *wide = apply(&input, NO_OPTIONS);
    assert_same_arrays(bytes, booleans);
    assert_same_arrays(wide, booleans);
    mha_arrays_free(booleans);
    mha_arrays_free(bytes);
    mha_arrays_free(wide);
}
END_TEST

START_TEST(all_rules_must_allow_a_key) {
    struct lesson lesson;
    struct rules rules;
    struct input input = input_with_gradient(&lesson);
    fill_rules(&rules);
    static const int64_t lengths[] = {6, 4};
    unsigned char top_left[PAIRS], bottom_right[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t s = i % S, t = i / S % T, b = i / S / T / H;
        const bool allowed = rules.by_head[i] != 0 && s < (size_t)lengths[b];
        top_left[i] = allowed && s <= t;
        bottom_right[i] = allowed && s <= t + S - T;
    }
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    const mha_array mask = ARRAY("mask", MHA_BOOL, rules.by_head, B, H, T, S);
    assert_means(input, mask, WORDS("--causal=top-left"), top_left);
    assert_means(input, mask, WORDS("--causal=bottom-right"), bottom_right);
}
END_TEST

/* Means of the first numbers, by hand. */
START_TEST(causal_alignments) {
    static const double query[5], context[] = {1, 2, 3, 4, 5};
    static const struct {
        size_t t, s;
        const char *option;
        double output[5];
    } cases[] = {
        {2, 5, "--causal=top-left", {1, 1.5}},
        {5, 2, "--causal=top-left", {1, 1.5, 1.5, 1.5, 1.5}},
        {2, 5, "--causal=bottom-right", {2.5, 3}},
        {5, 2, "--causal=bottom-right", {0, 0, 0, 1, 1.5}},
        {3, 3, "--causal", {1, 1.5, 2}},
        {3, 3, "--causal=off", {2, 2, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct input input = mean_input(query, cases[i].t, context, cases[i].s);
        mha_arrays *arrays = apply(&input, WORDS(cases[i].option));
        const double *output = RESULT(arrays, "output", 1, cases[i].t, 1);
        for (size_t t = 0; t < cases[i].t; t++) {
            ck_assert_double_eq_tol(output[t], cases[i].output[t], 1e-15);
        }
        mha_arrays_free(arrays);
    }
}
END_TEST

/* Rows behind a sample's length hold nothing or anything: the same bits come out. */
START_TEST(hidden_context_rows_may_hold_nan) {
    struct lesson lesson;
    struct input input = input_with_gradient(&lesson);
    static const int64_t lengths[] = {6, 3};
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    double *hidden = lesson.context + S * D + 3 * D;
    memset(hidden, 0, 3 * D * sizeof *hidden);
    mha_arrays *zeros = apply(&input, NO_OPTIONS);
    for (size_t i = 0; i < 3 * D; i++) {
        hidden[i] = i % 2 == 0 ? (double)NAN : (double)INFINITY;
    }
    mha_arrays *nans = apply(&input, NO_OPTIONS);
    assert_same_arrays(nans, zeros);
    const double *gradient = RESULT(nans, "grad_context", B, S, D);
    for (size_t i = 0; i < 3 * D; i++) {
        ck_assert(gradient[S * D + 3 * D + i] == 0.0);
    }
    mha_arrays_free(nans);
    mha_arrays_free(zeros);
    input_remove(&input, "lengths");
    assert_apply_refuses(
        &input, NO_OPTIONS, "in.npz: context[1, 3, 0] is nan in a row that a query sees");
}
END_TEST

START_TEST(a_query_without_a_key_is_zero) {
    struct lesson lesson;
    struct input input = input_with_gradient(&lesson);
    static const int64_t lengths[] = {0, 6};
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    static const char *const names[] = {"output", "weights", "grad_query", "grad_context"};
    for (size_t i = 0; i < 4; i++) {
        const mha_array *array = mha_arrays_find(arrays, names[i]);
        const double *numbers = array->data;
        const size_t half = mha_array_count(array) / B;
        for (size_t j = 0; j < half; j++) {
            ck_assert_msg(numbers[j] == 0.0, "%s[%zu]: %g", names[i], j, numbers[j]);
        }
        ck_assert(numbers[half] != 0.0);
    }
    mha_arrays_free(arrays);
}
END_TEST

TCase *apply_masks(void) {
    TCase *masks = tcase_create("masks");
    tcase_add_checked_fixture(masks, folder_make, folder_remove);
    tcase_add_test(masks, a_mask_may_have_rank_2_3_or_4);
    tcase_add_test(masks, a_mask_of_rank_3_is_for_samples);
    tcase_add_test(masks, booleans_and_integers_mean_the_same);
    tcase_add_test(masks, all_rules_must_allow_a_key);
    tcase_add_test(masks, causal_alignments);
    tcase_add_test(masks, hidden_context_rows_may_hold_nan);
    tcase_add_test(masks, a_query_without_a_key_is_zero);
    return masks;
}
