/* Loss curves: which values are shown, and what stands in the picture. */
#include "check_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/plot_curves.h"
#include "folder.h"

static const double nan_value = (double)NAN;

struct loss_curve make_curve(char *name, const double *losses, size_t count) {
    struct loss_curve curve = {
        name, calloc(count + 1, sizeof(struct log_row)), count, TASK_CROSS_ENTROPY};
    ck_assert_ptr_nonnull(curve.rows);
    for (size_t i = 0; i < count; i++) {
        curve.rows[i] = (struct log_row){
            .step = i, .loss = nan_value, .eval_loss = losses[i], .eval_accuracy = nan_value};
    }
    return curve;
}

mha_status draw_curves(const struct loss_curve *curves, size_t count,
    const struct picture_options *options, mha_error *error) {
    struct loss_axes axes;
    mha_status status = loss_axes_of(&axes, curves, count, error);
    if (status != MHA_OK) {
        return status;
    }
    struct script variables;
    ck_assert_int_eq(script_open(&variables, error), MHA_OK);
    struct picture_size size = {80, 24};
    bool text = options->output == NULL;
    loss_variables(variables.stream, &size, &axes, curves, count, text);
    ck_assert_int_eq(script_close(&variables, error), MHA_OK);
    status = picture_draw(options, &size, text ? "loss_text.gp" : "loss.gp", &variables, error);
    script_free(&variables);
    return status;
}

char *draw_losses(char *name, const double *losses, size_t count) {
    mha_error error;
    struct loss_curve curve = make_curve(name, losses, count);
    const struct picture_options options = {folder_path("loss.svg"), NULL};
    mha_status status = draw_curves(&curve, 1, &options, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    free(curve.rows);
    return read_text("loss.svg");
}

size_t find_marks(double (*places)[2], size_t most, const char *svg) {
    size_t count = 0;
    for (const char *at = svg; (at = strstr(at, "<use xlink:href='#gpPt6'")) != NULL; at++) {
        const char *transform = strstr(at, "translate(");
        ck_assert_ptr_nonnull(transform);
        ck_assert_uint_lt(count, most);
        ck_assert_int_eq(
            sscanf(transform, "translate(%lf,%lf)", &places[count][0], &places[count][1]), 2);
        count++;
    }
    return count;
}

/* BR-39: a gap where the loss is NaN, and later points where they belong. */
START_TEST(test_nan_is_a_gap) {
    char name[] = "run";
    double places[8][2];
    char *svg = draw_losses(name, (const double[]){1, 0.5, nan_value, 0.25}, 4);
    ck_assert_uint_eq(find_marks(places, 8, svg), 3);
    const double left = 85, right = 860; /* of the plot, as loss.gp places it */
    const double steps[] = {0, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(places[i][0], left + (right - left) * steps[i] / 3, 0.5);
    }
    ck_assert_double_lt(places[0][1], places[1][1]);
    ck_assert_double_lt(places[1][1], places[2][1]);
    /* The line goes from the first mark to the second and nowhere else. */
    char line[80];
    snprintf(line, sizeof line, "M%.2f,%.2f L%.2f,%.2f M", places[0][0], places[0][1], places[1][0],
        places[1][1]);
    ck_assert_msg(strstr(svg, line) != NULL, "no line %s", line);
    snprintf(line, sizeof line, "L%.2f,%.2f", places[2][0], places[2][1]);
    ck_assert_msg(strstr(svg, line) == NULL, "a line %s into the gap", line);
    free(svg);
}
END_TEST

START_TEST(test_nothing_to_draw) {
    static const double losses[] = {(double)NAN, (double)NAN, (double)NAN};
    const size_t counts[] = {0, 1, 3};
    const char *const texts[] = {"log of some/run has 0 rows", "has 1 row and no finite loss",
        "has 3 rows and no finite loss"};
    char name[] = "some/run";
    for (size_t i = 0; i < 3; i++) {
        mha_error error;
        struct loss_curve curve = make_curve(name, losses, counts[i]);
        const struct picture_options options = {folder_path("loss.png"), NULL};
        assert_error(draw_curves(&curve, 1, &options, &error), &error, texts[i]);
        free(curve.rows);
    }
    ck_assert_uint_eq(folder_count(), 0);
}
END_TEST

START_TEST(test_one_row_is_a_point) {
    char name[] = "run";
    double places[4][2];
    char *svg = draw_losses(name, (const double[]){0.5}, 1);
    ck_assert_uint_eq(find_marks(places, 4, svg), 1);
    free(svg);
}
END_TEST

/* BR-40: names appear as they are, and nothing in them is executed. */
START_TEST(test_strange_names) {
    ck_assert_int_eq(chdir(folder_path("")), 0);
    char names[][64] = {"exp_1_head_10^2{x}@y&z", "it''s 'q''' \"d\" 100%s \\n",
        "`touch x` $(touch y)", "''.system('touch z').''", "caf\xc3\xa9 \xe2\x9c\x93",
        "line\nbreak\x01 \xff<", "~/a|b!#"};
    static const char *const shown[] = {"exp_1_head_10^2{x}@y&amp;z", "it''s 'q''' \"d\" 100%s \\n",
        "`touch x` $(touch y)", "''.system('touch z').''", "caf\xc3\xa9 \xe2\x9c\x93",
        "line?break? ?&lt;", "~/a|b!#"};
    enum { COUNT = sizeof names / sizeof *names };
    struct loss_curve curves[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        curves[i] = make_curve(names[i], (const double[]){1, 0.5}, 2);
    }
    mha_error error;
    const struct picture_options options = {folder_path("loss.svg"), NULL};
    mha_status status = draw_curves(curves, COUNT, &options, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    char *svg = read_text("loss.svg");
    for (size_t i = 0; i < COUNT; i++) {
        char text[96];
        snprintf(text, sizeof text, "<text>%s</text>", shown[i]);
        ck_assert_msg(strstr(svg, text) != NULL, "no %s", text);
        free(curves[i].rows);
    }
    ck_assert_uint_eq(folder_count(), 1);
    free(svg);
}
END_TEST

START_TEST(test_twenty_runs) {
    char names[20][32];
    struct loss_curve curves[20];
    for (size_t i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "runs/experiment_%zu", i);
        curves[i] = make_curve(names[i], (const double[]){1, 0.5, 0.01}, 3);
    }
    mha_error error;
    const struct picture_options options = {folder_path("loss.svg"), NULL};
    ck_assert_int_eq(draw_curves(curves, 20, &options, &error), MHA_OK);
    char *svg = read_text("loss.svg");
    for (size_t i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "<text>%s</text>", names[i]);
        ck_assert_uint_eq(count_of(svg, text), 1);
        free(curves[i].rows);
    }
    free(svg);
}
END_TEST

