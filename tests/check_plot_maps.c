/* Attention maps: orientation, colours, degenerate sizes, labels, and the form in the terminal. */
#include "check_plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/plot_maps.h"
#include "folder.h"

enum { MOST_CELLS = 4096 };

/* A filled rectangle of the picture: its colour and corners. */
struct filled_cell {
    int red, green, blue;
    double left, right, top, bottom;
};

static struct filled_cell cells[MOST_CELLS];

/* The rectangles of the maps, in the order they were drawn, without the colour scale: all are as
 * large as the first one. */
static size_t find_cells(const char *svg) {
    size_t count = 0;
    for (const char *at = svg; (at = strstr(at, "<polygon fill = 'rgb(")) != NULL; at++) {
        struct filled_cell cell;
        double x[4], y[4];
        int found = sscanf(at,
            "<polygon fill = 'rgb(%d, %d, %d)' points = '%lf,%lf %lf,%lf %lf,%lf %lf,%lf '/>",
            &cell.red, &cell.green, &cell.blue, &x[0], &y[0], &x[1], &y[1], &x[2], &y[2], &x[3],
            &y[3]);
        if (found != 11) {
            continue;
        }
        cell.left = fmin(x[0], x[2]);
        cell.right = fmax(x[0], x[2]);
        cell.top = fmin(y[0], y[2]);
        cell.bottom = fmax(y[0], y[2]);
        bool same_size =
            count == 0 || (fabs(cell.right - cell.left - cells[0].right + cells[0].left) < 0.1 &&
                              fabs(cell.bottom - cell.top - cells[0].bottom + cells[0].top) < 0.1);
        if (same_size) {
            ck_assert_uint_lt(count, MOST_CELLS);
            cells[count++] = cell;
        }
    }
    return count;
}

static double lightness(const struct filled_cell *cell) {
    return (0.3 * cell->red + 0.6 * cell->green + 0.1 * cell->blue) / 255;
}

