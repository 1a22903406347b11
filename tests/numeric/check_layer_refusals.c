/* What the layer's door refuses: shapes, sizes, missing arrays, a tape in the wrong state. Every
 * refused call names the thing and both numbers and writes nothing. */
#include "base/real.h"

#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 3, 3, 4, 2};

/* ---- shapes and sizes ---- */

/* "%s" stands for the owner, "layer" or "tape". */
static const struct {
    mha_shape shape;
    mha_status status;
    const char *text;
} wrong_shapes[] = {
    {{2, 3, 3, 6, 4}, MHA_ERROR_SHAPE, "width 6 is not divisible by 4 heads"},
    {{2, 3, 3, 4, 0}, MHA_ERROR_SHAPE, "heads is 0, at least 1 is needed"},
    {{2, 3, 3, 0, 2}, MHA_ERROR_SHAPE, "width is 0, at least 1 is needed"},
    {{2, 3, 3, 8, 2}, MHA_ERROR_SHAPE, "width 8 is not the %s's 4"},
    {{2, 3, 3, 4, 1}, MHA_ERROR_SHAPE, "heads 1 is not the %s's 2"},
    {{3, 3, 3, 4, 2}, MHA_ERROR_SHAPE, "batch 3 exceeds the %s's 2"},
    {{2, 4, 3, 4, 2}, MHA_ERROR_SHAPE, "target length 4 exceeds the %s's 3"},
    {{2, 3, 5, 4, 2}, MHA_ERROR_SHAPE, "source length 5 exceeds the %s's 3"},
    {{SIZE_MAX, 3, 3, 4, 2}, MHA_ERROR_SIZE,
        "attention weights of batch 18446744073709551615 x heads 2 x target length 3 x source "
        "length 3 exceed the address space"},
};

static void assert_shape_refused(const trial *t, size_t index, const char *owner) {
    char text[MHA_ERROR_TEXT_SIZE];
    const char *rest = strstr(wrong_shapes[index].text, "%s");
    const int head = rest == NULL ? (int)strlen(wrong_shapes[index].text)
                                  : (int)(rest - wrong_shapes[index].text);
    snprintf(text, sizeof text, "%.*s%s%s", head, wrong_shapes[index].text,
        rest == NULL ? "" : owner, rest == NULL ? "" : rest + 2);
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_forward(t->output, t->tape, t->query, t->source, t->mask, &t->weights,
                         t->layer, &wrong_shapes[index].shape, &error),
        wrong_shapes[index].status);
    ck_assert_str_eq(error.text, text);
    ck_assert(isnan(t->output[0]));
    ck_assert_ptr_null(mha_tape_value(t->tape, MHA_CONTEXT));
}

/* Too large for the layer, and for the tape of a layer that is larger. */
START_TEST(shapes_beyond_layer_or_tape_are_refused) {
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    assert_shape_refused(&t, (size_t)_i, "layer");
    const mha_shape *wrong = &wrong_shapes[_i].shape;
    if (mha_shape_check(wrong, NULL) == MHA_OK) {
        t.layer = trial_layer(wrong, wing_options());
        assert_shape_refused(&t, (size_t)_i, "tape");
    }
}
END_TEST

/* Refused by arithmetic, before any memory is asked for. The last two pass mha_shape_check, and
 * only the sum of the arrays is too large: for a size_t in double, for an object in float. The very
 * last is so in the readable wing alone, whose layer has several arrays of all pairs. */
START_TEST(sizes_beyond_the_address_space_are_refused) {
    static const mha_shape beyond[] = {{1, (size_t)1 << 32, (size_t)1 << 32, 1, 1},
        {65536, 65536, 65536, 65536, 65536}, {1, ((size_t)1 << 32) - 1, 1, (size_t)1 << 28, 1},
        {1, ((size_t)1 << 30) - 1, (size_t)1 << 30, 1, 1}};
    const bool by_object = MHA_PRECISION == 32 && _i >= 2;
    const mha_status status = by_object ? MHA_ERROR_MEMORY : MHA_ERROR_SIZE;
    mha_layer *layer = trial_layer(&shape, wing_options());
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_layer_create(&layer, &beyond[_i], wing_options(), &error), status);
    ck_assert_int_eq(error.status, status);
    ck_assert_ptr_null(layer);
    if (_i == 3) {
        return; /* the tape of this one is an object that some machine may have */
    }
    mha_tape *tape = trial_tape(&shape, wing_options());
    ck_assert_int_eq(mha_tape_create(&tape, &beyond[_i], wing_options(), &error), status);
    ck_assert_ptr_null(tape);
    size_t bytes;
    ck_assert_int_eq(
        mha_tape_bytes(&bytes, &beyond[_i], wing_options(), &error), by_object ? MHA_OK : status);
}
END_TEST

START_TEST(layers_and_tapes_of_wrong_shapes_are_refused) {
    const mha_shape wrong = {2, 3, 3, 6, 4};
    mha_layer *layer = trial_layer(&shape, wing_options());
    mha_tape *tape = trial_tape(&shape, wing_options());
    size_t bytes;
    mha_error error[3];
    ck_assert_int_eq(mha_layer_create(&layer, &wrong, wing_options(), &error[0]), MHA_ERROR_SHAPE);
    ck_assert_int_eq(mha_tape_create(&tape, &wrong, wing_options(), &error[1]), MHA_ERROR_SHAPE);
    ck_assert_int_eq(mha_tape_bytes(&bytes, &wrong, wing_options(), &error[2]), MHA_ERROR_SHAPE);
    ck_assert_ptr_null(layer);
    ck_assert_ptr_null(tape);
    for (size_t i = 0; i < COUNT(error); i++) {
        ck_assert_str_eq(error[i].text, "width 6 is not divisible by 4 heads");
    }
    mha_layer_destroy(NULL);
    mha_tape_destroy(NULL);
}
END_TEST

