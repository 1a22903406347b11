/* What backward promises about the gradients it is given: it adds, it scales with doutput, it
 * leaves the tape alone, and what is not wanted changes nothing else. */
#include "base/real.h"

#include "arrays.h"
#include "layer_cases.h"
#include "trial.h"

static const mha_shape shape = {2, 3, 5, 6, 2};
static const int64_t lengths[] = {5, 3};
static const mha_mask causal = {.causal = MHA_CAUSAL_BOTTOM_RIGHT, .lengths = lengths};

/* A loop index: without a mask, with one. */
static trial make(int index) {
    return trial_new(&shape, CROSS_ATTENTION, index == 0 ? NULL : &causal, 1);
}

/* The six gradients: dx_query, dx_source, dwq, dwk, dwv, dwo. */
enum { GRADIENTS = 6 };

static mha_real *gradient_of(const trial *t, size_t i) {
    return i == 0 ? t->dx_query : i == 1 ? t->dx_source : t->dweights.matrix[i - 2];
}

static size_t gradient_count(size_t i) {
    return mha_value_count((mha_value)(MHA_QUERY + i), &shape);
}

START_TEST(backward_twice_adds_twice) {
    trial once = make(_i), twice = once, again = once;
    trial_clear(&twice);
    trial_clear(&again);
    trial_run(&once);
    trial_backward(&twice);
    trial_backward(&twice);
    trial_backward(&again);
    assert_gradients_same(&again, &once); /* backward only reads the tape */
    for (size_t i = 0; i < GRADIENTS; i++) {
        mha_real *expected = array_copy(gradient_of(&once, i), gradient_count(i));
        bool moved = false;
        for (size_t j = 0; j < gradient_count(i); j++) {
            moved = moved || expected[j] != REAL(0.0);
            expected[j] *= REAL(2.0);
        }
        ck_assert(moved);
        assert_arrays_near("gradient", gradient_of(&twice, i), expected, gradient_count(i), 1e-14);
    }
}
END_TEST

START_TEST(backward_adds_to_what_is_there) {
    trial from_zero = make(_i), onto = from_zero;
    trial_clear(&onto);
    for (size_t i = 0; i < GRADIENTS; i++) {
        for (size_t j = 0; j < gradient_count(i); j++) {
            gradient_of(&onto, i)[j] = REAL(4.0);
        }
    }
    trial_run(&from_zero);
    trial_backward(&onto);
    for (size_t i = 0; i < GRADIENTS; i++) {
        mha_real *expected = array_copy(gradient_of(&from_zero, i), gradient_count(i));
        for (size_t j = 0; j < gradient_count(i); j++) {
            expected[j] += REAL(4.0);
        }
        assert_arrays_near("gradient", gradient_of(&onto, i), expected, gradient_count(i), 1e-14);
    }
}
END_TEST

START_TEST(doubling_doutput_doubles_every_bit) {
    trial once = make(_i), doubled = once;
    trial_clear(&doubled);
    trial_run(&once);
    doubled.doutput = array_copy(once.doutput, trial_count(&once, MHA_OUTPUT));
    for (size_t i = 0; i < trial_count(&once, MHA_OUTPUT); i++) {
        doubled.doutput[i] *= REAL(2.0);
    }
    trial_backward(&doubled);
    for (size_t i = 0; i < GRADIENTS; i++) {
        for (size_t j = 0; j < gradient_count(i); j++) {
            gradient_of(&once, i)[j] *= REAL(2.0);
        }
    }
    assert_gradients_same(&doubled, &once);
}
END_TEST

START_TEST(zero_doutput_gives_zero_gradients) {
    trial t = make(_i);
    t.doutput = array_constant(trial_count(&t, MHA_OUTPUT), REAL(0.0));
    trial_run(&t);
    for (size_t i = 0; i < GRADIENTS; i++) {
        assert_array_is("gradient", gradient_of(&t, i), REAL(0.0), gradient_count(i));
    }
}
END_TEST

/* Every subset of the six gradients. */
START_TEST(unwanted_gradients_change_no_bit_of_the_others) {
    trial all = make(_i);
    trial_run(&all);
    for (unsigned wanted = 0; wanted < 1u << GRADIENTS; wanted++) {
        trial some = all;
        trial_clear(&some);
        some.dx_query = (wanted & 1) != 0 ? some.dx_query : NULL;
        some.dx_source = (wanted & 2) != 0 ? some.dx_source : NULL;
        for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
            if ((wanted >> (i + 2) & 1) == 0) {
                some.dweights.matrix[i] = NULL;
            }
        }
        trial_backward(&some);
        for (size_t i = 0; i < GRADIENTS; i++) {
            if (gradient_of(&some, i) != NULL) {
                assert_arrays_same(
                    "gradient", gradient_of(&some, i), gradient_of(&all, i), gradient_count(i));
            }
        }
        for (size_t i = 2; i < GRADIENTS; i++) { /* the memory of the unwanted is left alone */
            if (gradient_of(&some, i) == NULL) {
                assert_array_is("unwanted", some.dblock + (i - 2) * gradient_count(i), REAL(0.0),
                    gradient_count(i));
            }
        }
    }
}
END_TEST

START_TEST(no_table_of_weight_gradients_is_needed) {
    trial all = make(_i), inputs = all;
    trial_clear(&inputs);
    trial_run(&all);
    ck_assert_int_eq(mha_backward(inputs.dx_query, inputs.dx_source, NULL, all.doutput, all.tape,
                         all.layer, &shape, NULL),
        MHA_OK);
    assert_arrays_same("dx_query", inputs.dx_query, all.dx_query, gradient_count(0));
    assert_arrays_same("dx_source", inputs.dx_source, all.dx_source, gradient_count(1));
    ck_assert_int_eq(
        mha_backward(NULL, NULL, NULL, all.doutput, all.tape, all.layer, &shape, NULL), MHA_OK);
}
END_TEST

START_TEST(a_nan_in_doutput_shows) {
    trial t = make(_i);
    t.doutput[0] = not_a_number;
    trial_run(&t);
    ck_assert(isnan(t.dx_query[0]));
    for (size_t i = 2; i < GRADIENTS; i++) {
        ck_assert(isnan(gradient_of(&t, i)[0]));
    }
}
END_TEST

TCase *layer_gradients_case(wing chosen) {
    TCase *cases = wing_case("gradients", chosen);
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, backward_twice_adds_twice, 0, 2);
    tcase_add_loop_test(cases, backward_adds_to_what_is_there, 0, 2);
    tcase_add_loop_test(cases, doubling_doutput_doubles_every_bit, 0, 2);
    tcase_add_loop_test(cases, zero_doutput_gives_zero_gradients, 0, 2);
    tcase_add_loop_test(cases, unwanted_gradients_change_no_bit_of_the_others, 0, 2);
    tcase_add_loop_test(cases, no_table_of_weight_gradients_is_needed, 0, 2);
    tcase_add_loop_test(cases, a_nan_in_doutput_shows, 0, 2);
    return cases;
}
