/* Attention maps as text in a terminal. */
#include <string.h>

#include "plot_maps.h"

enum { NUMBER_CELLS = 64 }; /* larger maps are drawn in shades */

struct text_style {
    size_t cell_width; /* columns of a cell */
    size_t label_width;
    size_t map_width; /* columns of a map with its labels and the gap behind it */
    bool numbers, utf8;
};

/* Text in at least `width` columns, right-aligned, without anything that a terminal would obey. */
static void print_right(FILE *out, const char *text, size_t width) {
    for (size_t length = text_length(text); length < width; length++) {
        fputc(' ', out);
    }
    while (*text != '\0') {
        size_t size = character_size(text);
        fwrite(size > 0 ? text : "?", 1, size > 0 ? size : 1, out);
        text += size > 0 ? size : 1;
    }
}

static void print_left(FILE *out, const char *text, size_t width) {
    print_right(out, text, 0);
    fprintf(out, "%*s", (int)(width > text_length(text) ? width - text_length(text) : 0), "");
}

static size_t longest(char (*labels)[MAP_LABEL_SIZE], size_t count) {
    size_t width = 1;
    for (size_t i = 0; i < count; i++) {
        size_t length = text_length(labels[i]);
        width = length > width ? length : width;
    }
    return width;
}

static struct text_style choose_style(const struct attention_maps *maps, size_t width, bool utf8) {
    size_t labels = longest(maps->query_labels, maps->queries);
    size_t keys = longest(maps->key_labels, maps->keys);
    size_t number_width = keys > 4 ? keys + 1 : 5;
    struct text_style style = {.cell_width = 2, .label_width = labels, .utf8 = utf8};
    if (maps->queries * maps->keys <= NUMBER_CELLS && labels + number_width * maps->keys <= width) {
        style.numbers = true;
        style.cell_width = number_width;
    } else if (labels + 1 + 2 * maps->keys > width) {
        style.cell_width = 1;
    }
    style.map_width = labels + 1 + style.cell_width * maps->keys + 3;
    return style;
}

static void print_cell(
    FILE *out, const struct text_style *style, enum cell_kind kind, double weight) {
    static const char *const shades[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
    char text[8];
    if (style->numbers && kind == CELL_WEIGHT) {
        snprintf(text, sizeof text, "%.2f", weight < 9 ? weight : 9.99);
        print_right(out, text, style->cell_width);
        return;
    }
    int level = !(weight > 0) ? 0 : weight >= 1 ? 9 : (int)(weight * 10);
    snprintf(text, sizeof text, "%d", level);
    bool shaded = kind == CELL_WEIGHT && style->utf8;
    const char *shown = kind == CELL_NOT_FINITE ? "?"
                        : kind == CELL_BLOCKED  ? (style->utf8 ? "\u00b7" : ".")
                        : shaded                ? shades[level / 2]
                                                : text;
    size_t before = shaded || style->cell_width == 1 ? 0 : style->cell_width - 1;
    fprintf(out, "%*s", (int)before, "");
    for (size_t i = before; i < style->cell_width; i++) {
        fputs(shown, out);
    }
}

static void print_row(FILE *out, const struct attention_maps *maps, const struct text_style *style,
    size_t head, size_t t) {
    print_right(out, maps->query_labels[t], style->label_width);
    fputc(' ', out);
    for (size_t s = 0; s < maps->keys; s++) {
        double weight;
        enum cell_kind kind = map_cell(&weight, maps, head, t, s);
        print_cell(out, style, kind, weight);
    }
}

/* The labels below the columns; where they are longer than a cell, every n-th. */
static void print_key_labels(
    FILE *out, const struct attention_maps *maps, const struct text_style *style) {
    size_t longest_label = longest(maps->key_labels, maps->keys);
    size_t step = 1;
    while (
        step * style->cell_width < longest_label + (style->cell_width > 1 || longest_label > 1)) {
        step++;
    }
    fprintf(out, "%*s", (int)style->label_width + 1, "");
    size_t used = 0;
    for (size_t s = 0; s < maps->keys; s += step) {
        size_t width = (s + step <= maps->keys ? step : maps->keys - s) * style->cell_width;
        if (style->numbers) {
            print_right(out, maps->key_labels[s], width);
        } else {
            print_left(out, maps->key_labels[s], width);
        }
        used += width;
    }
    fprintf(out, "%*s", (int)(maps->keys * style->cell_width - used), "");
}

/* A line of maps side by side, `first` to `last` - 1. */
static void print_band(FILE *out, const struct attention_maps *maps, const struct text_style *style,
    size_t first, size_t last) {
    for (size_t head = first; head < last; head++) {
        char name[48];
        map_name(name, sizeof name, maps, head);
        fprintf(out, "%*s", (int)style->label_width + 1, "");
        if (head + 1 < last) {
            print_left(out, name, style->map_width - style->label_width - 1);
        } else {
            print_left(out, name, 0);
        }
    }
    fputc('\n', out);
    for (size_t t = 0; t < maps->queries; t++) {
        for (size_t head = first; head < last; head++) {
            print_row(out, maps, style, head, t);
            fputs(head + 1 < last ? "   " : "\n", out);
        }
    }
    for (size_t head = first; head < last; head++) {
        print_key_labels(out, maps, style);
        fputs(head + 1 < last ? "   " : "\n", out);
    }
}

void maps_print(FILE *out, const struct attention_maps *maps, size_t width, bool utf8) {
    struct text_style style = choose_style(maps, width, utf8);
    print_left(out, maps->title, 0);
    fprintf(out, "\nrows are queries, columns are keys; %s, %s blocked by the mask, ? not finite\n",
        style.numbers ? "attention weights"
        : utf8        ? "weights from 0 (blank) to 1 (\u2588)"
                      : "weights in tenths (9 up to 1)",
        utf8 ? "\u00b7" : ".");
    size_t beside = (width + 3) / style.map_width;
    beside = beside > 0 ? beside : 1;
    for (size_t first = 0; first < maps->heads; first += beside) {
        size_t last = first + beside < maps->heads ? first + beside : maps->heads;
        fputc('\n', out);
        print_band(out, maps, &style, first, last);
    }
}
