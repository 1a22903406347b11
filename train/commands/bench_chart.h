/* The rows of several tables of `mha bench`, sorted for a picture: a place on the axis for each shape
 * and what, a series for each file, mode and number of threads. */
#ifndef TRAIN_COMMANDS_BENCH_CHART_H
#define TRAIN_COMMANDS_BENCH_CHART_H

#include "bench_table.h"
#include "plot_picture.h"

enum { CHART_MOST_PLACES = 120, CHART_MOST_SERIES = 16, CHART_NAME_SIZE = 256 };

struct chart_place {
    struct bench_shape shape;
    enum bench_what what;
};

struct chart_series {
    size_t file; /* index */
    mha_mode mode;
    size_t threads;
};

struct chart_point {
    size_t place, series; /* indices */
    double percent;
};

struct bench_chart {
    const char *const *names; /* of the files */
    size_t files;
    char processor[PROCESSOR_NAME_SIZE]; /* "" unless all files name the same, */
    char isa[ISA_NAME_SIZE];             /* and likewise its instruction set */
    struct chart_place places[CHART_MOST_PLACES];
    struct chart_series series[CHART_MOST_SERIES];
    struct chart_point *points;
    size_t place_count, series_count, point_count;
    double highest; /* percent; at least 100 */
};

/* MHA_ERROR_SIZE when there are more places or series than a picture holds, or _MEMORY; the chart
 * holds nothing then. names outlive it. */
mha_status chart_create(struct bench_chart *chart, const struct bench_table *tables,
    const char *const *names, size_t files, mha_error *error);
void chart_free(struct bench_chart *chart);

/* "4,512,512,512,8 step"; and "a.tsv, stored, 1 thread", without the file where there is one only. */
void chart_place_name(char text[CHART_NAME_SIZE], const struct bench_chart *chart, size_t place);
void chart_series_name(char text[CHART_NAME_SIZE], const struct bench_chart *chart, size_t series);
void chart_title(char text[CHART_NAME_SIZE], const struct bench_chart *chart);

/* Writes all variables and data of bench.gp and the size that the picture needs. */
void chart_variables(FILE *stream, struct picture_size *size, const struct bench_chart *chart);

/* Prints bars in that many columns, or in more where the texts need them. */
void chart_print(FILE *out, const struct bench_chart *chart, size_t width);

#endif
