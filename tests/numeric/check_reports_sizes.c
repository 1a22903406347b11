/* Sizes that do not fit, and empty ones. All on inputs that have gone wrong elsewhere. */
#include "base/real.h"

#include "reports_case.h"

#define reports_sizes_suite MHA_NAME(reports_sizes_suite)

Suite *reports_sizes_suite(void);

/* Division truncated the head width, and a part of the width was never touched. The sizes of the
 * last two would not fit into memory, so the answer cannot come after allocating. */
static const struct {
    size_t width, heads;
    const char *text;
} unusable[] = {
    {6, 4, "width 6 is not divisible by 4 heads"},
    {6, 0, "heads is 0, at least 1 is needed"},
    {4, 8, "width 4 is not divisible by 8 heads"},
    {0, 2, "width is 0, at least 1 is needed"},
    {4, SIZE_MAX, "width 4 is not divisible by 18446744073709551615 heads"}, /* -1 */
    {SIZE_MAX, 2, "width 18446744073709551615 is not divisible by 2 heads"},
};

START_TEST(unusable_widths_and_heads_are_refused) {
    const mha_shape shape = {2, 3, 3, unusable[_i].width, unusable[_i].heads};
    layer_case c = {0};
    mha_layer *layer = (mha_layer *)&c;
    mha_tape *tape = (mha_tape *)&c;
    size_t bytes = 1;
    const char *text = unusable[_i].text;
    assert_refused(&c, mha_shape_check(&shape, &c.error), MHA_ERROR_SHAPE, text);
    assert_refused(
        &c, mha_layer_create(&layer, &shape, wing_options(), &c.error), MHA_ERROR_SHAPE, text);
    assert_refused(
        &c, mha_tape_create(&tape, &shape, wing_options(), &c.error), MHA_ERROR_SHAPE, text);
    assert_refused(
        &c, mha_tape_bytes(&bytes, &shape, wing_options(), &c.error), MHA_ERROR_SHAPE, text);
    ck_assert_ptr_null(layer);
    ck_assert_ptr_null(tape);
    ck_assert_uint_eq(bytes, 0);
}
END_TEST

/* A call whose sizes are not those of its layer was accepted, or crashed deep inside. */
START_TEST(sizes_beyond_the_layer_are_refused) {
    static const struct {
        mha_shape shape;
        const char *text;
    } cases[] = {
        {{2, 3, 4, 5, 1}, "width 5 is not the layer's 4"},
        {{2, 3, 4, 8, 2}, "width 8 is not the layer's 4"},
        {{2, 3, 4, 4, 4}, "heads 4 is not the layer's 2"},
        {{3, 3, 4, 4, 2}, "batch 3 exceeds the layer's 2"},
        {{2, 4, 4, 4, 2}, "target length 4 exceeds the layer's 3"},
        {{2, 3, 5, 4, 2}, "source length 5 exceeds the layer's 4"},
        {{2, 3, 4, 4, 3}, "width 4 is not divisible by 3 heads"},
    };
    layer_case c;
    open_case(&c, (mha_shape){2, 3, 4, 4, 2}, false);
    c.shape = cases[_i].shape;
    assert_refused(&c, try_forward(&c), MHA_ERROR_SHAPE, cases[_i].text);
    for (size_t i = 0; i < 2 * 3 * 4; i++) {
        ck_assert(isnan(c.output[i]));
    }
    ck_assert_ptr_null(attention_of(&c));
    close_case(&c);
}
END_TEST

/* Heads of width 1, where the scale is 1, and a single head. */
START_TEST(extreme_head_counts_work) {
    const size_t heads[] = {1, 5};
    layer_case c;
    open_case(&c, (mha_shape){2, 3, 4, 5, heads[_i]}, false);
    draw_case(&c, 23);
    if (_i == 1) { /* scores of heads of width 1 are the products themselves */
        run_forward(&c);
        const bool split = wing_now() == WING_REFERENCE; /* else key 1 stands behind 5 numbers */
        const wide q = (wide)mha_tape_value(c.tape, split ? MHA_Q_HEADS : MHA_Q)[0];
        const mha_real *k = mha_tape_value(c.tape, split ? MHA_K_HEADS : MHA_K);
        const mha_real *w = attention_of(&c);
        assert_numbers("ratio of weights", (const mha_real[]){w[1] / w[0]},
            (const wide[]){exp(q * ((wide)k[split ? 1 : 5] - (wide)k[0]))}, 1, 0);
    }
    assert_gradients(&c, 0);
    close_case(&c);
}
END_TEST

