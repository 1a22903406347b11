/* Pictures in the terminal. */
#include "check_plot.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

/* In the terminal: plain characters, no form feed, no escape sequence into a file. */
START_TEST(test_curves_in_the_terminal) {
    char first[] = "runs/a_1", second[] = "runs/b";
    struct loss_curve curves[2] = {make_curve(first, (const double[]){2, 1.5, 1.2, 1}, 4),
        make_curve(second, (const double[]){2.5, 1.9, 1.8, 1.7}, 4)};
    int file = open(folder_path("text"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    ck_assert(file >= 0 && kept >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    mha_error error;
    const struct picture_options options = {NULL, NULL};
    mha_status status = draw_curves(curves, 2, &options, &error);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    char *text = read_text("text");
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

static void assert_printed(
    const struct attention_maps *maps, size_t width, bool utf8, const char *wanted) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    maps_print(out, maps, width, utf8);
    fclose(out);
    const char *below_heading = strchr(strchr(text, '\n') + 1, '\n') + 1;
    ck_assert_str_eq(below_heading, wanted);
    free(text);
}

START_TEST(test_numbers_in_the_terminal) {
    static const mha_real weights[] = {0, 0, 1, 1, 0, 0, NAN, 0.25F, 0.75F, 0.125F, 0.5F, 0.375F};
    static const unsigned char blocked[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct attention_maps maps = make_maps(2, 2, 3, weights);
    maps.blocked = blocked;
    assert_printed(&maps, 80, false,
        "\n   head 0               head 1\n"
        "q0     .    . 1.00   q0     ? 0.25 0.75\n"
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
    static const mha_real weights[] = {0, 0.2F, 0.45F, 0.65F, 0.85F, 1, 0.1F, NAN};
    struct attention_maps maps = make_maps(1, 2, 4, weights);
    for (size_t i = 0; i < 4; i++) {
        snprintf(maps.key_labels[i], MAP_LABEL_SIZE, "%c", (int)('a' + i));
    }
    assert_printed(&maps, 16, true,
        "\n   head 0\n"
        "q0   \u2591\u2591\u2592\u2592\u2593\u2593\n"
        "q1 \u2588\u2588\u2588\u2588   ?\n"
        "   a b c d \n");
    assert_printed(&maps, 16, false,
        "\n   head 0\n"
        "q0  0 2 4 6\n"
        "q1  8 9 1 ?\n"
        "   a b c d \n");
    free_maps(&maps);
}
END_TEST

TCase *plot_text_case(void) {
    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, plot_setup, plot_teardown);
    tcase_add_test(text, test_curves_in_the_terminal);
    tcase_add_test(text, test_numbers_in_the_terminal);
    tcase_add_test(text, test_shades_in_the_terminal);
    return text;
}
