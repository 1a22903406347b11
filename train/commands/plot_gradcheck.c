/* mha plot gradcheck: what a gradient check sees, of a right and of a wrong gradient. */
#include <stdio.h>
#include <string.h>

#include "checks/faults/faults.h"
#include "command.h"
#include "gradcheck_chart.h"
#include "options.h"
#include "plot.h"

struct gradcheck_request {
    struct picture_options picture;
    const char *fault;
    uint64_t seed;
};

enum { KEY_FAULT = 0x300, KEY_SEED };

static const struct argp_option options_table[] = {
    {"fault", KEY_FAULT, "NAME", 0,
        "What is wrong in the gradient that is drawn beside the right one: a fault that `mha "
        "gradcheck --self-test` names (default scale lost)",
        0},
    {"seed", KEY_SEED, "N", 0, "Seed of inputs, weights and directions (default 0)", 0}, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gradcheck_request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->picture;
        return 0;
    case KEY_FAULT:
        request->fault = argument;
        return 0;
    case KEY_SEED:
        request->seed = parse_seed(state, "seed", argument);
        return 0;
    case ARGP_KEY_ARG:
        usage_error(state, "unexpected argument '%s'", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static mha_status find_fault(const struct fault **fault, const char *name, mha_error *error) {
    char names[2048] = "";
    for (size_t i = 0, used = 0; i < fault_count && used < sizeof names; i++) {
        if (strcmp(faults[i].name, name) == 0) {
            *fault = &faults[i];
            return MHA_OK;
        }
        used += (size_t)snprintf(
            names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", faults[i].name);
    }
    return mha_fail(error, MHA_ERROR_ARGUMENT, "--fault '%.1000s' is none of: %s", name, names);
}

static mha_status draw_curves(const struct gradcheck_request *request,
    const struct check_curves *curves, enum picture_kind kind, mha_error *error) {
    struct script variables;
    mha_status status = script_open(&variables, error);
    if (status != MHA_OK) {
        return status;
    }
    struct picture_size size = terminal_size();
    const bool in_terminal = kind == PICTURE_TEXT;
    tell_missing_fonts(kind);
    gradcheck_chart_variables(
        variables.stream, &size, curves, request->fault, request->seed, in_terminal);
    status = script_close(&variables, error);
    if (status == MHA_OK) {
        status = picture_draw(&request->picture, &size,
            in_terminal ? "gradcheck_text.gp" : "gradcheck.gp", &variables, error);
    }
    script_free(&variables);
    return status;
}

static mha_status draw(const struct gradcheck_request *request, mha_error *error) {
    enum picture_kind kind;
    const struct fault *fault = NULL;
    struct check_curves curves;
    mha_status status = picture_kind_of(&kind, &request->picture, error);
    if (status == MHA_OK) {
        status = find_fault(&fault, request->fault, error);
    }
    if (status == MHA_OK) {
        status = curves_create(&curves, fault, request->seed, error);
    }
    if (status == MHA_OK) {
        status = draw_curves(request, &curves, kind, error);
        curves_free(&curves);
    }
    return status;
}

int plot_gradcheck(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&picture_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options_table, parse, NULL,
        "Draw what a gradient check is, of a right gradient and of one with a fault: the error of "
        "a "
        "single central difference over its step, beside what the checker extrapolates and the "
        "complex step; Taylor's remainder, whose slope is 2 for the right gradient and 1 for a "
        "wrong one; and every entry by backward against the same by differences.",
        children, NULL, NULL};
    struct gradcheck_request request = {.fault = "scale lost"};
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    mha_error error;
    const mha_status status = draw(&request, &error);
    if (status != MHA_OK) {
        complain("%s", error.text);
    }
    return finish_output(status == MHA_OK ? STATUS_DONE : STATUS_USAGE);
}
