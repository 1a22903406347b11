/* Stochastic gradient descent. The golden values were computed with NumPy in float64; all inputs
 * are exact in float. */
#include "base/real.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "learn_cases.h"

#define LARGEST ((mha_real)(MHA_PRECISION == 32 ? (wide)FLT_MAX : DBL_MAX))

enum { WEIGHTS = 4, STEPS = 4 };

static const mha_real first_weights[WEIGHTS] = {REAL(0.5), REAL(-1.25), REAL(2.0), REAL(-0.75)};
static const mha_real gradients[STEPS][WEIGHTS] = {
    {REAL(0.125), REAL(-0.25), REAL(0.375), REAL(-0.5)},
    {REAL(1.5), REAL(-2.5), REAL(0.5), REAL(3.0)},
    {REAL(-0.25), REAL(0.125), REAL(-0.5), REAL(0.75)},
    {REAL(2.0), REAL(1.0), REAL(-1.0), REAL(-2.0)}};

static const struct {
    mha_sgd_options options;
    wide weights[WEIGHTS], velocity[WEIGHTS]; /* after all steps */
} descents[] = {
    {{.learning_rate = 0.125}, {0.078125, -1.046875, 2.078125, -0.90625}, {2.0, 1.0, -1.0, -2.0}},
    {{.learning_rate = 0.125, .momentum = 0.5},
        {-0.060546875, -0.79296875, 2.021484375, -1.1796875},
        {2.265625, 0.40625, -1.078125, -0.9375}},
    {{.learning_rate = 0.125,
         .momentum = 0.875,
         .weight_decay = 0.0625,
         .clip = 1,
         .nesterov = true},
        {0.18617504202683013, -0.8960073715871216, 1.8346316455082836, -0.8331847363104083},
        {0.8553323272307448, -0.4153687583335075, -0.027601150609915803, 0.07614133789226962}},
    {{.learning_rate = 0.5, .momentum = 0.75, .weight_decay = 0.25, .clip = 2},
        {-1.1163742694155019, 0.680956946025789, 0.5582825228270624, -1.0126890716362262},
        {1.5248551720919972, -0.17460463498656642, 0.030934040432872567, -0.7468539027055611}},
};

START_TEST(sgd_has_the_golden_values) {
    mha_real weights[WEIGHTS];
    mha_real velocity[WEIGHTS] = {0};
    memcpy(weights, first_weights, sizeof weights);
    for (size_t step = 0; step < STEPS; step++) {
        wide norm = mha_gradient_norm(gradients[step], WEIGHTS);
        ck_assert_int_eq(mha_sgd_step(weights, velocity, gradients[step], WEIGHTS, norm,
                             &descents[_i].options, NULL),
            MHA_OK);
    }
    for (size_t i = 0; i < WEIGHTS; i++) {
        assert_close((wide)weights[i], descents[_i].weights[i], i);
        assert_close((wide)velocity[i], descents[_i].velocity[i], i);
    }
}
END_TEST

START_TEST(gradient_norm_is_summed_in_double) {
    const mha_real triangle[2] = {REAL(3.0), REAL(-4.0)};
    ck_assert(mha_gradient_norm(triangle, 2) == 5);
    ck_assert(mha_gradient_norm(triangle, 0) == 0);
    const mha_real large[2] = {REAL(3e30), REAL(4e30)}; /* the squares overflow a float */
    assert_close(mha_gradient_norm(large, 2), 5e30, 0);
    const mha_real apart[2] = {REAL(4096.0), REAL(1.0)}; /* 2^24 + 1 is no float */
    ck_assert(mha_gradient_norm(apart, 2) == sqrt(16777217.0));
    const mha_real broken[2] = {REAL(1.0), not_a_number};
    ck_assert(isnan(mha_gradient_norm(broken, 2)));
}
END_TEST

/* A step that must be refused, with a text that holds words, and change nothing. */
static void assert_refused(const mha_real *weights, const mha_real *velocity,
    const mha_real *gradient, wide norm, const char *words) {
    const mha_sgd_options options = {.learning_rate = 1, .momentum = 0.5};
    mha_real w[WEIGHTS];
    mha_real v[WEIGHTS];
    memcpy(w, weights, sizeof w);
    memcpy(v, velocity, sizeof v);
    mha_error error = {0};
    ck_assert_int_eq(
        mha_sgd_step(w, v, gradient, WEIGHTS, norm, &options, &error), MHA_ERROR_NOT_FINITE);
    ck_assert_int_eq(error.status, MHA_ERROR_NOT_FINITE);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
    ck_assert(memcmp(w, weights, sizeof w) == 0);
    ck_assert(memcmp(v, velocity, sizeof v) == 0);
}

