/* What masks mean, how they combine, and which shapes they may have; true is allowed. All on inputs
 * that have gone wrong elsewhere. */
#include "base/real.h"

#include <string.h>

#include "reports_case.h"

#define reports_masks_suite MHA_NAME(reports_masks_suite)

Suite *reports_masks_suite(void);

/* Cells that both masks blocked became more blocked than others. Causal and padding on the left
 * combine by selection, so they are the same bits as one merged mask. */
START_TEST(causal_and_padding_combine) {
    enum { L = 5 };
    static const unsigned char keys[L] = {0, 0, 0, 1, 1};
    static const unsigned char both[L * L] = {[3 * L + 3] = 1, [4 * L + 3] = 1, [4 * L + 4] = 1};
    const mha_mask combined = {
        .causal = MHA_CAUSAL_SQUARE, .allowed = keys, .rank = 4, .dims = {1, 1, 1, L}};
    const mha_mask merged = {.allowed = both, .rank = 2, .dims = {L, L}};
    layer_case c, m;
    open_case(&c, (mha_shape){1, L, L, 1, 1}, true);
    open_case(&m, c.shape, true);
    c.mask = &combined;
    m.mask = &merged;
    set_uniform(&c);
    set_numbers(c.query, (const wide[]){1, 2, 3, 4, 5}, L);
    run_forward(&c);
    assert_numbers("output", c.output, (const wide[]){0, 0, 0, 4, 4.5}, L, 0);
    assert_zeros("output", c.output, 3);
    draw_case(&c, 5);
    draw_case(&m, 5);
    run_forward(&c);
    run_forward(&m);
    run_backward(&c);
    run_backward(&m);
    assert_same_results(&c, &m);
    assert_reference(&c);
    close_case(&c);
    close_case(&m);
}
END_TEST

/* Two functions of one library read true oppositely, and users trained on the future. */
START_TEST(true_is_allowed) {
    enum { L = 3 };
    static const unsigned char past[L * L] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    static const unsigned char future[L * L] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    const mha_mask mask = {.allowed = past, .rank = 2, .dims = {L, L}};
    const mha_mask inverted = {.allowed = future, .rank = 2, .dims = {L, L}};
    layer_case c;
    open_case(&c, (mha_shape){1, L, L, 1, 1}, true);
    set_uniform(&c);
    set_numbers(c.query, (const wide[]){1, 2, 3}, L);
    c.mask = &inverted;
    run_forward(&c);
    assert_numbers("inverted", c.output, (const wide[]){2.5, 3, 0}, L, 0);
    assert_zeros("inverted", c.output + 2, 1);
    c.mask = &mask;
    run_forward(&c);
    assert_numbers("output", c.output, (const wide[]){1, 1.5, 2}, L, 0);
    const mha_real before[] = {c.output[0], c.output[1]};
    c.query[2] = REAL(1000.0);
    run_forward(&c);
    assert_same_bits("past", c.output, before, 2);
    assert_numbers("last", c.output + 2, (const wide[]){1003.0 / 3}, 1, 0);
    close_case(&c);
}
END_TEST

/* A forward pass under this mask is refused with this text, and writes nothing. */
static void assert_mask_refused(layer_case *c, const mha_mask *mask, const char *text) {
    c->mask = mask;
    assert_refused(c, try_forward(c), MHA_ERROR_MASK, text);
    for (size_t i = 0; i < mha_value_count(MHA_OUTPUT, &c->shape); i++) {
        ck_assert(isnan(c->output[i]));
    }
    ck_assert_ptr_null(attention_of(c));
}

/* Lengths beyond the source were read out of bounds. */
START_TEST(lengths_outside_the_source_are_refused) {
    const int64_t lengths[][3] = {{3, 4, 2}, {3, 0, -1}, {INT64_MIN, 0, 0}, {0, INT64_MAX, 0}};
    static const char *const texts[] = {"length 4 of sample 1 exceeds the source length 3",
        "length -1 of sample 2 is below 0", "length -9223372036854775808 of sample 0 is below 0",
        "length 9223372036854775807 of sample 1 exceeds the source length 3"};
    layer_case c;
    open_case(&c, (mha_shape){3, 3, 3, 1, 1}, true);
    set_uniform(&c);
    const mha_mask mask = {.lengths = lengths[_i]};
    assert_mask_refused(&c, &mask, texts[_i]);
    close_case(&c);
}
END_TEST

/* Anything but 0 and 1 silently became a third state; the text says which is which. */
START_TEST(bytes_other_than_0_and_1_are_refused) {
    const unsigned char values[] = {2, 255};
    static const char *const texts[] = {"mask entry 17 is 2, neither 0 (blocked) nor 1 (allowed)",
        "mask entry 17 is 255, neither 0 (blocked) nor 1 (allowed)"};
    unsigned char allowed[18] = {1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 4, .dims = {1, 2, 3, 3}};
    layer_case c;
    open_case(&c, (mha_shape){1, 3, 3, 2, 2}, true);
    set_uniform(&c);
    allowed[17] = values[_i];
    assert_mask_refused(&c, &mask, texts[_i]);
    close_case(&c);
}
END_TEST

