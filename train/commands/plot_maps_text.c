/* Attention maps as text in a terminal. */
#include <string.h>

#include "plot_maps.h"

enum { NUMBER_CELLS = 64 }; /* larger maps are drawn in shades */
enum { NAME_SIZE = 48, GAP = 3 /* columns between maps */ };

struct text_style {
    size_t cell_width; /* columns of a cell */
    size_t label_width;
    size_t map_width; /* columns of a map with its labels */
    size_t step;      /* columns from a map to the next one */
    bool numbers, utf8;
};

/* Shades of weights, the last one that the weight reaches; below the first it is blank. */
struct shade {
    double least;
    const char *shown;
};
static const struct shade utf8_shades[] = {
    {0.02, "\u2591"}, {0.15, "\u2592"}, {0.4, "\u2593"}, {0.7, "\u2588"}};
static const struct shade ascii_shades[] = {{0.02, "."}, {0.1, "1"}, {0.15, "2"}, {0.25, "3"},
    {0.35, "4"}, {0.45, "5"}, {0.55, "6"}, {0.65, "7"}, {0.75, "8"}, {0.85, "9"}};

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

/* A paragraph of lines of at most `width` columns, broken at spaces, or in a word that is longer. */
static void print_wrapped(FILE *out, const char *text, size_t width) {
    size_t used = 0;
    while (*text != '\0') {
        size_t spaces = strspn(text, " "), size = strcspn(text + spaces, " "), length = 0;
        for (const char *c = text + spaces; c < text + spaces + size; length++) {
            size_t bytes = character_size(c);
            c += bytes > 0 ? bytes : 1;
        }
        bool breaks = used > 0 && used + spaces + length > width;
        fprintf(out, "%*s", breaks ? 0 : (int)spaces, "");
        used = breaks ? width : used + spaces;
        for (text += spaces; size > 0;) {
            size_t bytes = character_size(text);
            if (used >= width && used > 0) {
                fputc('\n', out);
                used = 0;
            }
            fwrite(bytes > 0 ? text : "?", 1, bytes > 0 ? bytes : 1, out);
            bytes = bytes > 0 ? bytes : 1;
            text += bytes;
            size -= bytes;
            used++;
        }
    }
    fputc('\n', out);
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
    if (maps->queries * maps->keys <= NUMBER_CELLS &&
        labels + 1 + number_width * maps->keys <= width) {
        style.numbers = true;
        style.cell_width = number_width;
    } else if (labels + 1 + 2 * maps->keys > width) {
        style.cell_width = 1;
    }
    char name[NAME_SIZE];
    map_name(name, sizeof name, maps, maps->heads - 1);
    size_t cells = style.cell_width * maps->keys, name_width = text_length(name);
    style.map_width = labels + 1 + cells;
    style.step = labels + 1 + (cells > name_width ? cells : name_width) + GAP;
    return style;
}

static const char *shade_of(double weight, bool utf8) {
    const struct shade *shades = utf8 ? utf8_shades : ascii_shades;
    size_t count = utf8 ? sizeof utf8_shades / sizeof *utf8_shades
                        : sizeof ascii_shades / sizeof *ascii_shades;
    const char *shown = " ";
    for (size_t i = 0; i < count && weight >= shades[i].least; i++) {
        shown = shades[i].shown;
    }
    return shown;
}

static const char *blocked_mark(bool utf8) {
    return utf8 ? "\u00b7" : "-";
}

