/* The layout of attention maps on a page, in pixels. */
#include "plot_maps.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

enum {
    LARGEST_SIDE = 1024,    /* queries or keys of a map */
    LARGEST_CELLS = 1 << 17 /* of all maps */
};

/* "2 heads of 1 query and 3 keys" */
static void describe(char *text, size_t size, const struct attention_maps *maps) {
    snprintf(text, size, "%zu head%s of %zu %s and %zu key%s", maps->heads,
        maps->heads == 1 ? "" : "s", maps->queries, maps->queries == 1 ? "query" : "queries",
        maps->keys, maps->keys == 1 ? "" : "s");
}

mha_status maps_check(const struct attention_maps *maps, mha_error *error) {
    char what[128];
    describe(what, sizeof what, maps);
    if (maps->queries == 0 || maps->keys == 0 || maps->heads == 0) {
        return mha_fail(error, MHA_ERROR_SIZE, "nothing to draw: %s", what);
    }
    if (maps->queries > LARGEST_SIDE || maps->keys > LARGEST_SIDE) {
        bool queries = maps->queries > LARGEST_SIDE;
        return mha_fail(error, MHA_ERROR_SIZE,
            "%zu %s are too many for a map, which holds at most %d",
            queries ? maps->queries : maps->keys, queries ? "queries" : "keys", (int)LARGEST_SIDE);
    }
    size_t cells = maps->queries * maps->keys;
    if (maps->heads > LARGEST_CELLS / cells) {
        bool fits = maps->heads <= SIZE_MAX / cells;
        return mha_fail(error, MHA_ERROR_SIZE,
            "%s: %s%zu cells are too many for a page, which holds at most %d", what,
            fits ? "" : "more than ", fits ? maps->heads * cells : SIZE_MAX, (int)LARGEST_CELLS);
    }
    return MHA_OK;
}

void maps_average(
    mha_real *mean, const mha_real *weights, size_t heads, size_t queries, size_t keys) {
    size_t count = queries * keys;
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t head = 0; head < heads; head++) {
            sum += (double)weights[head * count + i];
        }
        mean[i] = (mha_real)(sum / (double)heads);
    }
}

void map_name(char *text, size_t size, const struct attention_maps *maps, size_t head) {
    if (maps->averaged > 0) {
        snprintf(text, size, "mean of %zu heads", maps->averaged);
    } else {
        snprintf(text, size, "head %zu", head);
    }
}

enum cell_kind map_cell(
    double *weight, const struct attention_maps *maps, size_t head, size_t t, size_t s) {
    size_t index = (head * maps->queries + t) * maps->keys + s;
    *weight = (double)maps->weights[index];
    if (!isfinite(*weight)) {
        return CELL_NOT_FINITE;
    }
    return maps->blocked != NULL && maps->blocked[index] != 0 ? CELL_BLOCKED : CELL_WEIGHT;
}

struct map_layout {
    size_t cell_width, cell_height, map_width, map_height;
    size_t label_width, label_depth; /* of the labels left of and below a map */
    size_t query_step, key_step;     /* every how many a label fits */
    bool rotated;                    /* key labels run upwards */
    size_t columns, rows, left, top, across_step, down_step;
};

enum {
    LETTER = 8, /* width of a character, at most */
    LINE = 14,  /* height of a line of labels */
    LARGEST_CELL = 56,
    SMALLEST_MARKED = 8, /* cells below are too small for a dot in blocked ones */
    TITLE_LETTER = 9,
    LEGEND = 118 /* the colour scale on the right */
};

static size_t clamp(size_t value, size_t least, size_t most) {
    return value < least ? least : value > most ? most : value;
}

/* Cells are square while that keeps them visible; a map with one long side gets oblong ones. */
static void choose_cells(struct map_layout *layout, const struct attention_maps *maps) {
    size_t side = maps->heads == 1   ? 520
                  : maps->heads == 2 ? 420
                  : maps->heads <= 4 ? 320
                  : maps->heads <= 9 ? 252
                                     : 224;
    size_t width = clamp(side / maps->keys, 1, LARGEST_CELL);
    size_t height = clamp(side / maps->queries, 1, LARGEST_CELL);
    size_t square = width < height ? width : height;
    size_t other = square > 24 ? square : 24;
    layout->cell_width = width < other ? width : other;
    layout->cell_height = height < other ? height : other;
    if (maps->keys > 1 && maps->queries > 1 && width < 4 * height && height < 4 * width) {
        layout->cell_width = layout->cell_height = square;
    }
    layout->map_width = layout->cell_width * maps->keys;
    layout->map_height = layout->cell_height * maps->queries;
}

