#include "plot_curves.h"

#include <math.h>
#include <string.h>

enum { MARKS_A_CURVE = 10, NAME_LIMIT = 160, LARGEST_ROWS = 4000, BUCKETS = 1000 };
enum { LEAST_COLUMNS = 40, LEAST_LINES = 12 }; /* of a terminal */

enum { TRAINING_LOSS, HELD_OUT_LOSS, HELD_OUT_ACCURACY, COLUMNS };

static double field(const struct loss_axes *axes, const struct log_row *row, int column) {
    switch (column) {
    case TRAINING_LOSS:
        return shown_loss(axes, row->loss);
    case HELD_OUT_LOSS:
        return shown_loss(axes, row->eval_loss);
    default:
        return 100 * row->eval_accuracy;
    }
}

/* Of a log with more rows than a picture has pixels, each of BUCKETS stretches of rows is drawn as
 * two points: the least of its values where it begins, the largest where it ends. */
static bool is_thinned(const struct loss_curve *curve) {
    return curve->count > LARGEST_ROWS;
}

static size_t point_count(const struct loss_curve *curve) {
    return is_thinned(curve) ? 2 * (size_t)BUCKETS : curve->count;
}

static size_t bucket_start(const struct loss_curve *curve, size_t bucket) {
    return curve->count / BUCKETS * bucket + curve->count % BUCKETS * bucket / BUCKETS;
}

static size_t point_step(const struct loss_curve *curve, size_t i) {
    if (!is_thinned(curve)) {
        return curve->rows[i].step;
    }
    return curve->rows[i % 2 == 0 ? bucket_start(curve, i / 2) : bucket_start(curve, i / 2 + 1) - 1]
        .step;
}

static double point_value(
    const struct loss_axes *axes, const struct loss_curve *curve, size_t i, int column) {
    if (!is_thinned(curve)) {
        return field(axes, &curve->rows[i], column);
    }
    double extreme = (double)NAN;
    for (size_t r = bucket_start(curve, i / 2); r < bucket_start(curve, i / 2 + 1); r++) {
        double value = field(axes, &curve->rows[r], column);
        if (isfinite(value)) {
            extreme = i % 2 == 0 ? fmin(extreme, value) : fmax(extreme, value);
        }
    }
    return extreme;
}

/* A point with a gap on both sides is no line; it is seen by its mark. */
static bool is_isolated(
    const struct loss_axes *axes, const struct loss_curve *curve, size_t i, int column) {
    return (i == 0 || !isfinite(point_value(axes, curve, i - 1, column))) &&
           (i + 1 == point_count(curve) || !isfinite(point_value(axes, curve, i + 1, column)));
}

/* The marks of run c stand elsewhere than those of the run before it. */
static void write_rows(
    FILE *stream, const struct loss_axes *axes, const struct loss_curve *curve, size_t c) {
    size_t count = point_count(curve);
    size_t stride = count / MARKS_A_CURVE + 1;
    size_t phase = c * (stride * 5 / 13 + 1) % stride;
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "%zu", point_step(curve, i));
        for (int column = 0; column < COLUMNS; column++) {
            fputc(' ', stream);
            script_value(stream, point_value(axes, curve, i, column));
        }
        for (int column = 0; column < COLUMNS; column++) {
            bool marked = is_isolated(axes, curve, i, column) ||
                          (column != TRAINING_LOSS && i % stride == phase);
            fputc(' ', stream);
            script_value(stream, marked ? point_value(axes, curve, i, column) : (double)NAN);
        }
        fputc('\n', stream);
    }
    /* gnuplot 5.4 crashes when all that it is to mark with a letter is one row without a value. */
    for (; count < 2; count++) {
        fputs("NaN NaN NaN NaN NaN NaN NaN\n", stream);
    }
}

/* Bytes of the first `count` characters. */
static size_t leading_bytes(const char *text, size_t count) {
    size_t bytes = 0;
    for (; count > 0 && text[bytes] != '\0'; count--) {
        size_t size = character_size(text + bytes);
        bytes += size > 0 ? size : 1;
    }
    return bytes;
}