static void print_cell(
    FILE *out, const struct text_style *style, enum cell_kind kind, double weight) {
    if (style->numbers && kind == CELL_WEIGHT) {
        char text[8];
        snprintf(text, sizeof text, "%.2f", weight < 9 ? weight : 9.99);
        print_right(out, text, style->cell_width);
        return;
    }
    const char *shown = kind == CELL_NOT_FINITE ? "?"
                        : kind == CELL_BLOCKED  ? blocked_mark(style->utf8)
                                                : shade_of(weight, style->utf8);
    bool filled = kind == CELL_WEIGHT && style->utf8;
    size_t before = filled ? 0 : style->cell_width - 1;
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

static void print_names(FILE *out, const struct attention_maps *maps,
    const struct text_style *style, size_t first, size_t last, size_t width) {
    char name[NAME_SIZE];
    size_t indent = style->label_width + 1;
    map_name(name, sizeof name, maps, first);
    if (last == first + 1 && indent + text_length(name) > width) {
        print_wrapped(out, name, width);
        return;
    }
    for (size_t head = first; head < last; head++) {
        map_name(name, sizeof name, maps, head);
        fprintf(out, "%*s", (int)indent, "");
        print_left(out, name, head + 1 < last ? style->step - indent : 0);
    }
    fputc('\n', out);
}

/* A line of maps side by side, `first` to `last` - 1. */
static void print_band(FILE *out, const struct attention_maps *maps, const struct text_style *style,
    size_t first, size_t last, size_t width) {
    int gap = (int)(style->step - style->map_width);
    print_names(out, maps, style, first, last, width);
    for (size_t t = 0; t < maps->queries; t++) {
        for (size_t head = first; head < last; head++) {
            print_row(out, maps, style, head, t);
            fprintf(out, "%*s", head + 1 < last ? gap : 0, "");
        }
        fputc('\n', out);
    }
    for (size_t head = first; head < last; head++) {
        print_key_labels(out, maps, style);
        fprintf(out, "%*s", head + 1 < last ? gap : 0, "");
    }
    fputc('\n', out);
}

static bool has_cell(const struct attention_maps *maps, enum cell_kind kind) {
    for (size_t head = 0; head < maps->heads; head++) {
        for (size_t t = 0; t < maps->queries; t++) {
            for (size_t s = 0; s < maps->keys; s++) {
                double weight;
                if (map_cell(&weight, maps, head, t, s) == kind) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* What the map is of, and what its signs mean. */
static void print_heading(
    FILE *out, const struct attention_maps *maps, const struct text_style *style, size_t width) {
    char signs[128];
    bool blocked = has_cell(maps, CELL_BLOCKED), not_finite = has_cell(maps, CELL_NOT_FINITE);
    print_wrapped(out, maps->title, width);
    snprintf(signs, sizeof signs, "rows are queries, columns are keys%s%s%s%s", blocked ? "; " : "",
        blocked ? blocked_mark(style->utf8) : "", blocked ? " blocked by the mask" : "",
        not_finite ? "; ? not finite" : "");
    print_wrapped(out, signs, width);
    if (!style->numbers) {
        print_wrapped(out,
            style->utf8 ? "weights: blank below 0.02, \u2591 below 0.15, \u2592 below 0.4, "
                          "\u2593 below 0.7, \u2588 above"
                        : "weights: blank below 0.02, . below 0.1, then 1 to 9: tenths, rounded",
            width);
    }
}

mha_status maps_check_width(
    const struct attention_maps *maps, size_t width, bool utf8, mha_error *error) {
    const size_t needed = choose_style(maps, width, utf8).map_width;
    return needed <= width
               ? MHA_OK
               : mha_fail(error, MHA_ERROR_SIZE,
                     "a map of %zu keys needs %zu columns, there are %zu; draw a picture with -o",
                     maps->keys, needed, width);
}

void maps_print(FILE *out, const struct attention_maps *maps, size_t width, bool utf8) {
    struct text_style style = choose_style(maps, width, utf8);
    print_heading(out, maps, &style, width);
    size_t beside = (width + GAP) / style.step;
    beside = beside > 0 ? beside : 1;
    for (size_t first = 0; first < maps->heads; first += beside) {
        size_t last = first + beside < maps->heads ? first + beside : maps->heads;
        fputc('\n', out);
        print_band(out, maps, &style, first, last, width);
    }
}
