/* mha plot: finds the picture and hands over. */
#include "plot.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

static const struct {
    const char *name;
    int (*draw)(int argc, char **argv);
} pictures[] = {{"loss", plot_loss}, {"heads", plot_heads}, {"bench", plot_bench},
    {"gradcheck", plot_gradcheck}};
enum { PICTURE_COUNT = sizeof pictures / sizeof *pictures };

static error_t parse(int key, char *argument, struct argp_state *state) {
    int *first = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        (void)argument;
        *first = state->next - 1;
        state->next = state->argc; /* the rest belongs to the picture */
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "no picture named: loss, heads, bench or gradcheck");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {NULL, parse,
        "loss RUN...\nheads RUN\nbench FILE...\ngradcheck",
        "Draw what happened in a training run, how fast the machine is, or what a gradient check "
        "sees, as a picture or in the terminal.\v"
        "  loss       loss and held-out accuracy of runs over the steps\n"
        "  heads      attention weights of one held-out example, a panel for each head\n"
        "  bench      percent of FMA peak, from files of `mha bench --tsv`\n"
        "  gradcheck  right and wrong gradients by differences and Taylor's remainder\n"
        "\n`mha plot loss --help`, and so on, list the options of each. "
        "Pictures are drawn by gnuplot.",
        children, NULL, NULL};
    int first = 0;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
    for (size_t i = 0; i < PICTURE_COUNT; i++) {
        if (strcmp(argv[first], pictures[i].name) == 0) {
            char name[32];
            snprintf(name, sizeof name, "mha plot %s", pictures[i].name);
            argv[first] = name;
            return pictures[i].draw(argc - first, argv + first);
        }
    }
    complain("plot: unknown picture '%s'; there are loss, heads, bench and gradcheck", argv[first]);
    return STATUS_USAGE;
}

const struct command command_plot = {
    "plot", "draw loss curves, attention weights, speed or a gradient check", run};
