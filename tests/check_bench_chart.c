/* Charts of `mha plot bench`. */
#include "check_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/bench_chart.h"
#include "folder.h"

static const char *const names[] = {"one.tsv", "it's.tsv"};

/* Two files of the same machine: two shapes in one, one of them and another in the other. */
static void read_tables(struct bench_table tables[2], const char *second_processor) {
    write_bench_table("one.tsv", "Processor X",
        "2,4,6,8,2\tstep\tstored\t1\t2\t7\t5.00\n"
        "2,4,6,8,2\tstep\ttiled\t1\t2\t7\t10.00\n"
        "1,8,8,4,2,causal\tcore-forward\tstored\t1\t2\t7\t75.00\n");
    write_bench_table("it's.tsv", second_processor,
        "2,4,6,8,2\tstep\tstored\t2\t2\t7\t2.50\n"
        "1,8,8,4,2\tcore-forward\tstored\t2\t2\t7\t100.00\n");
    for (size_t i = 0; i < 2; i++) {
        mha_error error;
        ck_assert_msg(bench_table_read(&tables[i], folder_path(names[i]), &error) == MHA_OK, "%s",
            error.text);
    }
}

static void free_tables(struct bench_table tables[2]) {
    bench_table_free(&tables[0]);
    bench_table_free(&tables[1]);
}

START_TEST(test_places_and_series) {
    struct bench_table tables[2];
    struct bench_chart chart;
    mha_error error;
    char text[CHART_NAME_SIZE];
    read_tables(tables, "Processor X");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, &error), MHA_OK);
    ck_assert_uint_eq(chart.place_count, 3);
    ck_assert_uint_eq(chart.series_count, 3);
    ck_assert_uint_eq(chart.point_count, 5);
    ck_assert_uint_eq(chart.points[3].place, 0);
    ck_assert_uint_eq(chart.points[4].place, 2);
    ck_assert_uint_eq(chart.points[4].series, 2);
    chart_place_name(text, &chart, 1);
    ck_assert_str_eq(text, "1,8,8,4,2,causal core-forward");
    chart_series_name(text, &chart, 1);
    ck_assert_str_eq(text, "one.tsv, tiled, 1 thread");
    chart_series_name(text, &chart, 2);
    ck_assert_str_eq(text, "it's.tsv, stored, 2 threads");
    chart_title(text, &chart);
    ck_assert_str_eq(text, "Speed in percent of FMA peak, on Processor X");
    chart_free(&chart);
    strcpy(tables[0].isa, "v3");
    strcpy(tables[1].isa, "v3");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, &error), MHA_OK);
    chart_title(text, &chart);
    ck_assert_str_eq(text, "Speed in percent of FMA peak, on Processor X, v3");
    chart_free(&chart);
    strcpy(tables[1].isa, "v4");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, &error), MHA_OK);
    chart_title(text, &chart);
    ck_assert_str_eq(text, "Speed in percent of FMA peak, on Processor X");
    chart_free(&chart);
    free_tables(tables);
    read_tables(tables, "Processor Y");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, &error), MHA_OK);
    chart_title(text, &chart);
    ck_assert_str_eq(text, "Speed in percent of FMA peak");
    chart_free(&chart);
    free_tables(tables);
}
END_TEST

START_TEST(test_bars_in_the_terminal) {
    struct bench_table tables[2];
    struct bench_chart chart;
    char *text = NULL;
    size_t size;
    read_tables(tables, "Processor X");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, NULL), MHA_OK);
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    chart_print(out, &chart, 80);
    fclose(out);
    ck_assert_str_eq(text,
        "Speed in percent of FMA peak, on Processor X; a full bar is 100 %\n"
        "A  one.tsv\n"
        "B  it's.tsv\n"
        "\n"
        "shape                  what            mode   threads      % |                |\n"
        "2,4,6,8,2              step          A stored       1    5.0 |#\n"
        "                                     A tiled        1   10.0 |##\n"
        "                                     B stored       2    2.5 |\n"
        "1,8,8,4,2,causal       core-forward  A stored       1   75.0 |############\n"
        "1,8,8,4,2              core-forward  B stored       2  100.0 |################\n");
    free(text);
    chart_free(&chart);
    free_tables(tables);
}
END_TEST

