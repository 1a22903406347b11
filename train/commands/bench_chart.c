#include "bench_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "memory.h"

static bool is_same_shape(const struct bench_shape *a, const struct bench_shape *b) {
    return a->causal == b->causal && a->sizes.batch == b->sizes.batch &&
           a->sizes.target_length == b->sizes.target_length &&
           a->sizes.source_length == b->sizes.source_length && a->sizes.width == b->sizes.width &&
           a->sizes.heads == b->sizes.heads;
}

/* Index of the place or series of a row, which is added when it is new; the limit when it is full. */
static size_t find_place(struct bench_chart *chart, const struct bench_row *row) {
    size_t i = 0;
    while (i < chart->place_count && !(is_same_shape(&chart->places[i].shape, &row->shape) &&
                                         chart->places[i].what == row->what)) {
        i++;
    }
    if (i == chart->place_count && i < CHART_MOST_PLACES) {
        chart->places[chart->place_count++] = (struct chart_place){row->shape, row->what};
    }
    return i;
}

static size_t find_series(struct bench_chart *chart, const struct bench_row *row, size_t file) {
    size_t i = 0;
    while (i < chart->series_count &&
           !(chart->series[i].file == file && chart->series[i].mode == row->mode &&
               chart->series[i].threads == row->threads)) {
        i++;
    }
    if (i == chart->series_count && i < CHART_MOST_SERIES) {
        chart->series[chart->series_count++] = (struct chart_series){file, row->mode, row->threads};
    }
    return i;
}

static mha_status add_row(
    struct bench_chart *chart, const struct bench_row *row, size_t file, mha_error *error) {
    const struct chart_point point = {
        find_place(chart, row), find_series(chart, row, file), row->peak_percent};
    if (point.place == CHART_MOST_PLACES) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "more than %d pairs of shape and what, which is the most that a picture holds",
            (int)CHART_MOST_PLACES);
    }
    if (point.series == CHART_MOST_SERIES) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "more than %d series (file, mode, threads), which is the most that a picture holds",
            (int)CHART_MOST_SERIES);
    }
    chart->points[chart->point_count++] = point;
    chart->highest = fmax(chart->highest, point.percent);
    return MHA_OK;
}

mha_status chart_create(struct bench_chart *chart, const struct bench_table *tables,
    const char *const *names, size_t files, mha_error *error) {
    *chart = (struct bench_chart){.names = names, .files = files, .highest = 100};
    size_t rows = 0;
    bool same = true, same_isa = true;
    for (size_t f = 0; f < files; f++) {
        rows += tables[f].count;
        same = same && strcmp(tables[f].processor, tables[0].processor) == 0;
        same_isa = same_isa && strcmp(tables[f].isa, tables[0].isa) == 0;
    }
    if (same) {
        memcpy(chart->processor, tables[0].processor, sizeof chart->processor);
        memcpy(chart->isa, same_isa ? tables[0].isa : "", same_isa ? sizeof chart->isa : 1);
    }
    chart->points = allocate_zeroed(rows, sizeof *chart->points);
    if (chart->points == NULL) {
        return no_memory(error);
    }
    mha_status status = MHA_OK;
    for (size_t f = 0; f < files && status == MHA_OK; f++) {
        for (size_t i = 0; i < tables[f].count && status == MHA_OK; i++) {
            status = add_row(chart, &tables[f].rows[i], f, error);
        }
    }
    if (status != MHA_OK) {
        chart_free(chart);
    }
    return status;
}

void chart_free(struct bench_chart *chart) {
    free(chart->points);
    *chart = (struct bench_chart){0};
}

void chart_place_name(char text[CHART_NAME_SIZE], const struct bench_chart *chart, size_t place) {
    char shape[BENCH_SHAPE_SIZE];
    bench_shape_format(shape, &chart->places[place].shape);
    snprintf(text, CHART_NAME_SIZE, "%s %s", shape, bench_what_name(chart->places[place].what));
}

void chart_series_name(char text[CHART_NAME_SIZE], const struct bench_chart *chart, size_t series) {
    const struct chart_series *one = &chart->series[series];
    snprintf(text, CHART_NAME_SIZE, "%.180s%s%s, %zu thread%s",
        chart->files > 1 ? chart->names[one->file] : "", chart->files > 1 ? ", " : "",
        mode_name(one->mode), one->threads, one->threads == 1 ? "" : "s");
}

void chart_title(char text[CHART_NAME_SIZE], const struct bench_chart *chart) {
    snprintf(text, CHART_NAME_SIZE, "Speed in percent of FMA peak%s%s%s%s",
        *chart->processor != '\0' ? ", on " : "", chart->processor, *chart->isa != '\0' ? ", " : "",
        chart->isa);
}

/* Points of one place stand side by side, at most a tenth of its width apart. */
static double across(const struct bench_chart *chart, const struct chart_point *point) {
    const double apart = fmin(0.1, 0.7 / (double)chart->series_count);
    return (double)(point->place + 1) +
           apart * ((double)point->series - ((double)chart->series_count - 1) / 2);
}

static void write_points(FILE *stream, const struct bench_chart *chart, size_t series) {
    script_data_begin(stream, "series", series + 1);
    for (size_t i = 0; i < chart->point_count; i++) {
        if (chart->points[i].series == series) {
            script_value(stream, across(chart, &chart->points[i]));
            fputc(' ', stream);
            script_value(stream, chart->points[i].percent);
            fputc('\n', stream);
        }
    }
    script_data_end(stream);
}

void chart_variables(FILE *stream, struct picture_size *size, const struct bench_chart *chart) {
    enum { PLACE_WIDTH = 26, DIGIT_WIDTH = 6, ENTRY_HEIGHT = 18 }; /* pixels */
    char text[CHART_NAME_SIZE];
    size_t longest = 0;
    chart_title(text, chart);
    const size_t title_width = 9 * text_length(text) + 40;
    script_text(stream, "title", text);
    script_array(stream, "places", chart->place_count);
    fprintf(stream, "array begins[%zu]\n", chart->place_count);
    for (size_t i = 0; i < chart->place_count; i++) {
        chart_place_name(text, chart, i);
        longest = text_length(text) > longest ? text_length(text) : longest;
        script_element(stream, "places", i + 1, text);
        fprintf(stream, "begins[%zu] = %d\n", i + 1,
            i > 0 && !is_same_shape(&chart->places[i].shape, &chart->places[i - 1].shape));
    }
    const size_t width = 125 + PLACE_WIDTH * chart->place_count;
    size->width = width > 600 ? width : 600;
    size->width = size->width > title_width ? size->width : title_width;
    script_array(stream, "names", chart->series_count);
    for (size_t i = 0; i < chart->series_count; i++) {
        chart_series_name(text, chart, i);
        script_element(stream, "names", i + 1, text);
        const size_t entry_width = 8 * text_length(text) + 160;
        size->width = size->width > entry_width ? size->width : entry_width;
    }
    const size_t label_height = DIGIT_WIDTH * longest + 20;
    size->height = 420 + label_height + 40 + ENTRY_HEIGHT * chart->series_count;
    fprintf(stream, "label_height = %zu\n", label_height);
    script_number(stream, "place_count", (double)chart->place_count);
    script_number(stream, "series_count", (double)chart->series_count);
    script_number(stream, "y_high", chart->highest > 100 ? 1.05 * chart->highest : 100);
    for (size_t i = 0; i < chart->series_count; i++) {
        write_points(stream, chart, i);
    }
}
