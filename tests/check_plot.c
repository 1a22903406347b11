/* The scripts of gnuplot, the variables in front of them, and the checks of its pictures. */
#include "suites.h"
#include "check_plot.h"
#include "check_plot_gradcheck.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/plot_picture.h"
#include "folder.h"
#include "gnuplot.h"

static char path_before[4096], folder_before[4096];

void plot_setup(void) {
    const char *path = getenv("PATH");
    snprintf(path_before, sizeof path_before, "%s", path != NULL ? path : "/bin:/usr/bin");
    ck_assert_ptr_nonnull(getcwd(folder_before, sizeof folder_before));
    folder_make();
}

void plot_teardown(void) {
    setenv("PATH", path_before, 1);
    ck_assert_int_eq(chdir(folder_before), 0);
    folder_remove();
}

char *read_text(const char *name) {
    size_t size;
    unsigned char *bytes = folder_read(&size, name);
    char *text = realloc(bytes, size + 1);
    ck_assert_ptr_nonnull(text);
    text[size] = '\0';
    return text;
}

size_t count_of(const char *text, const char *wanted) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at += strlen(wanted)) {
        count++;
    }
    return count;
}

void assert_error(mha_status status, const mha_error *error, const char *part) {
    ck_assert_int_ne(status, MHA_OK);
    ck_assert_int_eq(status, error->status);
    ck_assert_msg(strstr(error->text, part) != NULL, "'%s' lacks '%s'", error->text, part);
    ck_assert_ptr_null(strchr(error->text, '\n'));
}

struct attention_maps make_maps(
    size_t heads, size_t queries, size_t keys, const mha_real *weights) {
    struct attention_maps maps = {.title = "run_1: task reverse, held-out example 0",
        .heads = heads,
        .queries = queries,
        .keys = keys,
        .weights = weights,
        .query_labels = calloc(queries, MAP_LABEL_SIZE),
        .key_labels = calloc(keys, MAP_LABEL_SIZE)};
    ck_assert(maps.query_labels != NULL && maps.key_labels != NULL);
    for (size_t i = 0; i < queries; i++) {
        snprintf(maps.query_labels[i], MAP_LABEL_SIZE, "q%zu", i);
    }
    for (size_t i = 0; i < keys; i++) {
        snprintf(maps.key_labels[i], MAP_LABEL_SIZE, "k%zu", i);
    }
    return maps;
}

void free_maps(struct attention_maps *maps) {
    free(maps->query_labels);
    free(maps->key_labels);
}

START_TEST(test_scripts_are_built_in) {
    static const char *const names[] = {"terminal.gp", "loss.gp", "loss_text.gp", "heads.gp",
        "bench.gp", "gradcheck.gp", "gradcheck_text.gp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = plot_script(names[i]);
        ck_assert_msg(text != NULL, "no script %s", names[i]);
        ck_assert_int_eq(text[0], '#');
        ck_assert_int_eq(text[strlen(text) - 1], '\n');
    }
    ck_assert_ptr_null(plot_script("nothing.gp"));
}
END_TEST

START_TEST(test_variables) {
    struct script made;
    mha_error error;
    ck_assert_int_eq(script_open(&made, &error), MHA_OK);
    script_text(made.stream, "a", "it's \\ \"q\" `x` @y");
    script_text(made.stream, "b", "1\n2\t3\x7f\xc3\xa9\xc3(\xed\xa0\x80\xc0\x80\xf5");
    script_array(made.stream, "c", 3);
    script_element(made.stream, "c", 2, "'");
    script_number(made.stream, "d", -0.125);
    script_number(made.stream, "e", (double)NAN);
    script_number(made.stream, "f", 123456789012345);
    ck_assert_int_eq(script_close(&made, &error), MHA_OK);
    ck_assert_str_eq(made.text, "a = 'it' . \"'\" . 's \\ \"q\" `x` @y'\n"
                                "b = '1?2?3?\xc3\xa9?(?"
                                "?????"
                                "'\n"
                                "array c[3]\nc[2] = '' . \"'\" . ''\nd = -0.125\ne = NaN\n"
                                "f = 123456789012345\n");
    script_free(&made);
}
END_TEST

/* Holds in every locale; where a German one is installed, printf itself would write a comma. */
START_TEST(test_decimal_point) {
    setlocale(LC_ALL, "de_DE.UTF-8");
    struct script made;
    mha_error error;
    ck_assert_int_eq(script_open(&made, &error), MHA_OK);
    script_value(made.stream, 1234.5);
    script_value(made.stream, -1e-7);
    ck_assert_int_eq(script_close(&made, &error), MHA_OK);
    setlocale(LC_ALL, "C");
    ck_assert_str_eq(made.text, "1234.5-1e-07");
    script_free(&made);
}
END_TEST