static char *draw_maps(const struct attention_maps *maps) {
    mha_error error;
    struct script variables;
    struct picture_size size;
    const struct picture_options options = {folder_path("heads.svg"), NULL};
    ck_assert_int_eq(maps_check(maps, &error), MHA_OK);
    ck_assert_int_eq(script_open(&variables, &error), MHA_OK);
    maps_variables(variables.stream, &size, maps);
    ck_assert_int_eq(script_close(&variables, &error), MHA_OK);
    mha_status status = picture_draw(&options, &size, "heads.gp", &variables, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    script_free(&variables);
    return read_text("heads.svg");
}

/* The place of the first text like this. */
static void find_text(double *x, double *y, const char *svg, const char *text) {
    char element[64];
    snprintf(element, sizeof element, "<text>%s</text>", text);
    const char *found = strstr(svg, element), *place = NULL;
    ck_assert_msg(found != NULL, "no text %s", text);
    for (const char *at = svg; (at = strstr(at, "translate(")) != NULL && at < found; at++) {
        place = at;
    }
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(sscanf(place, "translate(%lf,%lf)", x, y), 2);
}

/* BR-42: rows are queries from top to bottom, columns are keys from left to right. */
START_TEST(test_orientation) {
    static const mha_real weights[] = {0, 0, 1, 1, 0, 0};
    struct attention_maps maps = make_maps(1, 2, 3, weights);
    char *svg = draw_maps(&maps);
    ck_assert_uint_eq(find_cells(svg), 6);
    double label_x, label_y;
    for (size_t i = 0; i < 6; i++) {
        size_t column = 0, row = 0;
        for (size_t other = 0; other < 6; other++) {
            column += cells[other].left < cells[i].left - 1;
            row += cells[other].top < cells[i].top - 1;
        }
        ck_assert(column % 2 == 0 && row % 3 == 0); /* two cells a column, three a row */
        column /= 2;
        row /= 3;
        bool bright = (row == 0 && column == 2) || (row == 1 && column == 0);
        ck_assert_msg((lightness(&cells[i]) > 0.5) == bright, "row %zu column %zu", row, column);
        char label[32];
        snprintf(label, sizeof label, "k%zu", column);
        find_text(&label_x, &label_y, svg, label);
        ck_assert(label_x > cells[i].left && label_x < cells[i].right && label_y > cells[i].bottom);
        snprintf(label, sizeof label, "q%zu", row);
        find_text(&label_x, &label_y, svg, label);
        ck_assert(label_y > cells[i].top && label_y < cells[i].bottom && label_x < cells[i].left);
    }
    find_text(&label_x, &label_y, svg, "query");
    find_text(&label_x, &label_y, svg, "key");
    find_text(&label_x, &label_y, svg, "attention weight");
    find_text(&label_x, &label_y, svg, maps.title);
    free(svg);
    free_maps(&maps);
}
END_TEST

/* BR-41: every cell is visible, whatever the size of the map. */
START_TEST(test_every_cell_is_visible) {
    static const size_t sizes[][3] = {{1, 1, 3}, {1, 3, 1}, {1, 1, 1}, {1, 2, 2}, {16, 12, 12},
        {3, 1, 40}, {1, 60, 2}, {17, 2, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t count = sizes[i][0] * sizes[i][1] * sizes[i][2];
        mha_real *weights = calloc(count, sizeof *weights);
        ck_assert_ptr_nonnull(weights);
        for (size_t w = 0; w < count; w++) {
            weights[w] = (mha_real)(w % 11) / 10;
        }
        struct attention_maps maps = make_maps(sizes[i][0], sizes[i][1], sizes[i][2], weights);
        char *svg = draw_maps(&maps);
        ck_assert_uint_eq(find_cells(svg), count);
        for (size_t w = 0; w < count; w++) {
            ck_assert_double_gt(cells[w].right - cells[w].left, 2);
            ck_assert_double_gt(cells[w].bottom - cells[w].top, 2);
            /* The scale is 0 to 1 and lightness rises along it. */
            size_t lighter = w % 11 == 10 ? w : w + 1;
            if (lighter > w && lighter < count) {
                ck_assert_double_gt(lightness(&cells[lighter]), lightness(&cells[w]));
            }
        }
        free(svg);
        free_maps(&maps);
        free(weights);
    }
}
END_TEST

START_TEST(test_scale_does_not_follow_the_weights) {
    static const mha_real equal[] = {0.25F, 0.25F, 0.25F, 0.25F}, zero[] = {0, 0, 0, 0},
                          one[] = {1, 1, 1, 1};
    static const mha_real *const maps_of[] = {zero, equal, one};
    int colour[3];
    for (size_t i = 0; i < 3; i++) {
        struct attention_maps maps = make_maps(1, 2, 2, maps_of[i]);
        char *svg = draw_maps(&maps);
        ck_assert_uint_eq(find_cells(svg), 4);
        colour[i] = cells[0].red * 1000000 + cells[0].green * 1000 + cells[0].blue;
        for (size_t w = 1; w < 4; w++) {
            ck_assert_int_eq(
                cells[w].red * 1000000 + cells[w].green * 1000 + cells[w].blue, colour[i]);
        }
        free(svg);
        free_maps(&maps);
    }
    ck_assert_int_eq(colour[0], 68001084); /* the ends of the palette in heads.gp */
    ck_assert_int_eq(colour[2], 253231037);
    /* A quarter stands half way: between the colours 4 and 5 of 9. */
    ck_assert_int_le(abs(colour[1] / 1000000 - (38 + 31) / 2), 3);
    ck_assert_int_le(abs(colour[1] / 1000 % 1000 - (130 + 158) / 2), 3);
    ck_assert_int_le(abs(colour[1] % 1000 - (142 + 137) / 2), 3);
}
END_TEST

/* Weights that are spread over 16 keys differ from zero, and the scale names the weights. */
START_TEST(test_small_weights_are_seen) {
    static const mha_real weights[] = {0, 1 / (mha_real)64, 1 / (mha_real)16, 1};
    struct attention_maps maps = make_maps(1, 2, 2, weights);
    char *svg = draw_maps(&maps);
    ck_assert_uint_eq(find_cells(svg), 4);
    ck_assert_double_gt(lightness(&cells[1]), lightness(&cells[0]) + 0.08);
    ck_assert_double_gt(lightness(&cells[2]), lightness(&cells[1]) + 0.08);
    static const char *const texts[] = {"0", "0.05", "0.25", "0.5", "1"};
    double x, y, y_before = 1e9;
    for (size_t i = 0; i < 5; i++) {
        find_text(&x, &y, svg, texts[i]);
        ck_assert_double_lt(y, y_before);
        y_before = y;
    }
    find_text(&x, &y, svg, "(colours by square root)");
    free(svg);
    free_maps(&maps);
}
END_TEST

/* A weight that is no number is a white cell with a cross. */
START_TEST(test_not_finite) {
    static const mha_real weights[] = {0.5F, 0.5F, NAN, INFINITY, 1, 0};
    struct attention_maps maps = make_maps(1, 3, 2, weights);
    char *svg = draw_maps(&maps);
    ck_assert_uint_eq(find_cells(svg), 6);
    size_t white = 0;
    for (size_t i = 0; i < 6; i++) {
        white += cells[i].red == 255 && cells[i].green == 255 && cells[i].blue == 255;
    }
    ck_assert_uint_eq(white, 2);
    ck_assert_uint_eq(count_of(svg, "<use xlink:href='#gpPt1'"), 2);
    ck_assert_ptr_nonnull(strstr(svg, "not a finite number"));
    free(svg);
    free_maps(&maps);
}
END_TEST

START_TEST(test_blocked_pairs_are_marked) {
    static const mha_real weights[] = {1, 0, 0.5F, 0.5F};
    static const unsigned char blocked[] = {0, 1, 0, 0};
    struct attention_maps maps = make_maps(1, 2, 2, weights);
    maps.blocked = blocked;
    char *svg = draw_maps(&maps);
    ck_assert_uint_eq(find_cells(svg), 4);
    ck_assert_uint_eq(count_of(svg, "<use xlink:href='#gpPt6'"), 1);
    ck_assert_ptr_nonnull(strstr(svg, "blocked by the mask"));
    free(svg);
    free_maps(&maps);
}
END_TEST

/* Labels are texts, '%' included; heads are named one by one unless they were averaged. */
START_TEST(test_labels_and_names) {
    static const mha_real weights[] = {1, 0, 0, 1, 0, 1, 1, 0};
    struct attention_maps maps = make_maps(2, 2, 2, weights);
    snprintf(maps.query_labels[0], MAP_LABEL_SIZE, "%%");
    snprintf(maps.query_labels[1], MAP_LABEL_SIZE, "a_{b}^'`x`");
    snprintf(maps.key_labels[0], MAP_LABEL_SIZE, "100%%s%%n");
    char *svg = draw_maps(&maps);
    static const char *const texts[] = {
        "<text>%</text>", "<text>a_{b}^'`x`</text>", "<text>100%s%n</text>"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(count_of(svg, texts[i]), 2);
    }
    ck_assert_uint_eq(count_of(svg, "<text>head 0</text>"), 1);
    ck_assert_uint_eq(count_of(svg, "<text>head 1</text>"), 1);
    free(svg);
    mha_real mean[4];
    maps_average(mean, weights, 2, 2, 2);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(mean[i] == (mha_real)0.5);
    }
    maps.weights = mean;
    maps.averaged = 2;
    maps.heads = 1;
    svg = draw_maps(&maps);
    ck_assert_uint_eq(count_of(svg, "<text>mean of 2 heads</text>"), 1);
    ck_assert_uint_eq(count_of(svg, "<text>head 0</text>"), 0);
    free(svg);
    free_maps(&maps);
}
END_TEST

START_TEST(test_too_large_or_empty) {
    static const size_t sizes[][3] = {{1, 1025, 1}, {1, 1, 1025}, {1, 1024, 1024}, {131073, 1, 1},
        {SIZE_MAX, 2, 3}, {1, 0, 1}, {2, 1, 0}};
    static const char *const texts[] = {
        "1025 queries are too many for a map, which holds at most 1024",
        "1025 keys are too many for a map, which holds at most 1024",
        "1 head of 1024 queries and 1024 keys: 1048576 cells are too many for a page",
        "131073 heads of 1 query and 1 key: 131073 cells",
        "heads of 2 queries and 3 keys: more than ",
        "nothing to draw: 1 head of 0 queries and 1 key", "2 heads of 1 query and 0 keys"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct attention_maps maps = {
            .heads = sizes[i][0], .queries = sizes[i][1], .keys = sizes[i][2]};
        mha_error error;
        assert_error(maps_check(&maps, &error), &error, texts[i]);
    }
}
END_TEST

TCase *plot_maps_case(void) {
    TCase *maps = tcase_create("maps");
    tcase_add_checked_fixture(maps, plot_setup, plot_teardown);
    tcase_add_test(maps, test_orientation);
    tcase_add_test(maps, test_every_cell_is_visible);
    tcase_add_test(maps, test_scale_does_not_follow_the_weights);
    tcase_add_test(maps, test_small_weights_are_seen);
    tcase_add_test(maps, test_not_finite);
    tcase_add_test(maps, test_blocked_pairs_are_marked);
    tcase_add_test(maps, test_labels_and_names);
    tcase_add_test(maps, test_too_large_or_empty);
    return maps;
}
