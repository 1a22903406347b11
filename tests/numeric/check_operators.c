/* What all operators promise: forward writes, backward adds, a NULL gradient is not wanted, empty
 * sizes are empty loops. Inputs are whole numbers and d = 4, so that sums are exact. */
#include "base/real.h"

#include "arrays.h"
#include "operators.h"
#include "ops_cases.h"

static const mha_shape shape = {2, 3, 5, 8, 2};

/* All three rules at once: keys are hidden by each, and query 0 of sample 1, head 0 sees nothing.
 */
static const int64_t lengths[] = {5, 4};
static const unsigned char allowed[2 * 2 * 3 * 5] = {1, 1, 0, 1, 1, /**/ 1, 0, 1, 1, 1, /**/ 0, 1,
    1, 1, 1,                                               //
    1, 1, 1, 0, 1, /**/ 0, 0, 1, 0, 1, /**/ 1, 1, 1, 1, 1, //
    0, 0, 0, 0, 0, /**/ 1, 1, 1, 1, 1, /**/ 1, 0, 0, 1, 1, //
    1, 1, 1, 1, 1, /**/ 0, 1, 0, 1, 1, /**/ 1, 0, 1, 0, 1};
static const mha_mask combined = {MHA_CAUSAL_BOTTOM_RIGHT, lengths, allowed, 4, {2, 2, 3, 5}};

/* One operator on inputs of its own. */
typedef struct bench {
    const operator* op;
    const mha_mask *mask;
    mha_shape shape;
    size_t results, counts[OPERATOR_INPUTS];
    const mha_real *x[OPERATOR_INPUTS];
    mha_real *y, *dy;
} bench;

static bench make(const operator* op, const mha_mask *mask, const mha_shape *sizes) {
    bench made = {.op = op, .mask = mask, .shape = *sizes};
    made.results = mha_value_count(op->result, sizes);
    for (size_t i = 0; i < op->inputs; i++) {
        made.counts[i] = mha_value_count(op->input[i], sizes);
        made.x[i] = array_whole(made.counts[i], 10 + i);
    }
    made.y = array_new(made.results);
    made.dy = array_whole(made.results, 20);
    op->forward(made.y, made.x, mask, sizes);
    return made;
}

/* The index of a loop test: each operator without a mask, then with one. */
static bench make_indexed(int index) {
    return make(&operators[index / 2], index % 2 == 0 ? NULL : &combined, &shape);
}

static void backward(const bench *b, mha_real *const dx[]) {
    b->op->backward(dx, b->dy, b->y, b->x, b->mask, &b->shape);
}

static void new_gradients(mha_real *dx[], const bench *b, mha_real value) {
    for (size_t i = 0; i < b->op->inputs; i++) {
        dx[i] = array_constant(b->counts[i], value);
    }
}

START_TEST(forward_writes_its_whole_result) {
    const bench b = make_indexed(_i);
    mha_real *again = array_constant(b.results, REAL(7.0));
    b.op->forward(again, b.x, b.mask, &b.shape);
    assert_arrays_same(b.op->name, again, b.y, b.results);
    for (size_t i = 0; i < b.results; i++) {
        ck_assert_msg(!isnan(b.y[i]), "%s[%zu] is NaN", b.op->name, i);
    }
}
END_TEST

START_TEST(backward_adds) {
    const bench b = make_indexed(_i);
    mha_real *once[OPERATOR_INPUTS], *onto[OPERATOR_INPUTS];
    new_gradients(once, &b, REAL(0.0));
    new_gradients(onto, &b, REAL(5.0));
    backward(&b, once);
    backward(&b, onto);
    for (size_t i = 0; i < b.op->inputs; i++) {
        mha_real *expected = array_copy(once[i], b.counts[i]);
        for (size_t j = 0; j < b.counts[i]; j++) {
            expected[j] += REAL(5.0);
        }
        assert_arrays_near(b.op->name, onto[i], expected, b.counts[i], b.op->exact ? 0 : 1e-14);
    }
}
END_TEST

START_TEST(backward_twice_adds_twice) {
    const bench b = make_indexed(_i);
    mha_real *once[OPERATOR_INPUTS], *twice[OPERATOR_INPUTS];
    new_gradients(once, &b, REAL(0.0));
    new_gradients(twice, &b, REAL(0.0));
    backward(&b, once);
    backward(&b, twice);
    backward(&b, twice);
    for (size_t i = 0; i < b.op->inputs; i++) {
        bool moved = false;
        mha_real *expected = array_copy(once[i], b.counts[i]);
        for (size_t j = 0; j < b.counts[i]; j++) {
            expected[j] += once[i][j];
            moved = moved || once[i][j] != REAL(0.0);
        }
        ck_assert(moved);
        assert_arrays_near(b.op->name, twice[i], expected, b.counts[i], b.op->exact ? 0 : 1e-14);
    }
}
END_TEST

START_TEST(unwanted_gradients_change_no_bit_of_the_others) {
    const bench b = make_indexed(_i);
    mha_real *all[OPERATOR_INPUTS];
    new_gradients(all, &b, REAL(0.5));
    backward(&b, all);
    for (size_t wanted = 0; wanted < 1u << b.op->inputs; wanted++) {
        mha_real *some[OPERATOR_INPUTS];
        new_gradients(some, &b, REAL(0.5));
        for (size_t i = 0; i < b.op->inputs; i++) {
            some[i] = (wanted >> i & 1) != 0 ? some[i] : NULL;
        }
        backward(&b, some);
        for (size_t i = 0; i < b.op->inputs; i++) {
            if (some[i] != NULL) {
                assert_arrays_same(b.op->name, some[i], all[i], b.counts[i]);
            }
        }
    }
}
END_TEST