/* Every point is there, aside of its place by its series, and so are the names. */
START_TEST(test_variables) {
    struct bench_table tables[2];
    struct bench_chart chart;
    struct picture_size picture;
    struct script made;
    mha_error error;
    read_tables(tables, "Processor X");
    ck_assert_int_eq(chart_create(&chart, tables, names, 2, &error), MHA_OK);
    ck_assert_int_eq(script_open(&made, &error), MHA_OK);
    chart_variables(made.stream, &picture, &chart);
    ck_assert_int_eq(script_close(&made, &error), MHA_OK);
    static const char *const parts[] = {"place_count = 3\n", "series_count = 3\n", "y_high = 100\n",
        "places[1] = '2,4,6,8,2 step'\n", "begins[1] = 0\n", "begins[2] = 1\n", "begins[3] = 1\n",
        "names[3] = 'it' . \"'\" . 's.tsv, stored, 2 threads'\n",
        "$series1 << EOD\n0.9 5\n1.9 75\nEOD\n", "$series2 << EOD\n1 10\nEOD\n",
        "$series3 << EOD\n1.1 2.5\n3.1 100\nEOD\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(made.text, parts[i]) != NULL, "no '%s' in\n%s", parts[i], made.text);
    }
    script_free(&made);
    chart_free(&chart);
    free_tables(tables);
}
END_TEST

/* Faster than what was taken for the peak: the axis reaches it. */
START_TEST(test_more_than_peak) {
    struct bench_table table;
    struct bench_chart chart;
    write_bench_table("one.tsv", "X", "2,4,6,8,2\tstep\tstored\t1\t2\t7\t160.00\n");
    ck_assert_int_eq(bench_table_read(&table, folder_path("one.tsv"), NULL), MHA_OK);
    ck_assert_int_eq(chart_create(&chart, &table, names, 1, NULL), MHA_OK);
    ck_assert_double_eq(chart.highest, 160);
    char text[CHART_NAME_SIZE];
    chart_series_name(text, &chart, 0);
    ck_assert_str_eq(text, "stored, 1 thread");
    chart_free(&chart);
    bench_table_free(&table);
}
END_TEST

/* Rows with shapes, or threads, 1 to count. */
static void write_many(const char *name, size_t count, bool threads) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 1; i <= count; i++) {
        fprintf(
            out, "%zu,4,6,8,2\tstep\tstored\t%zu\t2\t7\t50.00\n", threads ? 1 : i, threads ? i : 1);
    }
    fclose(out);
    write_bench_table(name, "X", text);
    free(text);
}

START_TEST(test_too_much_for_a_picture) {
    static const struct {
        size_t count;
        bool threads;
        const char *reason;
    } cases[] = {{CHART_MOST_PLACES, false, NULL},
        {CHART_MOST_PLACES + 1, false, "more than 120 pairs of shape and what"},
        {CHART_MOST_SERIES, true, NULL},
        {CHART_MOST_SERIES + 1, true, "more than 16 series (file, mode, threads)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_table table;
        struct bench_chart chart;
        mha_error error = {.text = ""};
        write_many("many.tsv", cases[i].count, cases[i].threads);
        ck_assert_int_eq(bench_table_read(&table, folder_path("many.tsv"), &error), MHA_OK);
        const mha_status status = chart_create(&chart, &table, names, 1, &error);
        if (cases[i].reason == NULL) {
            ck_assert_int_eq(status, MHA_OK);
        } else {
            ck_assert_int_eq(status, MHA_ERROR_SIZE);
            ck_assert_ptr_nonnull(strstr(error.text, cases[i].reason));
        }
        chart_free(&chart);
        bench_table_free(&table);
    }
}
END_TEST

TCase *bench_chart_case(void) {
    TCase *charts = tcase_create("charts");
    tcase_add_checked_fixture(charts, folder_make, folder_remove);
    tcase_add_test(charts, test_places_and_series);
    tcase_add_test(charts, test_bars_in_the_terminal);
    tcase_add_test(charts, test_variables);
    tcase_add_test(charts, test_more_than_peak);
    tcase_add_test(charts, test_too_much_for_a_picture);
    return charts;
}
