/* What is written may share no memory with anything else; the one exception are the two input
 * gradients, which may be one buffer when their sizes are equal. */
#include "base/real.h"

#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

/* Every array of a pass and of its backward. */
typedef enum member {
    DX_QUERY, /* written by backward: */
    DX_SOURCE,
    DWQ,
    DWK,
    DWV,
    DWO,
    DOUTPUT, /* read: */
    QUERY,
    SOURCE,
    WQ,
    WK,
    WV,
    WO,
    OUTPUT, /* written by forward */
    MEMBERS
} member;

static const struct {
    const char *name;
    mha_value value; /* which has the size */
} members[MEMBERS] = {{"dx_query", MHA_QUERY}, {"dx_source", MHA_SOURCE}, {"dwq", MHA_WQ},
    {"dwk", MHA_WK}, {"dwv", MHA_WV}, {"dwo", MHA_WO}, {"doutput", MHA_OUTPUT},
    {"query", MHA_QUERY}, {"source", MHA_SOURCE}, {"wq", MHA_WQ}, {"wk", MHA_WK}, {"wv", MHA_WV},
    {"wo", MHA_WO}, {"output", MHA_OUTPUT}};

static const mha_shape shape = {2, 3, 5, 4, 2};

static size_t bytes_of(member m) {
    return mha_value_count(members[m].value, &shape) * sizeof(mha_real);
}

/* A call with all its arrays apart, each full of zeros. */
typedef struct call {
    mha_real *at[MEMBERS];
    const mha_mask *mask;
    mha_layer *layer;
    mha_tape *tape;
} call;

static call make(void) {
    call made = {
        .layer = trial_layer(&shape, wing_options()), .tape = trial_tape(&shape, wing_options())};
    for (size_t i = 0; i < MEMBERS; i++) {
        made.at[i] = array_constant(bytes_of((member)i) / sizeof(mha_real), REAL(0.0));
    }
    return made;
}

static mha_status forward(const call *c, mha_error *error) {
    const mha_weights weights = {{c->at[WQ], c->at[WK], c->at[WV], c->at[WO]}};
    return mha_forward(c->at[OUTPUT], c->tape, c->at[QUERY], c->at[SOURCE], c->mask, &weights,
        c->layer, &shape, error);
}

static mha_status backward(const call *c, mha_error *error) {
    const mha_weights dweights = {{c->at[DWQ], c->at[DWK], c->at[DWV], c->at[DWO]}};
    return mha_backward(c->at[DX_QUERY], c->at[DX_SOURCE], &dweights, c->at[DOUTPUT], c->tape,
        c->layer, &shape, error);
}

/* Puts b at the distance of `shift` entries behind the start of a, in memory for both. */
static call with_overlap(member a, member b, size_t shift) {
    call c = make();
    const size_t count = (bytes_of(a) + bytes_of(b)) / sizeof(mha_real);
    c.at[a] = array_constant(count, REAL(0.0));
    c.at[b] = c.at[a] + shift;
    return c;
}

static void assert_overlap_text(const mha_error *error, member a, member b) {
    char text[MHA_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "%s (%zu bytes) and %s (%zu bytes) overlap in memory",
        members[a].name, bytes_of(a), members[b].name, bytes_of(b));
    ck_assert_str_eq(error->text, text);
    ck_assert_int_eq(error->status, MHA_ERROR_ARGUMENT);
}

/* b from the first entry of a, from its second, from its last, and just behind it: the last fits.
 */
static void for_each_place(member a, member b, bool is_forward) {
    const size_t entries = bytes_of(a) / sizeof(mha_real);
    const size_t shifts[] = {0, 1, entries - 1, entries};
    for (size_t i = 0; i < COUNT(shifts); i++) {
        const call c = with_overlap(a, b, shifts[i]);
        mha_error error = {MHA_OK, ""};
        mha_status status = forward(&c, is_forward ? &error : NULL);
        if (!is_forward) {
            ck_assert_int_eq(status, MHA_OK);
            status = backward(&c, &error);
        }
        if (shifts[i] < entries) {
            ck_assert_int_eq(status, MHA_ERROR_ARGUMENT);
            /* texts name the array that is written first */
            if (is_forward) {
                assert_overlap_text(&error, OUTPUT, a == OUTPUT ? b : a);
            } else {
                assert_overlap_text(&error, a < b ? a : b, a < b ? b : a);
            }
        } else {
            ck_assert_msg(status == MHA_OK, "%s", error.text);
        }
        arrays_release();
    }
}

START_TEST(forward_refuses_an_output_inside_its_inputs) {
    for (size_t m = QUERY; m <= WO; m++) {
        for_each_place(OUTPUT, (member)m, true);
        for_each_place((member)m, OUTPUT, true);
    }
}
END_TEST

/* Gradient _i against every other gradient and everything that backward reads. */
START_TEST(backward_refuses_gradients_inside_other_arrays) {
    for (size_t m = DX_QUERY; m <= WO; m++) {
        if (m != (size_t)_i) {
            for_each_place((member)_i, (member)m, false);
            for_each_place((member)m, (member)_i, false);
        }
    }
}
END_TEST

START_TEST(what_is_only_read_may_overlap) {
    call c = make();
    c.at[SOURCE] = array_constant(2 * bytes_of(SOURCE) / sizeof(mha_real), REAL(0.0));
    c.at[QUERY] = c.at[SOURCE] + 1;
    c.at[DOUTPUT] = c.at[SOURCE] + 2;
    c.at[WQ] = c.at[WK] = c.at[WV] = c.at[WO];
    ck_assert_int_eq(forward(&c, NULL), MHA_OK);
    ck_assert_int_eq(backward(&c, NULL), MHA_OK);
}
END_TEST