/* With equal sizes the gradients of two inputs may be one buffer, which then receives both. */
START_TEST(one_gradient_buffer_receives_all_inputs) {
    const bench b = make(&operators[_i], NULL, &(mha_shape){1, 4, 4, 4, 1});
    mha_real *apart[OPERATOR_INPUTS];
    new_gradients(apart, &b, REAL(0.0));
    backward(&b, apart);
    mha_real *one = array_constant(16, REAL(0.0)), *sum = array_constant(16, REAL(0.0));
    for (size_t i = 0; i < b.op->inputs; i++) {
        ck_assert_uint_eq(b.counts[i], 16);
        for (size_t j = 0; j < 16; j++) {
            sum[j] += apart[i][j];
        }
    }
    backward(&b, (mha_real *[]){one, one, one});
    assert_arrays_near(b.op->name, one, sum, 16, b.op->exact ? 0 : 1e-14);
}
END_TEST

/* Without a single position on one side, results are empty or 0 and gradients stay as they are. */
START_TEST(empty_sizes_are_empty_loops) {
    static const mha_shape empty[] = {
        {0, 3, 5, 8, 2}, {2, 0, 5, 8, 2}, {2, 3, 0, 8, 2}, {2, 0, 0, 8, 2}, {0, 0, 0, 8, 2}};
    static const int64_t none[] = {0, 0};
    const mha_mask causal = {.causal = MHA_CAUSAL_BOTTOM_RIGHT, .lengths = none};
    for (size_t i = 0; i < 2 * COUNT(empty); i++) {
        const bench b = make(&operators[_i], i % 2 == 0 ? NULL : &causal, &empty[i / 2]);
        const mha_value_shape rows = mha_value_shape_of(b.op->input[0], &b.shape);
        mha_real *dx[OPERATOR_INPUTS];
        new_gradients(dx, &b, REAL(0.25));
        backward(&b, dx);
        if (b.op->input[0] != MHA_QUERY && b.op->inputs == 1 && rows.count > 0) {
            continue; /* split and combine know one length only, and that is not 0 */
        }
        const bool projects = b.op->input[0] == MHA_QUERY && rows.count > 0;
        for (size_t j = 0; j < b.op->inputs && !projects; j++) {
            assert_array_is(b.op->name, dx[j], REAL(0.25), b.counts[j]);
        }
        if (!projects) {
            assert_array_is(b.op->name, b.y, REAL(0.0), b.results);
        }
    }
}
END_TEST

/* An array without an entry may be NULL, and with no sample, or no position on either side, so may
 * every array. Gradients that are wanted get nothing. */
START_TEST(arrays_without_entries_may_be_null) {
    static const mha_shape empty[] = {{0, 3, 5, 8, 2}, {2, 0, 0, 8, 2}, {0, 0, 0, 8, 2},
        {2, 0, 5, 8, 2}, {2, 3, 0, 8, 2}, {0, 0, 5, 8, 2}, {0, 3, 0, 8, 2}};
    static const int64_t none[] = {0, 0};
    const mha_mask causal = {.causal = MHA_CAUSAL_BOTTOM_RIGHT, .lengths = none};
    const operator* op = & operators[_i];
    for (size_t i = 0; i < 2 * COUNT(empty); i++) {
        const mha_shape *sizes = &empty[i / 2];
        const mha_mask *mask = i % 2 == 0 ? NULL : &causal;
        const bool nothing = sizes->batch == 0 || i / 2 == 1;
        const mha_real *x[OPERATOR_INPUTS] = {NULL};
        mha_real *unwanted[OPERATOR_INPUTS] = {NULL}, *wanted[OPERATOR_INPUTS] = {NULL};
        size_t counts[OPERATOR_INPUTS] = {0};
        for (size_t j = 0; j < op->inputs; j++) {
            counts[j] = mha_value_count(op->input[j], sizes);
            x[j] = nothing || counts[j] == 0 ? NULL : array_whole(counts[j], 10 + j);
            wanted[j] = array_constant(counts[j] + 1, REAL(0.25));
        }
        const size_t results = mha_value_count(op->result, sizes);
        mha_real *y = results == 0 ? NULL : array_new(results);
        mha_real *dy = results == 0 ? NULL : array_constant(results, REAL(1.0));
        op->forward(y, x, mask, sizes);
        op->backward(unwanted, dy, y, x, mask, sizes);
        op->backward(wanted, dy, y, x, mask, sizes);
        for (size_t j = 0; results == 0 && j < op->inputs; j++) {
            assert_array_is(op->name, wanted[j], REAL(0.25), counts[j] + 1);
        }
    }
}
END_TEST

TCase *operator_case(void) {
    TCase *cases = tcase_create("operators");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, forward_writes_its_whole_result, 0, 2 * OPERATORS);
    tcase_add_loop_test(cases, backward_adds, 0, 2 * OPERATORS);
    tcase_add_loop_test(cases, backward_twice_adds_twice, 0, 2 * OPERATORS);
    tcase_add_loop_test(cases, unwanted_gradients_change_no_bit_of_the_others, 0, 2 * OPERATORS);
    tcase_add_loop_test(cases, one_gradient_buffer_receives_all_inputs, 0, OPERATORS);
    tcase_add_loop_test(cases, empty_sizes_are_empty_loops, 0, OPERATORS);
    tcase_add_loop_test(cases, arrays_without_entries_may_be_null, 0, OPERATORS);
    return cases;
}
