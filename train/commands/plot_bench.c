/* mha plot bench: tables of `mha bench --tsv`. */
#include <stdlib.h>

#include "bench_chart.h"
#include "command.h"
#include "memory.h"
#include "options.h"
#include "plot.h"

struct bench_request {
    struct picture_options picture;
    char **files;
    size_t count;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct bench_request *request = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->picture;
        return 0;
    case ARGP_KEY_ARGS:
        request->files = state->argv + state->next;
        request->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "no FILE given: what `mha bench --tsv` printed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static mha_status draw_picture(const struct bench_chart *chart,
    const struct picture_options *options, enum picture_kind kind, mha_error *error) {
    struct script variables;
    struct picture_size size;
    mha_status status = script_open(&variables, error);
    if (status != MHA_OK) {
        return status;
    }
    tell_missing_fonts(kind);
    chart_variables(variables.stream, &size, chart);
    status = script_close(&variables, error);
    if (status == MHA_OK) {
        status = picture_draw(options, &size, "bench.gp", &variables, error);
    }
    script_free(&variables);
    return status;
}

static mha_status draw(
    const struct bench_request *request, struct bench_table *tables, mha_error *error) {
    enum picture_kind kind;
    mha_status status = picture_kind_of(&kind, &request->picture, error);
    if (status == MHA_OK && kind == PICTURE_TEXT && request->picture.kept_script != NULL) {
        status = mha_fail(error, MHA_ERROR_ARGUMENT,
            "--keep-script needs -o PIC: in the terminal bars are drawn without gnuplot");
    }
    for (size_t f = 0; f < request->count && status == MHA_OK; f++) {
        status = bench_table_read(&tables[f], request->files[f], error);
    }
    struct bench_chart chart;
    if (status == MHA_OK) {
        status = chart_create(
            &chart, tables, (const char *const *)request->files, request->count, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    if (kind == PICTURE_TEXT) {
        chart_print(stdout, &chart, terminal_size().width);
    } else {
        status = draw_picture(&chart, &request->picture, kind, error);
    }
    chart_free(&chart);
    return status;
}

int plot_bench(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&picture_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {NULL, parse, "FILE...",
        "Draw what `mha bench --tsv` printed into files: the percent of FMA peak at each shape. "
        "Several files are compared, such as one thread and two.",
        children, NULL, NULL};
    struct bench_request request = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    mha_error error;
    struct bench_table *tables = calloc(request.count + 1, sizeof *tables);
    mha_status status = tables != NULL ? draw(&request, tables, &error) : no_memory(&error);
    for (size_t f = 0; tables != NULL && f < request.count; f++) {
        bench_table_free(&tables[f]);
    }
    free(tables);
    if (status != MHA_OK) {
        complain("%s", error.text);
    }
    return finish_output(status == MHA_OK ? STATUS_DONE : STATUS_USAGE);
}
