/* mha tape: what the tape saves. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include <mha/mha32.h>

#include "compute.h"
#include "options.h"

struct arguments {
    struct shape_options given;
    struct compute_options compute; /* its kernel and mode alone */
};

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &arguments->given;
        state->child_inputs[1] = &arguments->compute;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        usage_error(state, "unexpected argument '%s'", text);
    }
    return ARGP_ERR_UNKNOWN;
}

/* "(2, 2, 4, 6)" and "(B,h,T,S)" */
static void format_shape(char *dims, char *axes, size_t size, const mha_value_shape *shape) {
    size_t dims_used = 0, axes_used = 0;
    for (size_t i = 0; i < shape->rank; i++) {
        dims_used += (size_t)snprintf(
            dims + dims_used, size - dims_used, "%s%zu", i == 0 ? "(" : ", ", shape->dims[i]);
        axes_used += (size_t)snprintf(
            axes + axes_used, size - axes_used, "%s%c", i == 0 ? "(" : ",", shape->axes[i]);
    }
    snprintf(dims + dims_used, size - dims_used, ")");
    snprintf(axes + axes_used, size - axes_used, ")");
}

static void print_entry(const mha_tape_entry *entry, const mha_layer_options *options) {
    char dims[128], axes[128];
    format_shape(dims, axes, sizeof dims, &entry->shape);
    printf("%-18s %-10s %-20s %12zu  ", entry->shape.name, axes, dims, entry->bytes);
    const char *separator = "";
    size_t count;
    const mha_stage *stages = mha_stages_of(&count, options->kernel, options->mode);
    for (size_t i = 0; i < count; i++) {
        if ((entry->read_back_by >> i & 1) != 0) {
            printf("%s%s", separator, stages[i].name);
            separator = ", ";
        }
    }
    printf("\n");
}

static int print_tape(const mha_shape *shape, const mha_layer_options *options) {
    mha_error error;
    size_t bytes;
    if (mha_tape_bytes(&bytes, shape, options, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    printf("%-18s %-10s %-20s %12s  %s\n", "saved", "axes", "shape", "bytes",
        "read back by the gradient of");
    for (size_t i = 0; i < mha_tape_entry_count(options); i++) {
        const mha_tape_entry entry = mha_tape_entry_at(i, shape, options);
        print_entry(&entry, options);
    }
    printf("%-18s %-10s %-20s %12zu\n", "sum", "", "", bytes);
    return finish_output(STATUS_DONE);
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&shape_argp, 0, NULL, 0}, {&kernel_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.parser = parse,
        .doc = "List what the tape of one forward pass saves for the backward pass, in float: each "
               "entry with its shape and bytes, the stages whose gradient reads it, and the sum. "
               "Nothing is allocated.\v"
               "Defaults: batch 64, lengths 16, width 32, 2 heads. One length given stands for "
               "both.",
        .children = children};
    struct arguments arguments = {.given = {0}};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    mha_shape shape = {
        .batch = 64, .target_length = 16, .source_length = 16, .width = 32, .heads = 2};
    apply_sizes(&shape, &arguments.given, true);
    const mha_layer_options options = {
        .kernel = arguments.compute.kernel, .mode = arguments.compute.mode};
    return print_tape(&shape, &options);
}

const struct command command_tape = {
    "tape", "list what the tape saves: entry, shape, bytes, sum", run};
