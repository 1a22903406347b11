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

/* The picture comes first: without it no script is left, and it stays where only the script fails. */
START_TEST(test_failures_leave_no_script) {
    char name[] = "run";
    struct loss_curve curve = make_curve(name, (const double[]){1, 0.5}, 2);
    mha_error error;
    struct picture_options options = {folder_path("no/a.png"), folder_path("left.gp")};
    assert_error(draw_curves(&curve, 1, &options, &error), &error, "no/a.png: No such file");
    ck_assert_uint_eq(folder_count(), 0);
    options = (struct picture_options){folder_path("a.svg"), folder_path("no/left.gp")};
    mha_status status = draw_curves(&curve, 1, &options, &error);
    assert_error(status, &error, "no/left.gp: No such file");
    assert_error(status, &error, "the picture is drawn, its script is not kept");
    ck_assert_uint_eq(folder_count(), 1);
    char *svg = read_text("a.svg");
    ck_assert_ptr_nonnull(strstr(svg, "</svg>"));
    free(svg);
    free(curve.rows);
}
END_TEST

START_TEST(test_one_file_under_two_names) {
    ck_assert_int_eq(chdir(folder_path("")), 0);
    ck_assert_int_eq(symlink("nowhere.png", "link.png"), 0);
    ck_assert_int_eq(symlink(folder_path(""), "here"), 0);
    folder_write("old.png", "old", 3);
    ck_assert_int_eq(link("old.png", "hard.gp"), 0);
    const char *const pairs[][2] = {{"a.png", "a.png"}, {"./a.png", "a.png"},
        {"a.png", folder_path("a.png")}, {"here/a.png", "a.png"}, {"link.png", "./nowhere.png"},
        {"nowhere.png", "here/link.png"}, {"old.png", "here/old.png"}, {"old.png", "hard.gp"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct picture_options options = {pairs[i][0], pairs[i][1]};
        enum picture_kind kind;
        mha_error error;
        assert_error(picture_kind_of(&kind, &options, &error), &error, "are one file");
    }
    const char *const others[][2] = {
        {"a.png", "b.png"}, {"a.png", "no/a.png"}, {"old.png", "a.gp"}, {"link.png", "a.png"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct picture_options options = {others[i][0], others[i][1]};
        enum picture_kind kind;
        ck_assert_int_eq(picture_kind_of(&kind, &options, NULL), MHA_OK);
    }
}
END_TEST

/* A script cannot hold a name that is no text, and must not draw into another file. */
START_TEST(test_names_that_are_no_text) {
    const char *const names[] = {"a\xff.png", "\xc3(.svg", "\xed\xa0\x80.pdf", "\xc2\x85.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        enum picture_kind kind;
        mha_error error;
        const struct picture_options kept = {names[i], "s.gp"}, alone = {names[i], NULL};
        assert_error(picture_kind_of(&kind, &kept, &error), &error, "is not UTF-8 text");
        ck_assert_int_eq(picture_kind_of(&kind, &alone, &error), MHA_OK);
    }
}
END_TEST

TCase *plot_kept_case(void) {
    TCase *kept = tcase_create("kept");
    tcase_add_checked_fixture(kept, plot_setup, plot_teardown);
    tcase_add_test(kept, test_kept_script);
    tcase_add_test(kept, test_output_is_no_command);
    tcase_add_test(kept, test_failures_leave_no_script);
    tcase_add_test(kept, test_one_file_under_two_names);
    tcase_add_test(kept, test_names_that_are_no_text);
    return kept;
}