START_TEST(sgd_refuses_what_is_not_finite) {
    const mha_real velocity[WEIGHTS] = {REAL(0.5), REAL(-0.0), REAL(0.25), REAL(1.0)};
    const mha_real *gradient = gradients[0];
    assert_refused(first_weights, velocity, gradient, (wide)INFINITY, "norm is inf");
    assert_refused(first_weights, velocity, gradient, (wide)NAN, "norm is");
    mha_real broken[WEIGHTS] = {REAL(1.0), REAL(1.0), REAL(1.0), not_a_number};
    assert_refused(first_weights, velocity, broken, 1, "weight 3 of 4");
    const mha_real far[WEIGHTS] = {REAL(1.0), REAL(1.0), -LARGEST, REAL(1.0)};
    const mha_real push[WEIGHTS] = {REAL(1.0), REAL(1.0), LARGEST, REAL(1.0)};
    assert_refused(far, velocity, push, 1, "weight 2 of 4 would become -inf");
}
END_TEST

/* What is left of the momentum overflows, under a rate so small that its product with the largest
 * number would hardly move the weight. */
START_TEST(sgd_refuses_a_velocity_that_overflows) {
    const mha_real weights[2] = {REAL(1.0), REAL(-2.0)};
    const mha_real velocity[2] = {REAL(0.5), LARGEST};
    const mha_real gradient[2] = {REAL(1.0), LARGEST};
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        const mha_sgd_options options = {.learning_rate = MHA_PRECISION == 32 ? 1e-38 : 1e-308,
            .momentum = 0.5,
            .nesterov = nesterov != 0};
        mha_real w[2], v[2];
        memcpy(w, weights, sizeof w);
        memcpy(v, velocity, sizeof v);
        mha_error error = {0};
        ck_assert(fabs((wide)LARGEST * options.learning_rate) < 5);
        ck_assert_int_eq(
            mha_sgd_step(w, v, gradient, 2, 1, &options, &error), MHA_ERROR_NOT_FINITE);
        ck_assert_str_eq(error.text, "weight 1 of 2 would become -inf, its velocity inf");
        ck_assert(memcmp(w, weights, sizeof w) == 0);
        ck_assert(memcmp(v, velocity, sizeof v) == 0);
    }
}
END_TEST

/* Each option must be a number from 0 up; the step of the others' zeros is legal. */
START_TEST(sgd_refuses_unusable_options) {
    static const char *const names[] = {"learning rate", "momentum", "weight decay", "clip"};
    const struct {
        wide value;
        const char *text;
    } wrong[] = {{-0.5, "-0.5"}, {(wide)NAN, "nan"}, {(wide)INFINITY, "inf"},
        {-(wide)INFINITY, "-inf"}, {-DBL_MIN, "-2.22507e-308"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const wide value = wrong[i].value;
        const mha_sgd_options options[] = {{.learning_rate = value}, {.momentum = value},
            {.weight_decay = value}, {.clip = value}};
        for (size_t field = 0; field < sizeof options / sizeof *options; field++) {
            mha_real w[WEIGHTS], v[WEIGHTS] = {0};
            memcpy(w, first_weights, sizeof w);
            mha_error error = {0};
            ck_assert_int_eq(mha_sgd_step(w, v, gradients[0], WEIGHTS, 1, &options[field], &error),
                MHA_ERROR_ARGUMENT);
            char text[96];
            snprintf(
                text, sizeof text, "%s %s is not a number from 0 up", names[field], wrong[i].text);
            ck_assert_str_eq(error.text, text);
            ck_assert_int_eq(error.status, MHA_ERROR_ARGUMENT);
            ck_assert_int_eq(mha_sgd_step(w, v, gradients[0], WEIGHTS, 1, &options[field], NULL),
                MHA_ERROR_ARGUMENT);
            ck_assert(memcmp(w, first_weights, sizeof w) == 0 && v[0] == REAL(0.0));
        }
    }
}
END_TEST

START_TEST(sgd_does_not_clip_a_norm_at_its_limit) {
    const mha_sgd_options free_options = {.learning_rate = 0.1};
    const mha_real gradient[2] = {REAL(3.0), REAL(-4.0)};
    mha_sgd_options options = free_options;
    options.clip = 5;
    mha_real limited[2] = {REAL(1.0), REAL(1.0)};
    mha_real unlimited[2] = {REAL(1.0), REAL(1.0)};
    mha_real velocity[2] = {0};
    ck_assert_int_eq(mha_sgd_step(limited, velocity, gradient, 2, 5, &options, NULL), MHA_OK);
    ck_assert_int_eq(
        mha_sgd_step(unlimited, velocity, gradient, 2, 5, &free_options, NULL), MHA_OK);
    ck_assert(memcmp(limited, unlimited, sizeof limited) == 0);
    ck_assert_int_eq(mha_sgd_step(NULL, NULL, NULL, 0, 0, &options, NULL), MHA_OK);
}
END_TEST

TCase *sgd_case(void) {
    TCase *descent = tcase_create("sgd");
    tcase_add_loop_test(
        descent, sgd_has_the_golden_values, 0, (int)(sizeof descents / sizeof *descents));
    tcase_add_test(descent, gradient_norm_is_summed_in_double);
    tcase_add_test(descent, sgd_refuses_what_is_not_finite);
    tcase_add_test(descent, sgd_refuses_a_velocity_that_overflows);
    tcase_add_test(descent, sgd_refuses_unusable_options);
    tcase_add_test(descent, sgd_does_not_clip_a_norm_at_its_limit);
    return descent;
}
