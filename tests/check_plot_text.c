/* Pictures in the terminal. */
#include "check_plot.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "program.h"

/* What is drawn on standard output, to be freed. */
static char *draw_text(const struct loss_curve *curves, size_t count) {
    int file = open(folder_path("text"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    ck_assert(file >= 0 && kept >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    mha_error error;
    const struct picture_options options = {NULL, NULL};
    mha_status status = draw_curves(curves, count, &options, &error);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    return read_text("text");
}

/* In the terminal: plain characters, no form feed, no escape sequence into a file. */
START_TEST(test_curves_in_the_terminal) {
    char first[] = "runs/a_1", second[] = "runs/b";
    struct loss_curve curves[2] = {make_curve(first, (const double[]){2, 1.5, 1.2, 1}, 4),
        make_curve(second, (const double[]){2.5, 1.9, 1.8, 1.7}, 4)};
    char *text = draw_text(curves, 2);
    ck_assert_ptr_null(strpbrk(text, "\f\x1b\r"));
    static const char *const parts[] = {
        "Loss of 2 runs", "loss (nats)", "*A* runs/a_1", "#B# runs/b\n", "step"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(text, parts[i]) != NULL, "no '%s' in\n%s", parts[i], text);
    }
    ck_assert_uint_ge(count_of(text, "A"), 4);
    free(text);
    free(curves[0].rows);
    free(curves[1].rows);
}
END_TEST

/* gnuplot 5.4 crashes on a lone point without a value. */
START_TEST(test_single_rows_in_the_terminal) {
    const double lost = (double)NAN;
    char first[] = "a", second[] = "b";
    struct loss_curve curves[2] = {
        make_curve(first, (const double[]){2}, 1), make_curve(second, (const double[]){lost}, 1)};
    char *text = draw_text(curves, 1); /* no training loss */
    ck_assert_ptr_nonnull(strchr(text, 'A'));
    ck_assert_ptr_null(strstr(text, "training loss"));
    free(text);
    curves[0].rows[0].eval_accuracy = 0.5;
    text = draw_text(curves, 2); /* a run without loss and accuracy beside one that has them */
    ck_assert_uint_eq(count_of(text, "*A*"), 1);
    free(text);
    curves[1].count = 0;
    text = draw_text(curves, 2);
    ck_assert_uint_eq(count_of(text, "*A*"), 1);
    free(text);
    curves[0].rows[0].eval_loss = lost;
    curves[0].rows[0].loss = 1;
    text = draw_text(curves, 1); /* training loss alone */
    ck_assert_ptr_nonnull(strstr(text, "... training loss"));
    free(text);
    free(curves[0].rows);
    free(curves[1].rows);
}
END_TEST

/* Curves need the settings and the log of a run, not its weights. */
START_TEST(test_weights_are_not_needed) {
    const char *folder = folder_path("");
    struct outcome outcome =
        run_program(folder, WORDS("train", "copy", "--quiet", "--steps", "0", "-o", "run"));
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_free(&outcome);
    ck_assert_int_eq(unlink(folder_path("run/weights.npz")), 0);
    outcome = run_program(folder, WORDS("plot", "loss", "run"));
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_ptr_nonnull(strstr(outcome.out, "Loss of run"));
    outcome_free(&outcome);
}
END_TEST

static void assert_printed(
    const struct attention_maps *maps, size_t width, bool utf8, const char *wanted) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    maps_print(out, maps, width, utf8);
    fclose(out);
    const char *heading_end = strstr(text, "\n\n");
    ck_assert_ptr_nonnull(heading_end);
    ck_assert_str_eq(heading_end + 1, wanted);
    free(text);
}

START_TEST(test_numbers_in_the_terminal) {
    static const mha_real weights[] = {0, 0, 1, 1, 0, 0, NAN, 0.25F, 0.75F, 0.125F, 0.5F, 0.375F};
    static const unsigned char blocked[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct attention_maps maps = make_maps(2, 2, 3, weights);
    maps.blocked = blocked;
    assert_printed(&maps, 80, false,
        "\n   head 0               head 1\n"
        "q0     -    - 1.00   q0     ? 0.25 0.75\n"
        "q1  1.00 0.00 0.00   q1  0.12 0.50 0.38\n"
        "      k0   k1   k2         k0   k1   k2\n");
    assert_printed(&maps, 20, true,
        "\n   head 0\n"
        "q0     \u00b7    \u00b7 1.00\n"
        "q1  1.00 0.00 0.00\n"
        "      k0   k1   k2\n"
        "\n   head 1\n"
        "q0     ? 0.25 0.75\n"
        "q1  0.12 0.50 0.38\n"
        "      k0   k1   k2\n");
    free_maps(&maps);
}
END_TEST

START_TEST(test_shades_in_the_terminal) {
    static const mha_real weights[] = {0.01F, 1 / (mha_real)16, 0.2F, 0.5F, 0.75F, 1, 0.11F, NAN};
    struct attention_maps maps = make_maps(1, 2, 4, weights);
    for (size_t i = 0; i < 4; i++) {
        snprintf(maps.key_labels[i], MAP_LABEL_SIZE, "%c", (int)('a' + i));
    }
    assert_printed(&maps, 16, true,
        "\n   head 0\n"
        "q0   \u2591\u2591\u2592\u2592\u2593\u2593\n"
        "q1 \u2588\u2588\u2588\u2588\u2591\u2591 ?\n"
        "   a b c d \n");
    assert_printed(&maps, 16, false,
        "\n   head 0\n"
        "q0    . 2 5\n"
        "q1  8 9 1 ?\n"
        "   a b c d \n");
    free_maps(&maps);
}
END_TEST

/* The columns of the longest line above the first row of a map. */
static size_t widest_heading(const struct attention_maps *maps, size_t width, bool utf8) {
    char *text = NULL;
    size_t size, widest = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    maps_print(out, maps, width, utf8);
    fclose(out);
    char *end = strstr(text, "\nq0 "), *rest = text;
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        size_t length = text_length(line);
        widest = length > widest ? length : widest;
    }
    free(text);
    return widest;
}

START_TEST(test_headings_fit_the_terminal) {
    enum { KEYS = 40 };
    mha_real weights[2 * KEYS] = {0};
    unsigned char blocked[2 * KEYS] = {1};
    weights[1] = NAN;
    struct attention_maps maps = make_maps(2, 1, KEYS, weights);
    maps.title = "some/folder_with_a_name_longer_than_30_columns: task reverse, example 0";
    maps.blocked = blocked;
    static const size_t widths[] = {200, 80, 39, 20, 7, 1};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        ck_assert_uint_le(widest_heading(&maps, widths[i], true), widths[i]);
        ck_assert_uint_le(widest_heading(&maps, widths[i], false), widths[i]);
    }
    maps.averaged = 16;
    maps.heads = 1;
    ck_assert_uint_le(widest_heading(&maps, 12, true), 12);
    free_maps(&maps);
}
END_TEST

