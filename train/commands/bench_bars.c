/* The chart of `mha plot bench` in characters, for a terminal. */
#include "bench_chart.h"

#include <string.h>

#include "compute.h"

enum { LEAST_BAR = 15, MARK_LETTERS = 26 };

/* What tells the rows of a file from those of another. */
static char letter_of(size_t file) {
    return (char)('A' + (int)(file % MARK_LETTERS));
}

static void print_head(FILE *out, const struct bench_chart *chart, int bar) {
    char text[CHART_NAME_SIZE];
    chart_title(text, chart);
    fprintf(out, "%s; a full bar is %.0f %%\n", text, chart->highest);
    for (size_t f = 0; f < chart->files && chart->files > 1; f++) {
        fprintf(out, "%c  ", letter_of(f));
        for (const char *at = chart->names[f]; *at != '\0';) {
            const size_t size = character_size(at);
            fwrite(size > 0 ? at : "?", 1, size > 0 ? size : 1, out);
            at += size > 0 ? size : 1;
        }
        fputc('\n', out);
    }
    fprintf(out, "\n%-22s %-13s %s%-6s %7s %6s |%*s|\n", "shape", "what",
        chart->files > 1 ? "  " : "", "mode", "threads", "%", bar, "");
}

/* The bar ends at the character that its percent reaches the middle of. */
static void print_bar(FILE *out, const struct bench_chart *chart, double percent, int bar) {
    const int filled = (int)(percent / chart->highest * bar + 0.5);
    fprintf(out, " %6.1f |", percent);
    for (int i = 0; i < filled; i++) {
        fputc('#', out);
    }
    fputc('\n', out);
}

static void print_place(FILE *out, const struct bench_chart *chart, size_t place, int bar) {
    char shape[BENCH_SHAPE_SIZE];
    const char *what = bench_what_name(chart->places[place].what);
    bench_shape_format(shape, &chart->places[place].shape);
    for (size_t i = 0; i < chart->point_count; i++) {
        const struct chart_point *point = &chart->points[i];
        if (point->place != place) {
            continue;
        }
        const struct chart_series *series = &chart->series[point->series];
        fprintf(out, "%-22s %-13s ", shape, what);
        if (chart->files > 1) {
            fprintf(out, "%c ", letter_of(series->file));
        }
        fprintf(out, "%-6s %7zu", mode_name(series->mode), series->threads);
        print_bar(out, chart, point->percent, bar);
        *shape = '\0'; /* said once */
        what = "";
    }
}

void chart_print(FILE *out, const struct bench_chart *chart, size_t width) {
    const size_t texts = chart->files > 1 ? 64 : 62; /* columns before the bar and behind it */
    const int bar = width > texts + LEAST_BAR ? (int)(width - texts) : LEAST_BAR;
    print_head(out, chart, bar);
    for (size_t i = 0; i < chart->place_count; i++) {
        print_place(out, chart, i, bar);
    }
}
