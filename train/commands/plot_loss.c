/* mha plot loss: the curves of runs. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "plot.h"
#include "plot_curves.h"
#include "memory.h"
#include "run/run.h"

struct loss_request {
    struct picture_options picture;
    char **folders;
    size_t count;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct loss_request *request = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->picture;
        return 0;
    case ARGP_KEY_ARGS:
        request->folders = state->argv + state->next;
        request->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "no RUN given: the folder that `mha train` wrote");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The folder as it was named, without slashes at its end. */
static char *name_of(const char *folder) {
    char *name = strdup(folder);
    size_t length = name != NULL ? strlen(name) : 0;
    while (length > 1 && name[length - 1] == '/') {
        name[--length] = '\0';
    }
    return name;
}

/* One run with its rows and name, which belong to the curve. */
static mha_status read_curve(struct loss_curve *curve, const char *folder, mha_error *error) {
    struct run found;
    mha_status status = run_read_settings(&found, folder, error);
    if (status != MHA_OK) {
        return status;
    }
    curve->loss = found.settings.loss;
    run_free(&found);
    status = run_read_log(&curve->rows, &curve->count, folder, error);
    if (status == MHA_OK) {
        curve->name = name_of(folder);
        status = curve->name != NULL ? MHA_OK : no_memory(error);
    }
    return status;
}

/* What the picture does not show. */
static void tell_omissions(
    const struct loss_axes *axes, const struct loss_curve *curves, size_t count) {
    if (axes->not_positive > 0) {
        complain("%zu %s at or below zero %s not shown", axes->not_positive,
            axes->not_positive == 1 ? "point" : "points", axes->not_positive == 1 ? "is" : "are");
    }
    if (axes->infinite > 0) {
        complain("%zu %s infinite or beyond 1e100 and not shown", axes->infinite,
            axes->infinite == 1 ? "point is" : "points are");
    }
    for (size_t c = 0; c < count; c++) {
        if (!loss_curve_is_visible(axes, &curves[c])) {
            complain("%s has no loss that can be shown", curves[c].name);
        }
    }
}

static mha_status draw(
    const struct loss_request *request, struct loss_curve *curves, mha_error *error) {
    enum picture_kind kind;
    mha_status status = picture_kind_of(&kind, &request->picture, error);
    for (size_t c = 0; c < request->count && status == MHA_OK; c++) {
        status = read_curve(&curves[c], request->folders[c], error);
    }
    struct loss_axes axes;
    if (status == MHA_OK) {
        status = loss_axes_of(&axes, curves, request->count, error);
    }
    struct script variables;
    if (status != MHA_OK || (status = script_open(&variables, error)) != MHA_OK) {
        return status;
    }
    tell_omissions(&axes, curves, request->count);
    tell_missing_fonts(kind);
    struct picture_size size = terminal_size();
    loss_variables(variables.stream, &size, &axes, curves, request->count, kind == PICTURE_TEXT);
    status = script_close(&variables, error);
    if (status == MHA_OK) {
        status = picture_draw(&request->picture, &size,
            kind == PICTURE_TEXT ? "loss_text.gp" : "loss.gp", &variables, error);
    }
    script_free(&variables);
    return status;
}

int plot_loss(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&picture_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {NULL, parse, "RUN...",
        "Draw the training and held-out loss of runs, and their held-out accuracy, over the steps.",
        children, NULL, NULL};
    struct loss_request request = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    mha_error error;
    struct loss_curve *curves = calloc(request.count + 1, sizeof *curves);
    mha_status status = curves != NULL ? draw(&request, curves, &error) : no_memory(&error);
    for (size_t c = 0; curves != NULL && c < request.count; c++) {
        free(curves[c].name);
        free(curves[c].rows);
    }
    free(curves);
    if (status != MHA_OK) {
        complain("%s", error.text);
    }
    return finish_output(status == MHA_OK ? STATUS_DONE : STATUS_USAGE);
}