/* Empty inputs have an answer, which is empty or zero. The layer is made for just these sizes, or
 * for larger ones. */
START_TEST(empty_sizes_work) {
    static const size_t sizes[][3] = {{0, 3, 3}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}};
    const mha_causal alignments[] = {MHA_CAUSAL_OFF, MHA_CAUSAL_TOP_LEFT, MHA_CAUSAL_BOTTOM_RIGHT};
    const size_t *size = sizes[_i / 2];
    const mha_shape shape = {size[0], size[1], size[2], 4, 2};
    const mha_shape larger = {2, 3, 3, 4, 2};
    static const int64_t lengths[2];
    for (size_t kind = 0; kind < COUNT(alignments); kind++) {
        mha_mask mask = {.causal = alignments[kind], .lengths = kind == 2 ? lengths : NULL};
        layer_case c;
        open_case(&c, _i % 2 == 0 ? shape : larger, false);
        draw_case(&c, 24);
        for (size_t i = 0; i < 2 * 3 * 4 && size[1] == 0 && _i % 2 == 1; i++) {
            c.source[i] = (mha_real)NAN; /* no query sees it */
        }
        c.shape = shape;
        c.mask = kind == 0 ? NULL : &mask;
        run_forward(&c);
        run_backward(&c);
        assert_zeros("output", c.output, mha_value_count(MHA_OUTPUT, &shape));
        leaf leaves[CASE_LEAVES];
        const size_t count = leaves_of(leaves, &c);
        for (size_t l = 0; l < count; l++) {
            assert_zeros(leaves[l].shape.name, leaves[l].gradient, leaves[l].shape.count);
        }
        ck_assert_ptr_nonnull(attention_of(&c));
        const mha_value_shape map = mha_value_shape_of(MHA_ATTENTION_WEIGHTS, &shape);
        ck_assert_mem_eq(
            map.dims, ((const size_t[]){size[0], 2, size[1], size[2]}), sizeof map.dims);
        close_case(&c);
    }
}
END_TEST

/* An empty array may be NULL, as malloc(0) is on some systems. */
START_TEST(empty_arrays_may_be_null) {
    layer_case c;
    open_case(&c, (mha_shape){0, 3, 3, 4, 2}, true);
    const mha_weights view = case_weights(&c);
    ck_assert_int_eq(
        mha_forward(NULL, c.tape, NULL, NULL, NULL, &view, c.layer, &c.shape, &c.error), MHA_OK);
    const mha_weights dweights = mha_weights_view(c.dweights, 4);
    ck_assert_int_eq(
        mha_backward(NULL, NULL, &dweights, NULL, c.tape, c.layer, &c.shape, &c.error), MHA_OK);
    assert_zeros("dweights", c.dweights, 64);
    close_case(&c);
}
END_TEST

/* A mean over nothing is 0, not 0/0. */
START_TEST(losses_over_nothing_are_zero) {
    static const unsigned char none[2];
    const mha_real x[] = {REAL(1.0), REAL(2.0)};
    mha_real dx[2] = {REAL(0.0), REAL(0.0)};
    ck_assert(mha_mse_loss(NULL, NULL, NULL, NULL, 0, 4) == 0);
    ck_assert(mha_mse_loss(dx, x, x, none, 2, 1) == 0);
    const int32_t labels[] = {-1, -1};
    const mha_class_score nothing = mha_cross_entropy_loss(NULL, NULL, NULL, 0, 4, 1, 4);
    const mha_class_score uncounted = mha_cross_entropy_loss(dx, x, labels, 2, 1, 1, 1);
    ck_assert(nothing.loss == 0 && nothing.counted == 0);
    ck_assert(uncounted.loss == 0 && uncounted.counted == 0);
    assert_zeros("gradient", dx, 2);
}
END_TEST

Suite *reports_sizes_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "reports sizes (float)" : "reports sizes (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("sizes", chosen);
        tcase_add_loop_test(cases, unusable_widths_and_heads_are_refused, 0, COUNT(unusable));
        tcase_add_loop_test(cases, sizes_beyond_the_layer_are_refused, 0, 7);
        tcase_add_loop_test(cases, extreme_head_counts_work, 0, 2);
        tcase_add_loop_test(cases, empty_sizes_work, 0, 8);
        tcase_add_test(cases, empty_arrays_may_be_null);
        suite_add_tcase(suite, cases);
    }
    TCase *others = tcase_create("losses");
    tcase_add_test(others, losses_over_nothing_are_zero);
    suite_add_tcase(suite, others);
    return suite;
}