/* Masks of cross-attention were taken as square. The transposed one has as many entries. */
START_TEST(cross_attention_masks_are_targets_by_sources) {
    static const unsigned char allowed[6] = {1, 0, 1, 0, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {2, 3}};
    const mha_mask transposed = {.allowed = allowed, .rank = 2, .dims = {3, 2}};
    const mha_mask transposed_4 = {.allowed = allowed, .rank = 4, .dims = {1, 1, 3, 2}};
    layer_case c;
    open_case(&c, (mha_shape){1, 2, 3, 1, 1}, false);
    set_uniform(&c);
    set_numbers(c.source, (const wide[]){1, 2, 6}, 3);
    assert_mask_refused(
        &c, &transposed, "mask (3, 2) does not fit (target length, source length) = (2, 3)");
    assert_mask_refused(&c, &transposed_4,
        "mask (1, 1, 3, 2) does not fit (batch, heads, target length, source length), where any "
        "may "
        "be 1, = (1, 1, 2, 3)");
    c.mask = &mask;
    run_forward(&c);
    assert_numbers("output", c.output, (const wide[]){3.5, 4}, 2, 0);
    close_case(&c);
}
END_TEST

/* Every mask that may be broadcast, with all sizes distinct, against the reference. */
START_TEST(mask_axes_are_not_confused) {
    static const mha_shape shape = {2, 5, 7, 12, 3};
    static const struct {
        size_t rank, dims[4];
    } kinds[] = {{2, {5, 7}}, {3, {2, 5, 7}}, {4, {2, 3, 5, 7}}, {4, {2, 1, 5, 7}},
        {4, {1, 3, 5, 7}}, {4, {2, 1, 1, 7}}, {4, {2, 3, 5, 1}}, {4, {1, 1, 5, 1}}};
    unsigned char allowed[2 * 3 * 5 * 7];
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){6}, 1);
    for (size_t i = 0; i < COUNT(allowed); i++) {
        allowed[i] = mha_rng_integers(&rng, 3) > 0;
    }
    mha_mask mask = {.allowed = allowed, .rank = kinds[_i].rank};
    for (size_t i = 0; i < 4; i++) {
        mask.dims[i] = kinds[_i].dims[i];
    }
    layer_case c;
    open_case(&c, shape, false);
    c.mask = &mask;
    draw_case(&c, 7);
    run_forward(&c);
    run_backward(&c);
    assert_reference(&c);
    close_case(&c);
}
END_TEST

/* Padding was spread over queries in place of keys: padded keys stayed visible. */
START_TEST(padding_hides_keys_not_queries) {
    enum { L = 4 };
    static const wide x[] = {1, 3, 100, 100}, weights[] = {.5, .5, 0, 0};
    static const unsigned char keys[L] = {1, 1, 0, 0};
    const int64_t lengths[] = {2};
    const mha_mask masks[] = {
        {.lengths = lengths}, {.allowed = keys, .rank = 4, .dims = {1, 1, 1, L}}};
    layer_case c;
    open_case(&c, (mha_shape){1, L, L, 1, 1}, _i >= 2);
    c.mask = &masks[_i % 2];
    set_uniform(&c);
    set_numbers(_i >= 2 ? c.query : c.source, x, L);
    run_forward(&c);
    for (size_t t = 0; t < L; t++) {
        assert_numbers("output", c.output + t, (const wide[]){2}, 1, 0);
        assert_numbers("weights", attention_of(&c) + t * L, weights, L, 0);
        assert_zeros("weights of padding", attention_of(&c) + t * L + 2, 2);
    }
    close_case(&c);
}
END_TEST

/* Padding of each sample, given by sample, lands on that sample in every head. The same bytes as a
 * mask of rank 2 are (T,S), by rule: never a guess, also where B = T. */