/* A name that would make the picture too wide loses its middle. */
static void shorten(char *text, size_t size, const char *name, size_t limit) {
    size_t length = text_length(name);
    if (length <= limit) {
        snprintf(text, size, "%s", name);
        return;
    }
    size_t kept = limit / 2 - 2;
    snprintf(text, size, "%.*s...%s", (int)leading_bytes(name, kept), name,
        name + leading_bytes(name, length - kept));
}

enum { NAME_SIZE = 4 * NAME_LIMIT + 8 };

/* The texts of the picture, and the characters of the longest name in the legend and of the title. */
static void write_names(FILE *stream, size_t *longest, size_t *title_length,
    const struct loss_curve *curves, size_t count, size_t limit) {
    char name[NAME_SIZE], title[NAME_SIZE + 16];
    script_array(stream, "names", count);
    *longest = strlen("held-out loss (thick)");
    for (size_t c = 0; c < count; c++) {
        shorten(name, sizeof name, curves[c].name, limit);
        script_element(stream, "names", c + 1, name);
        size_t length = text_length(name);
        *longest = count > 1 && length > *longest ? length : *longest;
    }
    if (count == 1) {
        snprintf(title, sizeof title, "Loss of %s", name);
    } else {
        snprintf(title, sizeof title, "Loss of %zu runs", count);
    }
    *title_length = text_length(title);
    script_text(stream, "title", title);
}

/* Lays the legend out in columns and makes the picture large enough for it. */
static void fit_legend(FILE *stream, struct picture_size *size, const struct loss_axes *axes,
    size_t count, size_t longest, size_t title_length, bool in_terminal) {
    size_t entries = count == 1 ? 2 : in_terminal ? count : count + 2;
    size_t entry_width = in_terminal ? longest + 6 : 8 * longest + 76;
    if (!in_terminal) {
        size_t title_width = 9 * title_length;
        size_t widest = entry_width > title_width ? entry_width : title_width;
        size->width = widest + 40 > 900 ? widest + 40 : 900;
    }
    size_t columns = (size->width - (in_terminal ? 10 : 40)) / entry_width;
    columns = columns == 0 ? 1 : columns < entries ? columns : entries;
    size_t rows = (entries + columns - 1) / columns;
    if (in_terminal) {
        size_t least = rows + (axes->accuracy ? 27 : 19);
        size->height = size->height > least ? size->height : least;
    } else {
        size->height = (axes->accuracy ? 640U : 520U) + 78 + 18 * rows;
    }
    fprintf(stream, "legend_columns = %zu\nlegend_rows = %zu\nlegend_width = %zu\n", columns, rows,
        entry_width);
}

void loss_variables(FILE *stream, struct picture_size *size, const struct loss_axes *axes,
    const struct loss_curve *curves, size_t count, bool in_terminal) {
    size_t longest, title_length;
    if (in_terminal) {
        size->width = size->width < LEAST_COLUMNS ? LEAST_COLUMNS : size->width;
        size->height = size->height < LEAST_LINES ? LEAST_LINES : size->height;
    }
    size_t limit = in_terminal && size->width < NAME_LIMIT + 16 ? size->width - 16 : NAME_LIMIT;
    write_names(stream, &longest, &title_length, curves, count, limit);
    fit_legend(stream, size, axes, count, longest, title_length, in_terminal);
    script_text(stream, "loss_label",
        curves[0].loss == TASK_CROSS_ENTROPY ? "loss (nats)" : "mean squared error");
    script_number(stream, "runs", (double)count);
    script_number(stream, "x_low", axes->x_low);
    script_number(stream, "x_high", axes->x_high);
    script_number(stream, "y_low", axes->y_low);
    script_number(stream, "y_high", axes->y_high);
    script_number(stream, "log_axis", axes->log_axis);
    script_number(stream, "training_loss", axes->training_loss);
    script_number(stream, "accuracy", axes->accuracy);
    for (size_t c = 0; c < count; c++) {
        script_data_begin(stream, "log", c + 1);
        write_rows(stream, axes, &curves[c], c);
        script_data_end(stream);
    }
}