START_TEST(masks_are_checked_at_the_door) {
    const mha_mask padding = {
        .allowed = (const unsigned char[]){1, 1, 1, 1, 1, 1}, .rank = 2, .dims = {2, 3}};
    const trial t = trial_new(&shape, CROSS_ATTENTION, &padding, 1);
    assert_forward_refused(&t, MHA_ERROR_MASK,
        "mask (2, 3) looks like padding (batch, source length), a rank-2 mask is (target length, "
        "source length) = (3, 3): give lengths, or a mask (2, 1, 1, 3)");
}
END_TEST

START_TEST(self_attention_needs_one_length) {
    trial t = trial_new(&(mha_shape){2, 3, 5, 4, 2}, SELF_ATTENTION, NULL, 1);
    const char *text = "self-attention with target length 3 and source length 5";
    assert_forward_refused(&t, MHA_ERROR_SHAPE, text);
    t.source = t.query;
    assert_forward_refused(&t, MHA_ERROR_SHAPE, text);
}
END_TEST

/* ---- missing arrays ---- */

static void assert_missing(const trial *t, const char *name, size_t count) {
    char text[96];
    snprintf(text, sizeof text, "%s is NULL, %zu bytes are needed", name, count * sizeof(mha_real));
    assert_forward_refused(t, MHA_ERROR_ARGUMENT, text);
}

START_TEST(missing_arrays_are_refused) {
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    const trial whole = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial t = whole;
    t.output = NULL;
    assert_missing(&t, "output", 2 * 3 * 4);
    t = whole;
    t.query = NULL;
    assert_missing(&t, "query", 2 * 3 * 4);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        t = whole;
        t.weights.matrix[i] = NULL;
        assert_missing(&t, names[i], 4 * 4);
    }
    trial_forward(&whole);
    t = whole;
    t.doutput = NULL;
    char text[96];
    snprintf(text, sizeof text, "doutput is NULL, %zu bytes are needed", 24 * sizeof(mha_real));
    assert_backward_refused(&t, MHA_ERROR_ARGUMENT, text);
}
END_TEST

/* ---- the state of the tape ---- */

START_TEST(backward_needs_a_forward_pass) {
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    assert_backward_refused(&t, MHA_ERROR_STATE, "the tape holds no forward pass");
    trial_run(&t);
    t.layer = trial_layer(&shape, wing_options());
    assert_backward_refused(
        &t, MHA_ERROR_STATE, "the tape holds the forward pass of another layer");
}
END_TEST

START_TEST(backward_needs_the_shape_of_the_pass) {
    static const struct {
        mha_shape shape;
        const char *text;
    } others[] = {
        {{1, 3, 3, 4, 2}, "the tape holds a forward pass with batch 2, backward asks for 1"},
        {{2, 2, 3, 4, 2},
            "the tape holds a forward pass with target length 3, backward asks for 2"},
        {{2, 3, 9, 4, 2},
            "the tape holds a forward pass with source length 3, backward asks for 9"},
        {{2, 3, 3, 8, 2}, "the tape holds a forward pass with width 4, backward asks for 8"},
        {{2, 3, 3, 4, 1}, "the tape holds a forward pass with heads 2, backward asks for 1"},
    };
    const trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial_forward(&t);
    for (size_t i = 0; i < COUNT(others); i++) {
        mha_error error = {MHA_OK, ""};
        ck_assert_int_eq(mha_backward(t.dx_query, t.dx_source, &t.dweights, t.doutput, t.tape,
                             t.layer, &others[i].shape, &error),
            MHA_ERROR_STATE);
        ck_assert_str_eq(error.text, others[i].text);
    }
    assert_array_is("dx_query", t.dx_query, REAL(0.0), trial_count(&t, MHA_QUERY));
    assert_array_is("dweights", t.dblock, REAL(0.0), 4 * 4 * 4);
}
END_TEST

/* A refused forward leaves the pass that the tape holds, for backward to use. */
START_TEST(a_refused_forward_keeps_the_pass_before_it) {
    const trial expected = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial t = trial_new(&shape, CROSS_ATTENTION, NULL, 1);
    trial_run(&expected);
    trial_forward(&t);
    trial refused = t;
    refused.weights.matrix[3] = NULL;
    assert_missing(&refused, "wo", 4 * 4);
    refused = t;
    refused.mask = &(const mha_mask){.lengths = (const int64_t[]){3, 4}};
    assert_forward_refused(
        &refused, MHA_ERROR_MASK, "length 4 of sample 1 exceeds the source length 3");
    trial_backward(&t);
    assert_trials_same(&t, &expected);
}
END_TEST

TCase *layer_refusals_case(wing chosen) {
    TCase *cases = wing_case("refusals", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, shapes_beyond_layer_or_tape_are_refused, 0, COUNT(wrong_shapes));
    tcase_add_loop_test(
        cases, sizes_beyond_the_address_space_are_refused, 0, chosen == WING_REFERENCE ? 4 : 3);
    tcase_add_test(cases, layers_and_tapes_of_wrong_shapes_are_refused);
    tcase_add_test(cases, masks_are_checked_at_the_door);
    tcase_add_test(cases, self_attention_needs_one_length);
    tcase_add_test(cases, missing_arrays_are_refused);
    tcase_add_test(cases, backward_needs_a_forward_pass);
    tcase_add_test(cases, backward_needs_the_shape_of_the_pass);
    tcase_add_test(cases, a_refused_forward_keeps_the_pass_before_it);
    return cases;
}