/* Lengths and mask bytes are arrays like the others. They stand in the output's memory, or in that
 * of dx_query, which is all zeros. */
START_TEST(lengths_and_mask_bytes_count_too) {
    const size_t output = bytes_of(OUTPUT), query = bytes_of(DX_QUERY);
    char text[128];
    for (size_t i = 0; i < 2; i++) {
        call c = make();
        mha_error error = {MHA_OK, ""};
        void *block = c.at[i == 0 ? OUTPUT : DX_QUERY];
        const mha_mask by_lengths = {.lengths = block};
        const mha_mask by_bytes = {.allowed = block, .rank = 4, .dims = {2, 1, 1, 5}};
        memset(block, 0, output);
        c.mask = &by_lengths;
        mha_status status = forward(&c, &error);
        status = i == 0 ? status : backward(&c, &error);
        ck_assert_int_eq(status, MHA_ERROR_ARGUMENT);
        snprintf(text, sizeof text, "%s (%zu bytes) and lengths (16 bytes) overlap in memory",
            i == 0 ? "output" : "dx_query", i == 0 ? output : query);
        ck_assert_str_eq(error.text, text);
        c.mask = &by_bytes;
        status = forward(&c, &error);
        status = i == 0 ? status : backward(&c, &error);
        ck_assert_int_eq(status, MHA_ERROR_ARGUMENT);
        snprintf(text, sizeof text, "%s (%zu bytes) and mask (10 bytes) overlap in memory",
            i == 0 ? "output" : "dx_query", i == 0 ? output : query);
        ck_assert_str_eq(error.text, text);
    }
}
END_TEST

/* Forward writes the tape, so an input on it would change under way. */
START_TEST(inputs_on_the_tape_are_refused) {
    call c = make();
    ck_assert_int_eq(forward(&c, NULL), MHA_OK);
    const mha_weights weights = {{c.at[WQ], c.at[WK], c.at[WV], c.at[WO]}};
    const mha_real *context = mha_tape_value(c.tape, MHA_CONTEXT);
    const mha_real *keys =
        mha_tape_value(c.tape, wing_now() == WING_REFERENCE ? MHA_K_HEADS : MHA_K);
    ck_assert_ptr_nonnull(keys);
    ck_assert_int_eq(mha_forward(c.at[OUTPUT], c.tape, context, c.at[SOURCE], NULL, &weights,
                         c.layer, &shape, NULL),
        MHA_ERROR_ARGUMENT);
    ck_assert_int_eq(
        mha_forward(c.at[OUTPUT], c.tape, c.at[QUERY], keys, NULL, &weights, c.layer, &shape, NULL),
        MHA_ERROR_ARGUMENT);
    mha_tape *other = trial_tape(&shape, wing_options());
    ck_assert_int_eq(
        mha_forward(c.at[OUTPUT], other, context, keys, NULL, &weights, c.layer, &shape, NULL),
        MHA_OK);
}
END_TEST

/* Backward reads the tape while it adds to the gradients, so none of them may stand there. */
START_TEST(gradients_on_the_tape_are_refused) {
    call c = make();
    ck_assert_int_eq(forward(&c, NULL), MHA_OK);
    for (size_t m = DX_QUERY; m <= DWO; m++) {
        size_t places = 0;
        for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
            const mha_real *saved = mha_tape_value(c.tape, (mha_value)value);
            const size_t entries = mha_value_count((mha_value)value, &shape);
            if (saved == NULL || entries * sizeof *saved < bytes_of((member)m)) {
                continue; /* not there, or no room */
            }
            places++;
            call on_tape = c;
            on_tape.at[m] = (mha_real *)(uintptr_t)saved;
            mha_error error = {MHA_OK, ""};
            ck_assert_int_eq(backward(&on_tape, &error), MHA_ERROR_ARGUMENT);
            char text[96];
            snprintf(text, sizeof text, "%s (%zu bytes) and the tape (", members[m].name,
                bytes_of((member)m));
            ck_assert_msg(strncmp(error.text, text, strlen(text)) == 0, "%s", error.text);
        }
        ck_assert_uint_gt(places, 0);
    }
    ck_assert_int_eq(backward(&c, NULL), MHA_OK);
}
END_TEST

START_TEST(self_attention_has_one_input_gradient) {
    const mha_shape square = {2, 3, 3, 4, 2};
    trial t = trial_new(&square, SELF_ATTENTION, NULL, 1);
    trial_forward(&t);
    t.dx_source = array_constant(trial_count(&t, MHA_SOURCE), REAL(0.0));
    const char *text = "self-attention has one input gradient: dx_source must be NULL or dx_query";
    assert_backward_refused(&t, MHA_ERROR_ARGUMENT, text);
    t.dx_query = NULL;
    assert_backward_refused(&t, MHA_ERROR_ARGUMENT, text);
}
END_TEST

TCase *layer_overlaps_case(wing chosen) {
    TCase *cases = wing_case("overlaps", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_test(cases, forward_refuses_an_output_inside_its_inputs);
    tcase_add_loop_test(cases, backward_refuses_gradients_inside_other_arrays, DX_QUERY, DWO + 1);
    tcase_add_test(cases, what_is_only_read_may_overlap);
    tcase_add_test(cases, lengths_and_mask_bytes_count_too);
    tcase_add_test(cases, inputs_on_the_tape_are_refused);
    tcase_add_test(cases, gradients_on_the_tape_are_refused);
    tcase_add_test(cases, self_attention_has_one_input_gradient);
    return cases;
}
