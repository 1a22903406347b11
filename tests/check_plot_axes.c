/* The axes of loss curves: ranges, and losses that are hard to show. */
#include "check_plot.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "commands/plot_curves.h"
#include "folder.h"

/* Axes of one run with these held-out losses. */
static struct loss_axes axes_of(const double *losses, size_t count) {
    char name[] = "run";
    mha_error error;
    struct loss_axes axes;
    struct loss_curve curve = make_curve(name, losses, count);
    mha_status status = loss_axes_of(&axes, &curve, 1, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    free(curve.rows);
    return axes;
}

START_TEST(test_ranges) {
    struct loss_axes axes = axes_of((const double[]){0.5, 0.5, 0.5, 0.5, 0.5}, 5);
    ck_assert(!axes.log_axis && axes.y_low < 0.5 && axes.y_high > 0.5);
    axes = axes_of((const double[]){0, 0}, 2);
    ck_assert(!axes.log_axis && axes.y_low <= 0 && axes.y_high > 0);
    axes = axes_of((const double[]){1, 0.1, 0}, 3);
    ck_assert(axes.log_axis && axes.y_low > 0 && axes.y_low < 0.1 && axes.y_high > 1);
    ck_assert_uint_eq(axes.not_positive, 1);
    axes = axes_of((const double[]){1, 0.2}, 2);
    ck_assert(!axes.log_axis);
    axes = axes_of((const double[]){1, (double)INFINITY, 1e200, 0.5}, 4);
    ck_assert_uint_eq(axes.infinite, 2);
    ck_assert_double_lt(axes.y_high, 2);
}
END_TEST

/* What gnuplot would call an empty range is drawn like a constant. */
START_TEST(test_narrow_ranges) {
    static const double losses[][2] = {{1, 1.0000000000000002}, {1, 1.0000005}, {-3, -2.9999999}};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct loss_axes axes = axes_of(losses[i], 2);
        ck_assert_double_ge(axes.y_high - axes.y_low, fabs(losses[i][0]));
        ck_assert(axes.y_low < losses[i][0] && axes.y_high > losses[i][1]);
        char name[] = "run";
        double places[4][2];
        char *svg = draw_losses(name, losses[i], 2);
        ck_assert_uint_eq(find_marks(places, 4, svg), 2);
        free(svg);
    }
    struct loss_axes axes = axes_of((const double[]){1, 1.00001}, 2);
    ck_assert_double_lt(axes.y_high - axes.y_low, 0.0001);
}
END_TEST

START_TEST(test_narrow_steps) {
    static const size_t steps[][2] = {{((size_t)1 << 53) - 1, (size_t)1 << 53},
        {SIZE_MAX - 1, SIZE_MAX}, {5000000, 5000001}, {1234567890123, 1234567890124},
        {1234567890123, 1234570890129}, {0, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char name[] = "run";
        struct loss_curve curve = make_curve(name, (const double[]){1, 2}, 2);
        curve.rows[0].step = steps[i][0];
        curve.rows[1].step = steps[i][1];
        mha_error error;
        const struct picture_options options = {folder_path("loss.svg"), NULL};
        mha_status status = draw_curves(&curve, 1, &options, &error);
        ck_assert_msg(status == MHA_OK, "%s", error.text);
        char *svg = read_text("loss.svg");
        double places[4][2];
        ck_assert_uint_eq(find_marks(places, 4, svg), 2);
        free(svg);
        free(curve.rows);
    }
}
END_TEST

START_TEST(test_degenerate_losses_give_pictures) {
    static const double losses[][3] = {{0, 0, 0}, {0.5, 0.5, 0.5}, {1, 0.1, 0},
        {1, (double)INFINITY, 0.5}, {1e-300, 1, 1e99}, {-1, -2, 3}};
    static const size_t marks[] = {3, 3, 2, 2, 3, 3};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        char name[] = "run";
        double places[4][2];
        char *svg = draw_losses(name, losses[i], 3);
        ck_assert_uint_eq(find_marks(places, 4, svg), marks[i]);
        free(svg);
    }
}
END_TEST

START_TEST(test_losses_of_two_kinds_are_refused) {
    char first[] = "a", second[] = "b";
    static const double losses[] = {1, 0.5};
    struct loss_curve curves[2] = {make_curve(first, losses, 2), make_curve(second, losses, 2)};
    curves[1].loss = TASK_MSE;
    struct loss_axes axes;
    mha_error error;
    assert_error(loss_axes_of(&axes, curves, 2, &error), &error, "a and b do not fit on one axis");
    free(curves[0].rows);
    free(curves[1].rows);
}
END_TEST

TCase *plot_axes_case(void) {
    TCase *axes = tcase_create("axes");
    tcase_add_checked_fixture(axes, plot_setup, plot_teardown);
    tcase_add_test(axes, test_ranges);
    tcase_add_test(axes, test_narrow_ranges);
    tcase_add_test(axes, test_narrow_steps);
    tcase_add_test(axes, test_degenerate_losses_give_pictures);
    tcase_add_test(axes, test_losses_of_two_kinds_are_refused);
    return axes;
}