static size_t longest_label(char (*labels)[MAP_LABEL_SIZE], size_t count) {
    size_t longest = 1;
    for (size_t i = 0; i < count; i++) {
        size_t length = text_length(labels[i]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void choose_labels(struct map_layout *layout, const struct attention_maps *maps) {
    size_t key_length = longest_label(maps->key_labels, maps->keys);
    size_t key_width = key_length * LETTER + 4;
    layout->rotated = key_length > 3 && key_width > layout->cell_width;
    layout->label_depth = layout->rotated ? key_width + 8 : LINE + 8;
    size_t taken = layout->rotated ? LINE : key_length == 1 ? LETTER + 5 : key_width;
    layout->key_step = (taken + layout->cell_width - 1) / layout->cell_width;
    layout->label_width = longest_label(maps->query_labels, maps->queries) * LETTER + 20;
    layout->query_step = (LINE + layout->cell_height - 1) / layout->cell_height;
}

/* As many columns as bring the page near the proportions of a screen and leave few places empty. */
static void choose_columns(struct map_layout *layout, const struct attention_maps *maps) {
    double best = (double)INFINITY;
    for (size_t columns = 1; columns <= maps->heads; columns++) {
        size_t rows = (maps->heads + columns - 1) / columns;
        double width = (double)(columns * layout->across_step + LEGEND);
        double height = (double)(rows * layout->down_step + layout->top);
        double empty = (double)(columns * rows - maps->heads) / (double)maps->heads;
        double badness = fabs(log(width / height / 1.45)) + 5 * empty;
        if (badness < best) {
            best = badness;
            layout->columns = columns;
            layout->rows = rows;
        }
    }
}

static void choose_layout(
    struct map_layout *layout, struct picture_size *size, const struct attention_maps *maps) {
    choose_cells(layout, maps);
    choose_labels(layout, maps);
    layout->top = 84;
    layout->across_step = layout->map_width + layout->label_width + 18;
    if (layout->across_step < layout->label_width + 70) { /* room for the name above a narrow map */
        layout->across_step = layout->label_width + (maps->averaged > 0 ? 140 : 70);
    }
    layout->down_step = layout->map_height + layout->label_depth + 62;
    choose_columns(layout, maps);
    size_t content = 30 + layout->columns * layout->across_step + LEGEND;
    size_t title = text_length(maps->title) * TITLE_LETTER + 40;
    size->width = content > title ? content : title;
    layout->left = 30 + layout->label_width + (size->width - content) / 2;
    size->height = layout->top + layout->rows * layout->down_step + 8;
    if (size->height < 250) { /* the colour scale of a low map */
        size->height = 250;
    }
}

/* gnuplot formats the texts of tics, where '%' is special. */
static void write_labels(
    FILE *stream, const char *name, char (*labels)[MAP_LABEL_SIZE], size_t count, size_t step) {
    script_array(stream, name, count);
    for (size_t i = 0; i < count; i++) {
        char text[2 * MAP_LABEL_SIZE], *end = text;
        for (const char *c = labels[i]; i % step == 0 && *c != '\0'; c++) {
            *end++ = *c;
            if (*c == '%') {
                *end++ = '%';
            }
        }
        *end = '\0';
        script_element(stream, name, i + 1, text);
    }
}

static void write_cells(
    FILE *stream, const struct attention_maps *maps, bool *blocked, bool *not_finite) {
    for (size_t head = 0; head < maps->heads; head++) {
        script_data_begin(stream, "weights", head + 1);
        for (size_t t = 0; t < maps->queries; t++) {
            for (size_t s = 0; s < maps->keys; s++) {
                double weight;
                enum cell_kind kind = map_cell(&weight, maps, head, t, s);
                *blocked |= kind == CELL_BLOCKED;
                *not_finite |= kind == CELL_NOT_FINITE;
                fprintf(stream, "%zu %zu ", s, t);
                script_value(stream, weight);
                fprintf(stream, " %d\n", (int)kind);
            }
        }
        script_data_end(stream);
    }
}

void maps_variables(FILE *stream, struct picture_size *size, const struct attention_maps *maps) {
    struct map_layout layout = {0};
    choose_layout(&layout, size, maps);
    script_text(stream, "title", maps->title);
    fprintf(stream, "panels = %zu\n", maps->heads);
    script_array(stream, "panel_names", maps->heads);
    for (size_t head = 0; head < maps->heads; head++) {
        char name[48];
        map_name(name, sizeof name, maps, head);
        script_element(stream, "panel_names", head + 1, name);
    }
    fprintf(stream, "queries = %zu\nkeys = %zu\n", maps->queries, maps->keys);
    write_labels(stream, "query_labels", maps->query_labels, maps->queries, layout.query_step);
    write_labels(stream, "key_labels", maps->key_labels, maps->keys, layout.key_step);
    fprintf(stream, "rotated = %d\nlabel_depth = %zu\n", layout.rotated, layout.label_depth);
    fprintf(stream, "map_width = %zu\nmap_height = %zu\npanel_columns = %zu\n", layout.map_width,
        layout.map_height, layout.columns);
    fprintf(stream, "left = %zu\ntop = %zu\nacross_step = %zu\ndown_step = %zu\n", layout.left,
        layout.top, layout.across_step, layout.down_step);
    fprintf(stream, "label_width = %zu\n", layout.label_width);
    fprintf(stream, "cell_width = %zu\ncell_height = %zu\n", layout.cell_width, layout.cell_height);
    bool blocked = false, not_finite = false;
    write_cells(stream, maps, &blocked, &not_finite);
    blocked &= layout.cell_width >= SMALLEST_MARKED && layout.cell_height >= SMALLEST_MARKED;
    fprintf(stream, "blocked = %d\nnot_finite = %d\n", blocked, not_finite);
    char note[80] = "";
    snprintf(note, sizeof note, "%s%s%s", blocked ? "\u2022 blocked by the mask" : "",
        blocked && not_finite ? ", " : "", not_finite ? "\u00d7 not a finite number" : "");
    script_text(stream, "note", note);
}
