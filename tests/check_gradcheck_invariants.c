/* What the gradient checker asks of every function: that it repeats itself, leaves its inputs alone, adds, and
 * is linear in the output gradients. */
#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/gradcheck.h>

#include "gradcheck_functions.h"
#include "gradcheck_setup.h"

static int calls;

static void changing_forward(model *m) {
    example_polynomial.forward(m);
    m->x[SPOILED] += 1e-9;
}

static void changing_backward(model *m) {
    example_polynomial.backward(m);
    m->x[SPOILED] = -m->x[SPOILED];
}

/* By far less than differences see. */
static void drifting_forward(model *m) {
    example_polynomial.forward(m);
    m->y[SPOILED] += 1e-13 * ++calls;
}

static void drifting_backward(model *m) {
    example_polynomial.backward(m);
    m->dx[SPOILED] += 1e-13 * ++calls;
}

/* y[SPOILED] is another function at each call. */
static void random_forward(model *m) {
    example_polynomial.forward(m);
    m->y[SPOILED] *= ++calls;
}

static void overwriting_backward(model *m) {
    memset(m->dx, 0, m->rows * COLUMNS * sizeof *m->dx);
    example_polynomial.backward(m);
}

static void affine_backward(model *m) {
    example_polynomial.backward(m);
    m->dx[SPOILED] += 1e-11; /* less than differences are asked for */
}

static const struct {
    example example;
    mha_gradcheck_verdict verdict;
    bool has_entry;
} cases[] = {
    {{changing_forward, NULL, 0, NULL}, MHA_GRADCHECK_INPUTS_CHANGED, true},
    {{NULL, changing_backward, 0, NULL}, MHA_GRADCHECK_INPUTS_CHANGED, true},
    {{drifting_forward, NULL, 0, NULL}, MHA_GRADCHECK_NOT_REPEATED, false},
    {{NULL, drifting_backward, 0, NULL}, MHA_GRADCHECK_NOT_REPEATED, true},
    {{random_forward, NULL, 0, NULL}, MHA_GRADCHECK_NOT_REPEATED, false},
    {{NULL, overwriting_backward, 0, NULL}, MHA_GRADCHECK_NOT_ADDED, false},
    {{NULL, affine_backward, 0, NULL}, MHA_GRADCHECK_NOT_LINEAR, true},
};

/* Entry by entry and along directions. */
START_TEST(gives_each_its_verdict) {
    const size_t rows[] = {ROWS, LARGEST_ROWS};
    for (size_t i = 0; i < COUNT(rows); i++) {
        example chosen = cases[_i].example;
        chosen.forward = chosen.forward != NULL ? chosen.forward : example_polynomial.forward;
        chosen.backward = chosen.backward != NULL ? chosen.backward : example_polynomial.backward;
        calls = 0;
        prepare_check(&chosen, rows[i], 1.0);
        run_check(); /* values have their bits back */
        assert_check_verdict(0, cases[_i].verdict);
        if (cases[_i].has_entry) {
            assert_check_index(0, SPOILED);
        }
    }
}
END_TEST

/* Zero by cancellation: what is left is rounding, of another size on top of what was there. */
static void cancelling_backward(model *m) {
    example_polynomial.backward(m);
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dw[0] += 0.1 * m->dy[i];
        m->dw[0] += 0.2 * m->dy[i];
        m->dw[0] -= 0.3 * m->dy[i];
    }
}

START_TEST(rounding_of_a_zero_adds_as_it_likes) {
    example cancelling = example_polynomial;
    cancelling.backward = cancelling_backward;
    cancelling.w_rows = COLUMNS;
    for (uint64_t seed = 0; seed < 20; seed++) {
        prepare_check(&cancelling, ROWS, 1.0);
        under_test.blocks[1].zero_expected = true;
        under_test.options.seed = seed;
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_PASS);
        assert_check_verdict(1, MHA_GRADCHECK_PASS);
    }
}
END_TEST

/* A block without entries has no arrays. */
START_TEST(copes_with_a_block_of_nothing) {
    prepare_check(&example_polynomial, ROWS, 1.0);
    under_test.blocks[1] = (mha_gradcheck_block){"nothing", NULL, NULL, 1, {0}, false};
    under_test.subject.block_count = 2;
    run_check();
    assert_check_verdict(0, MHA_GRADCHECK_PASS);
    assert_check_verdict(1, MHA_GRADCHECK_EMPTY);
}
END_TEST

/* A failing call at the end is one too, and what was found before stays. */
START_TEST(reports_last_calls_that_fail) {
    prepare_check(&example_fault_transposed, ROWS, 1.0);
    run_check();
    const int all = under_test.calls;
    for (int call = all - 4; call <= all; call++) {
        prepare_check(&example_fault_transposed, ROWS, 1.0);
        under_test.failing_call = call;
        run_check();
        assert_check_verdict(0, MHA_GRADCHECK_CALL_FAILED);
        assert_check_verdict(1, MHA_GRADCHECK_WRONG);
    }
}
END_TEST

/* What the last calls overwrite is put back: the gradients of the outputs, and those of the blocks. */
START_TEST(leaves_the_first_gradients) {
    static double left[ROWS * COLUMNS];
    prepare_check(&example_polynomial, ROWS, 1.0);
    run_check();
    assert_check_passes();
    memcpy(left, under_test.m.dx, sizeof left);
    memset(under_test.m.dx, 0, sizeof under_test.m.dx);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        ck_assert(under_test.m.dy[i] != 0.0 && left[i] != 0.0);
    }
    example_polynomial.backward(&under_test.m);
    ck_assert_mem_eq(left, under_test.m.dx, sizeof left);
}
END_TEST

TCase *gradcheck_invariants(void) {
    TCase *tests = tcase_create("invariants");
    tcase_add_loop_test(tests, gives_each_its_verdict, 0, COUNT(cases));
    tcase_add_test(tests, rounding_of_a_zero_adds_as_it_likes);
    tcase_add_test(tests, copes_with_a_block_of_nothing);
    tcase_add_test(tests, reports_last_calls_that_fail);
    tcase_add_test(tests, leaves_the_first_gradients);
    return tests;
}
