/* Self-attention, two streams, and gradient buffers that they share. */
#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 5, 5, 6, 3};
static const int64_t lengths[] = {5, 2};
static const mha_mask masks[] = {{.causal = MHA_CAUSAL_OFF}, {.causal = MHA_CAUSAL_SQUARE},
    {.causal = MHA_CAUSAL_SQUARE, .lengths = lengths}};

static size_t inputs(void) {
    return shape.batch * shape.target_length * shape.width;
}

/* Cross-attention on two copies of the query stream of a self-attention. */
static trial on_two_copies(const trial *self) {
    trial t = *self;
    t.layer = trial_layer(&shape, wing_options());
    t.tape = trial_tape(&shape, wing_options());
    t.source = array_copy(t.query, inputs());
    t.output = array_new(inputs());
    trial_clear(&t);
    return t;
}

START_TEST(self_attention_by_null_and_by_pointer_has_the_same_bits) {
    const trial by_null = trial_new(&shape, SELF_ATTENTION, &masks[_i], 1);
    trial_run(&by_null);
    for (int with_gradient = 0; with_gradient < 2; with_gradient++) {
        trial by_pointer = trial_new(&shape, SELF_ATTENTION, &masks[_i], 1);
        by_pointer.source = by_pointer.query;
        by_pointer.dx_source = with_gradient != 0 ? by_pointer.dx_query : NULL;
        trial_run(&by_pointer);
        by_pointer.dx_source = NULL; /* compared as dx_query */
        assert_trials_same(&by_pointer, &by_null);
    }
}
END_TEST

/* Exact copies of one stream give what the one stream gives. One buffer for both gradients receives
 * both, in the same order, so to the same bits. */
START_TEST(one_buffer_for_both_streams_adds_both) {
    const trial self = trial_new(&shape, SELF_ATTENTION, &masks[_i], 1);
    trial_run(&self);
    trial two = on_two_copies(&self);
    two.dx_source = two.dx_query;
    trial_run(&two);
    two.dx_source = NULL; /* compared as dx_query */
    assert_trials_same(&two, &self);
}
END_TEST

START_TEST(apart_the_streams_gradients_sum_to_that_of_one) {
    const trial self = trial_new(&shape, SELF_ATTENTION, &masks[_i], 1);
    trial_run(&self);
    const trial two = on_two_copies(&self);
    trial_run(&two);
    mha_real *sum = array_new(inputs());
    for (size_t i = 0; i < inputs(); i++) {
        sum[i] = two.dx_query[i] + two.dx_source[i];
    }
    assert_arrays_near("dx", self.dx_query, sum, inputs(), 1e-14);
    assert_arrays_same("output", two.output, self.output, inputs());
    assert_arrays_same("dweights", two.dblock, self.dblock, 4 * shape.width * shape.width);
}
END_TEST

static void nothing_backward(const mha_pass *pass, const mha_real *dresult) {
    (void)pass, (void)dresult;
}

/* dx along the paths whose projection is left in: of query, of key or of value, by the stages of the
 * readable wing. */
static mha_real *path(const trial *self, const char *kept) {
    static const char *const names[] = {"project_query", "project_key", "project_value"};
    mha_stage stages[MHA_STAGE_COUNT];
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        stages[i] = mha_stages[i];
        for (size_t j = 0; j < COUNT(names); j++) {
            if (strcmp(stages[i].name, names[j]) == 0 && strcmp(names[j], kept) != 0) {
                stages[i].backward = nothing_backward;
            }
        }
    }
    trial t = *self;
    t.options = (mha_layer_options){.kernel = MHA_KERNEL_REFERENCE, .stages = stages};
    t.layer = trial_layer(&shape, &t.options);
    t.tape = trial_tape(&shape, &t.options);
    trial_clear(&t);
    trial_run(&t);
    return t.dx_query;
}