START_TEST(test_accuracy_has_a_panel) {
    char name[] = "run";
    struct loss_curve curve = make_curve(name, (const double[]){2, 1.5}, 2);
    curve.rows[0].eval_accuracy = 0.1;
    curve.rows[1].eval_accuracy = 0.9;
    mha_error error;
    const struct picture_options options = {folder_path("loss.svg"), NULL};
    ck_assert_int_eq(draw_curves(&curve, 1, &options, &error), MHA_OK);
    char *svg = read_text("loss.svg");
    double places[8][2];
    ck_assert_uint_eq(find_marks(places, 8, svg), 4);
    /* The panel runs from -3 to 103 percent between the pixels 640 and 450. */
    ck_assert_double_eq_tol(places[2][1], 640 - 190 * 13 / 106.0, 0.5);
    ck_assert_double_eq_tol(places[3][1], 640 - 190 * 93 / 106.0, 0.5);
    static const char *const texts[] = {"held-out accuracy", "loss (nats)", "step", "100 %"};
    for (size_t i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "<text>%s</text>", texts[i]);
        ck_assert_uint_eq(count_of(svg, text), 1);
    }
    free(svg);
    free(curve.rows);
}
END_TEST

/* A log with more rows than pixels keeps its extremes, and the picture stays small. */
START_TEST(test_long_logs_keep_their_extremes) {
    enum { ROWS = 50001, SPIKE = 23456 };
    char name[] = "run";
    double *losses = malloc(ROWS * sizeof *losses);
    ck_assert_ptr_nonnull(losses);
    for (size_t i = 0; i < ROWS; i++) {
        losses[i] = i == SPIKE ? 9 : 4;
    }
    char *svg = draw_losses(name, losses, ROWS);
    const double left = 85, right = 860, top = 52, bottom = 520, margin = 0.06 * (9 - 4);
    const char *line = strstr(svg, "'M85.00,");
    size_t points = 0, spikes = 0;
    double x, y;
    /* The longest path of the picture is the curve. */
    for (const char *at = svg; (at = strstr(at, " d='M85.00,")) != NULL; at++) {
        line = strcspn(at, "/") > strcspn(line, "/") ? at : line;
    }
    for (const char *at = line; (at = strchr(at, 'L')) != NULL && at < line + strcspn(line, "/");
         at++) {
        ck_assert_int_eq(sscanf(at, "L%lf,%lf", &x, &y), 2);
        points++;
        if (y < (top + bottom) / 2) {
            spikes++;
            ck_assert_double_eq_tol(x, left + (right - left) * SPIKE / (ROWS - 1), 1);
            ck_assert_double_eq_tol(y, top + (bottom - top) * margin / (9 + margin), 1);
        }
    }
    ck_assert_uint_eq(spikes, 1);
    ck_assert_uint_le(points, 2000);
    free(svg);
    free(losses);
}
END_TEST

TCase *plot_curves_case(void) {
    TCase *curves = tcase_create("curves");
    tcase_add_checked_fixture(curves, plot_setup, plot_teardown);
    tcase_add_test(curves, test_nan_is_a_gap);
    tcase_add_test(curves, test_nothing_to_draw);
    tcase_add_test(curves, test_one_row_is_a_point);
    tcase_add_test(curves, test_strange_names);
    tcase_add_test(curves, test_twenty_runs);
    tcase_add_test(curves, test_accuracy_has_a_panel);
    tcase_add_test(curves, test_long_logs_keep_their_extremes);
    return curves;
}