START_TEST(test_endings) {
    static const struct {
        const char *path;
        enum picture_kind kind;
    } good[] = {{NULL, PICTURE_TEXT}, {"a.png", PICTURE_PNG}, {"b/c.d/.svg", PICTURE_SVG},
        {"a.png.pdf", PICTURE_PDF}};
    static const char *const bad[] = {"a", "png", "a.PNG", "a.jpg", "a.png/b", "", "a.svg "};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        enum picture_kind kind;
        mha_error error;
        ck_assert_int_eq(
            picture_kind_of(&kind, &(struct picture_options){good[i].path, NULL}, &error), MHA_OK);
        ck_assert_int_eq(kind, good[i].kind);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum picture_kind kind;
        mha_error error;
        mha_status status = picture_kind_of(&kind, &(struct picture_options){bad[i], NULL}, &error);
        assert_error(status, &error, "does not end in .png, .svg or .pdf");
    }
    enum picture_kind kind;
    mha_error error;
    mha_status status = picture_kind_of(&kind, &(struct picture_options){"a\nb.png", NULL}, &error);
    ck_assert_int_eq(status, MHA_ERROR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "control character"));
}
END_TEST

/* Pictures of all three kinds pass the check, and fail it when they are cut short. */
START_TEST(test_picture_check) {
    static const char *const terminals[] = {
        [PICTURE_PNG] = "pngcairo", [PICTURE_SVG] = "svg", [PICTURE_PDF] = "pdfcairo"};
    for (int kind = PICTURE_PNG; kind <= PICTURE_PDF; kind++) {
        char text[80];
        snprintf(text, sizeof text, "set terminal %s\nplot x\n", terminals[kind]);
        char *bytes;
        size_t size;
        mha_error error;
        ck_assert_int_eq(run_text(&bytes, &size, text, &error), MHA_OK);
        ck_assert_int_eq(picture_check((enum picture_kind)kind, bytes, size, &error), MHA_OK);
        assert_error(
            picture_check((enum picture_kind)kind, bytes, size - 8, &error), &error, "no whole");
        assert_error(picture_check((enum picture_kind)kind, bytes + 1, size - 1, &error), &error,
            "no whole");
        assert_error(picture_check((enum picture_kind)kind, bytes, 0, &error), &error, "0 bytes");
        free(bytes);
    }
}
END_TEST

START_TEST(test_large_scripts_and_pictures) {
    /* More than a pipe holds in both directions at once. */
    enum { LINES = 20000 };
    struct script made;
    mha_error error;
    ck_assert_int_eq(script_open(&made, &error), MHA_OK);
    fputs("set print '-'\n", made.stream);
    for (int i = 0; i < LINES; i++) {
        fprintf(made.stream, "print 'line number %6d'\n", i);
    }
    ck_assert_int_eq(script_close(&made, &error), MHA_OK);
    char *bytes;
    size_t size;
    ck_assert_int_eq(gnuplot_run(&bytes, &size, made.text, made.size, &error), MHA_OK);
    ck_assert_uint_eq(size, LINES * strlen("line number 000000\n"));
    ck_assert_str_eq(bytes + size - 19, "line number  19999\n");
    free(bytes);
    script_free(&made);
}
END_TEST

/* A gnuplot that reports success and draws nothing; what stood at the path stays. */
START_TEST(test_no_picture_replaces_nothing) {
    struct script variables;
    mha_error error;
    ck_assert_int_eq(script_open(&variables, &error), MHA_OK);
    ck_assert_int_eq(script_close(&variables, &error), MHA_OK);
    fake_gnuplot("#!/bin/sh\ncat > /dev/null\necho half a picture\n");
    folder_write("old.png", "old", 3);
    const struct picture_size size = {100, 100};
    const struct picture_options old = {folder_path("old.png"), folder_path("old.gp")},
                                 new = {folder_path("new.svg"), NULL};
    assert_error(picture_draw(&old, &size, "loss.gp", &variables, &error), &error, "15 bytes");
    assert_error(picture_draw(&new, &size, "loss.gp", &variables, &error), &error, "no whole svg");
    script_free(&variables);
    ck_assert(folder_holds("old.png", "old", 3));
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

Suite *plot_suite(void) {
    Suite *suite = suite_create("plot");
    TCase *drawing = tcase_create("gnuplot");
    tcase_add_checked_fixture(drawing, plot_setup, plot_teardown);
    tcase_add_test(drawing, test_scripts_are_built_in);
    tcase_add_test(drawing, test_variables);
    tcase_add_test(drawing, test_decimal_point);
    tcase_add_test(drawing, test_endings);
    tcase_add_test(drawing, test_picture_check);
    tcase_add_test(drawing, test_large_scripts_and_pictures);
    tcase_add_test(drawing, test_no_picture_replaces_nothing);
    suite_add_tcase(suite, drawing);
    suite_add_tcase(suite, plot_process_case());
    suite_add_tcase(suite, plot_signals_case());
    suite_add_tcase(suite, plot_curves_case());
    suite_add_tcase(suite, plot_axes_case());
    suite_add_tcase(suite, plot_kept_case());
    suite_add_tcase(suite, plot_maps_case());
    suite_add_tcase(suite, plot_text_case());
    suite_add_tcase(suite, plot_gradcheck_case());
    return suite;
}