START_TEST(padding_lands_on_its_sample) {
    static const unsigned char keys[] = {1, 0, 0, 1, 1, 0};
    static const wide expected[] = {1, 4, 5}, as_rows[] = {1, 2, 3, 4, 5, 6};
    static const mha_shape shapes[] = {{2, 2, 2, 1, 1}, {2, 2, 2, 2, 2}, {3, 2, 2, 2, 2}};
    const mha_shape shape = shapes[_i];
    const size_t D = shape.width;
    const mha_mask padding = {.allowed = keys, .rank = 4, .dims = {shape.batch, 1, 1, 2}};
    const mha_mask rows = {.allowed = keys, .rank = 2, .dims = {2, 2}};
    layer_case c;
    open_case(&c, shape, true);
    set_uniform(&c);
    for (size_t i = 0; i < shape.batch * 2 * D; i++) {
        c.query[i] = (mha_real)(i / D + 1);
    }
    c.mask = &padding;
    run_forward(&c);
    for (size_t i = 0; i < shape.batch * 2 * D; i++) {
        assert_numbers("padding", c.output + i, &expected[i / D / 2], 1, 0);
    }
    c.mask = &rows;
    run_forward(&c);
    for (size_t i = 0; i < shape.batch * 2 * D; i++) {
        assert_numbers("rows", c.output + i, &as_rows[i / D], 1, 0);
    }
    close_case(&c);
}
END_TEST

/* Masks were accepted by their size, and sample 0's landed on another sample or head. */
START_TEST(shapes_with_two_meanings_are_refused) {
    unsigned char ones[36];
    static const struct {
        mha_shape shape;
        size_t rank, dims[4];
        const char *text;
    } cases[] = {
        {{3, 2, 2, 2, 2}, 2, {3, 2},
            "mask (3, 2) looks like padding (batch, source length), a rank-2 mask is (target "
            "length, source length) = (2, 2): give lengths, or a mask (3, 1, 1, 2)"},
        {{2, 2, 2, 2, 2}, 3, {2, 2, 2},
            "a rank-3 mask could belong to 2 samples or to 2 heads: give (2, 1, 2, 2) or (1, 2, 2, "
            "2)"},
        {{3, 2, 2, 2, 2}, 3, {6, 2, 2},
            "mask (6, 2, 2) does not fit (batch, target length, source length) = (3, 2, 2)"},
        {{3, 2, 2, 2, 2}, 3, {2, 2, 2},
            "mask (2, 2, 2) does not fit (batch, target length, source length) = (3, 2, 2)"},
        {{3, 2, 2, 2, 2}, 4, {2, 3, 2, 2},
            "mask (2, 3, 2, 2) does not fit (batch, heads, target length, source length), where "
            "any "
            "may be 1, = (3, 2, 2, 2)"},
        {{3, 2, 2, 2, 2}, 1, {2}, "a mask of rank 1 is not 2, 3 or 4"},
    };
    memset(ones, 1, sizeof ones);
    mha_mask mask = {.allowed = ones, .rank = cases[_i].rank};
    for (size_t i = 0; i < 4; i++) {
        mask.dims[i] = cases[_i].dims[i];
    }
    layer_case c;
    open_case(&c, cases[_i].shape, true);
    draw_case(&c, 8);
    assert_mask_refused(&c, &mask, cases[_i].text);
    close_case(&c);
}
END_TEST

/* Scores times 0 leave exp(0) for a hidden key; weights times 0 leave rows that sum below 1. */
START_TEST(masking_is_before_the_softmax) {
    static const unsigned char keys[] = {1, 1, 0};
    const mha_mask mask = {.allowed = keys, .rank = 2, .dims = {1, 3}};
    layer_case c;
    open_case(&c, (mha_shape){1, 1, 3, 1, 1}, false);
    c.mask = &mask;
    static const struct { wide source[3], output; } cases[] = {{{1, 2, 9}, 1.5}, {{-4, -4, 9}, -4}};
    for (size_t i = 0; i < 2; i++) {
        if (i == 0) {
            set_uniform(&c);
        } else {
            set_identity(&c);
            c.query[0] = REAL(1.0);
        }
        set_numbers(c.source, cases[i].source, 3);
        run_forward(&c);
        assert_numbers("weights", attention_of(&c), (const wide[]){.5, .5, 0}, 3, 0);
        assert_zeros("weight of the hidden key", attention_of(&c) + 2, 1);
        assert_numbers("output", c.output, &cases[i].output, 1, 0);
    }
    close_case(&c);
}
END_TEST

Suite *reports_masks_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "reports masks (float)" : "reports masks (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("masks", chosen);
        tcase_add_test(cases, causal_and_padding_combine);
        tcase_add_test(cases, true_is_allowed);
        tcase_add_loop_test(cases, lengths_outside_the_source_are_refused, 0, 4);
        tcase_add_loop_test(cases, bytes_other_than_0_and_1_are_refused, 0, 2);
        tcase_add_test(cases, cross_attention_masks_are_targets_by_sources);
        tcase_add_loop_test(cases, mask_axes_are_not_confused, 0, 8);
        tcase_add_loop_test(cases, padding_hides_keys_not_queries, 0, 4);
        tcase_add_loop_test(cases, padding_lands_on_its_sample, 0, 3);
        tcase_add_loop_test(cases, shapes_with_two_meanings_are_refused, 0, 6);
        tcase_add_test(cases, masking_is_before_the_softmax);
        suite_add_tcase(suite, cases);
    }
    return suite;
}