/* Names longer than a map move the next map away. */
START_TEST(test_narrow_maps_keep_their_columns) {
    mha_real weights[101];
    for (size_t i = 0; i < 101; i++) {
        weights[i] = 1;
    }
    struct attention_maps maps = make_maps(101, 1, 1, weights);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    maps_print(out, &maps, 29, true);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "\n   head 98       head 99\nq0  1.00      q0  1.00\n"));
    free(text);
    free_maps(&maps);
}
END_TEST

START_TEST(test_maps_wider_than_the_terminal_are_refused) {
    mha_real weights[600] = {0};
    struct attention_maps maps = make_maps(1, 1, 600, weights);
    mha_error error;
    ck_assert_int_eq(maps_check_width(&maps, 80, true, &error), MHA_ERROR_SIZE);
    ck_assert_str_eq(
        error.text, "a map of 600 keys needs 603 columns, there are 80; draw a picture with -o");
    ck_assert_int_eq(maps_check_width(&maps, 602, true, NULL), MHA_ERROR_SIZE);
    ck_assert_int_eq(maps_check_width(&maps, 603, true, NULL), MHA_OK);
    free_maps(&maps);
}
END_TEST

TCase *plot_text_case(void) {
    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, plot_setup, plot_teardown);
    tcase_add_test(text, test_curves_in_the_terminal);
    tcase_add_test(text, test_single_rows_in_the_terminal);
    tcase_add_test(text, test_weights_are_not_needed);
    tcase_add_test(text, test_numbers_in_the_terminal);
    tcase_add_test(text, test_shades_in_the_terminal);
    tcase_add_test(text, test_headings_fit_the_terminal);
    tcase_add_test(text, test_narrow_maps_keep_their_columns);
    tcase_add_test(text, test_maps_wider_than_the_terminal_are_refused);
    return text;
}