START_TEST(one_stream_receives_three_paths) {
    const trial self = trial_new(&shape, SELF_ATTENTION, &masks[_i], 1);
    trial_run(&self);
    const mha_real *query = path(&self, "project_query"), *key = path(&self, "project_key");
    const mha_real *value = path(&self, "project_value");
    mha_real *sum = array_new(inputs());
    mha_real largest[3] = {0};
    for (size_t i = 0; i < inputs(); i++) {
        sum[i] = query[i] + key[i] + value[i];
        largest[0] = query[i] > largest[0] ? query[i] : largest[0];
        largest[1] = key[i] > largest[1] ? key[i] : largest[1];
        largest[2] = value[i] > largest[2] ? value[i] : largest[2];
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert(largest[i] > REAL(0.01));
    }
    assert_arrays_near("dx", self.dx_query, sum, inputs(), 1e-14);
}
END_TEST

/* With T != S one buffer cannot serve both, whichever is longer. */
START_TEST(one_buffer_for_streams_of_different_lengths_is_refused) {
    trial t = trial_new(&(mha_shape){2, 3, 5, 6, 3}, CROSS_ATTENTION, NULL, 1);
    trial_forward(&t);
    t.dx_query = t.dx_source;
    mha_error error;
    ck_assert_int_eq(
        mha_backward(t.dx_query, t.dx_source, NULL, t.doutput, t.tape, t.layer, &t.shape, &error),
        MHA_ERROR_ARGUMENT);
    assert_array_is("dx_source", t.dx_source, REAL(0.0), trial_count(&t, MHA_SOURCE));
}
END_TEST

/* Streams without a row: NULL pointers are equal, yet nothing makes the streams one, and each may
 * have a gradient of its own. A query that points somewhere does not lend itself to such a source. */
START_TEST(streams_without_rows_may_be_null) {
    static const mha_shape empty[] = {
        {2, 0, 0, 6, 3}, {0, 3, 3, 6, 3}, {0, 0, 0, 6, 3}, {0, 3, 5, 6, 3}, {0, 5, 3, 6, 3}};
    enum { ALL_NULL, OUTPUT_TOO, ONE_GRADIENT, QUERY_KEPT, VARIANTS };
    for (size_t i = 0; i < VARIANTS * COUNT(empty); i++) {
        const size_t variant = i % VARIANTS;
        trial t = trial_new(&empty[i / VARIANTS], CROSS_ATTENTION, NULL, 1);
        ck_assert_uint_eq(trial_count(&t, MHA_QUERY) + trial_count(&t, MHA_SOURCE), 0);
        t.source = NULL;
        t.query = variant == QUERY_KEPT ? t.query : NULL;
        t.output = variant == OUTPUT_TOO ? NULL : t.output;
        t.dx_query = array_constant(1, REAL(0.5));
        t.dx_source = variant == ONE_GRADIENT ? NULL : array_constant(1, REAL(0.25));
        trial_run(&t);
        ck_assert(t.dx_query[0] == REAL(0.5));
        ck_assert(t.dx_source == NULL || t.dx_source[0] == REAL(0.25));
        assert_array_is("dweights", t.dblock, REAL(0.0), 4 * 6 * 6);
    }
}
END_TEST

/* The query has rows, the source has none. */
START_TEST(a_source_without_rows_may_be_null) {
    trial t = trial_new(&(mha_shape){2, 3, 0, 6, 3}, CROSS_ATTENTION, NULL, 1);
    t.source = NULL;
    trial_run(&t);
    assert_array_is("output", t.output, REAL(0.0), 2 * 3 * 6);
    assert_array_is("dx_query", t.dx_query, REAL(0.0), 2 * 3 * 6);
    assert_array_is("dweights", t.dblock, REAL(0.0), 4 * 6 * 6);
}
END_TEST

TCase *layer_streams_case(wing chosen) {
    TCase *cases = wing_case("streams", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(
        cases, self_attention_by_null_and_by_pointer_has_the_same_bits, 0, COUNT(masks));
    tcase_add_loop_test(cases, one_buffer_for_both_streams_adds_both, 0, COUNT(masks));
    tcase_add_loop_test(cases, apart_the_streams_gradients_sum_to_that_of_one, 0, COUNT(masks));
    tcase_add_loop_test(cases, one_stream_receives_three_paths, 0, COUNT(masks));
    tcase_add_test(cases, streams_without_rows_may_be_null);
    tcase_add_test(cases, a_source_without_rows_may_be_null);
    tcase_add_test(cases, one_buffer_for_streams_of_different_lengths_is_refused);
    return cases;
}
