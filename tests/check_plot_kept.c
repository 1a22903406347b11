/* Scripts that are kept. */
#include "check_plot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "gnuplot.h"

/* The script that is kept draws the same picture, and so by itself. */
START_TEST(test_kept_script) {
    char name[] = "a 'run' `touch x`";
    struct loss_curve curve = make_curve(name, (const double[]){1, 0.5}, 2);
    mha_error error;
    const struct picture_options options = {folder_path("it's.svg"), folder_path("script.gp")};
    ck_assert_int_eq(draw_curves(&curve, 1, &options, &error), MHA_OK);
    ck_assert_uint_eq(folder_count(), 2);
    char *svg = read_text("it's.svg"), *text = read_text("script.gp");
    ck_assert_int_eq(unlink(options.output), 0);
    char *bytes;
    size_t size;
    mha_status status = gnuplot_run(&bytes, &size, text, strlen(text), &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(size, 0);
    ck_assert(folder_holds("it's.svg", svg, strlen(svg)));
    ck_assert_uint_eq(folder_count(), 2);
    free(bytes);
    free(text);
    free(svg);
    free(curve.rows);
}
END_TEST

/* A kept script cannot make gnuplot open a pipe: '|touch x' is a file name. */
START_TEST(test_output_is_no_command) {
    ck_assert_int_eq(chdir(folder_path("")), 0);
    char name[] = "run";
    struct loss_curve curve = make_curve(name, (const double[]){1, 0.5}, 2);
    mha_error error;
    const struct picture_options options = {"|touch x;.svg", "script.gp"};
    ck_assert_int_eq(draw_curves(&curve, 1, &options, &error), MHA_OK);
    char *text = read_text("script.gp"), *bytes;
    size_t size;
    ck_assert_int_eq(gnuplot_run(&bytes, &size, text, strlen(text), &error), MHA_OK);
    ck_assert_int_eq(access("x", F_OK), -1);
    ck_assert_uint_eq(folder_count(), 2);
    free(bytes);
    free(text);
    free(curve.rows);
}
END_TEST

TCase *plot_kept_case(void) {
    TCase *kept = tcase_create("kept");
    tcase_add_checked_fixture(kept, plot_setup, plot_teardown);
    tcase_add_test(kept, test_kept_script);
    tcase_add_test(kept, test_output_is_no_command);
    return kept;
}
