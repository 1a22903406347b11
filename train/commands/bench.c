/* mha bench: the speed of the layer, against this machine's own limit. */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_run.h"
#include "bench_table.h"
#include "bench_time.h"
#include "compute.h"
#include "memory.h"
#include "options.h"

enum { KEY_SHAPE = 0x200, KEY_MODE, KEY_TSV };
enum { MODES = 2 };

static const struct argp_option options_table[] = {
    {"shape", KEY_SHAPE, "B,T,S,D,h[,causal]", 0,
        "Measure at this shape; may be given several times. T = S is self-attention", 1},
    {"mode", KEY_MODE, "NAME", 0,
        "What is kept of the attention weights: stored or tiled (default: both, in turn)", 1},
    {"tsv", KEY_TSV, NULL, 0,
        "Print lines of # about the machine, a header, and rows with tabs between columns", 1},
    {0}};

/* What is measured at a shape: the layer, attention alone, or both. */
struct target {
    struct bench_shape shape;
    bool layer, core;
};

struct arguments {
    struct target *targets; /* as many as there are words */
    size_t count;
    struct compute_options compute; /* its threads alone */
    mha_mode modes[MODES];
    size_t mode_count;
    bool tsv;
};

/* From the lesson's example to long sequences. */
static const struct {
    const char *shape;
    bool layer, core;
} default_targets[] = {
    {"2,4,6,8,2", true, false},
    {"1,6,6,64,4", true, false},
    {"32,16,16,64,4", true, false},
    {"32,64,64,128,8", true, false},
    {"8,256,256,256,8", true, false},
    {"4,512,512,512,8", true, false},
    {"1,512,512,64,4", false, true},
    {"1,512,512,64,4,causal", false, true},
    {"1,512,512,128,4", false, true},
    {"1,512,512,128,4,causal", false, true},
    {"1,512,512,256,4", false, true},
    {"1,512,512,256,4,causal", false, true},
    {"1,512,512,512,4", false, true},
    {"1,512,512,512,4,causal", false, true},
    {"1,4096,4096,256,8", true, true},
};
enum { DEFAULT_TARGETS = sizeof default_targets / sizeof *default_targets };

static void add_shape(struct argp_state *state, struct arguments *arguments, const char *text) {
    struct target *target = &arguments->targets[arguments->count++];
    mha_error error;
    *target = (struct target){.layer = true, .core = true};
    if (bench_shape_parse(&target->shape, text, &error) != MHA_OK) {
        usage_error(state, "--%s", error.text);
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->compute;
        return 0;
    case KEY_SHAPE:
        add_shape(state, arguments, text);
        return 0;
    case KEY_MODE:
        arguments->mode_count = 1;
        if (!mode_from_name(&arguments->modes[0], text)) {
            usage_error(state, "--mode '%s' is none of stored, tiled", text);
        }
        return 0;
    case KEY_TSV:
        arguments->tsv = true;
        return 0;
    case ARGP_KEY_ARG:
        usage_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static mha_status print_machine(const struct arguments *arguments, mha_error *error) {
    const char *isa, *lead = arguments->tsv ? "# " : "";
    char processor[PROCESSOR_NAME_SIZE];
    struct memory_speed memory;
    mha_status status = mha_isa(&isa, error);
    if (status == MHA_OK) {
        status = memory_measure(&memory, arguments->compute.threads, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    processor_name(processor);
    printf("%sprocessor: %s\n", lead, processor);
    printf("%sinstruction set: %s\n", lead, isa);
    printf("%sthreads: %zu\n", lead, arguments->compute.threads);
    printf("%sFMA peak of 1 thread: %.1f GF/s\n", lead, 1e-9 * fma_peak(1));
    if (arguments->compute.threads > 1) {
        printf("%sFMA peak of %zu threads: %.1f GF/s\n", lead, arguments->compute.threads,
            1e-9 * fma_peak(arguments->compute.threads));
    }
    printf("%smemory read: %.1f GB/s\n", lead, 1e-9 * memory.read);
    printf("%smemory copy, read and written: %.1f GB/s\n", lead, 1e-9 * memory.copy);
    if (!arguments->tsv) {
        putchar('\n');
    }
    bench_write_header(stdout, arguments->tsv);
    return MHA_OK;
}

static void print_row(
    const struct bench_plan *plan, enum bench_what what, double seconds, double peak, bool tsv) {
    const double rate = bench_operations(&plan->shape, what, plan->mode) / seconds;
    const struct bench_row row = {plan->shape, what, plan->mode, plan->threads, 1e6 * seconds,
        1e-9 * rate, 100 * rate / peak};
    bench_write_row(stdout, &row, tsv);
}

/* The rows of one shape and mode. FMA peak is measured before and after them. */
static mha_status measure(
    const struct target *target, const struct bench_plan *plan, bool tsv, mha_error *error) {
    double seconds[BENCH_WHATS];
    double peak = fma_peak(plan->threads);
    mha_status status = MHA_OK;
    if (target->layer) {
        status = bench_layer(&seconds[BENCH_FORWARD], &seconds[BENCH_STEP], plan, error);
    }
    if (target->core && status == MHA_OK) {
        status =
            bench_core(&seconds[BENCH_CORE_FORWARD], &seconds[BENCH_CORE_BACKWARD], plan, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    peak = fmax(peak, fma_peak(plan->threads));
    for (int what = 0; what < BENCH_WHATS; what++) {
        if (what < BENCH_CORE_FORWARD ? target->layer : target->core) {
            print_row(plan, (enum bench_what)what, seconds[what], peak, tsv);
        }
    }
    return MHA_OK;
}

static mha_status measure_all(const struct arguments *arguments, mha_error *error) {
    mha_status status = print_machine(arguments, error);
    for (size_t i = 0; i < arguments->count && status == MHA_OK; i++) {
        const struct target *target = &arguments->targets[i];
        for (size_t m = 0; m < arguments->mode_count && status == MHA_OK; m++) {
            if (fflush(stdout) != 0 || ferror(stdout)) {
                return MHA_OK; /* nobody reads on; the end of the program says so */
            }
            const struct bench_plan plan = {
                target->shape, arguments->modes[m], arguments->compute.threads};
            mha_error reason;
            status = measure(target, &plan, arguments->tsv, &reason);
            if (status != MHA_OK) {
                char shape[BENCH_SHAPE_SIZE];
                bench_shape_format(shape, &plan.shape);
                mha_fail(error, status, "shape %s, %s: %.4000s", shape, mode_name(plan.mode),
                    reason.text);
            }
        }
    }
    return status;
}

/* One thread that never waits has a processor all the time, unless others take it. */
static void tell_disturbance(double processor, double wall) {
    static const double tolerated = 0.9;
    if (processor < tolerated * wall) {
        fflush(stdout);
        complain(
            "other programs had the processor for %.0f %% of the time: what is shown is slower "
            "than this machine",
            100 * (1 - processor / wall));
    }
}

static void add_defaults(struct arguments *arguments) {
    mha_error error;
    for (; arguments->count < DEFAULT_TARGETS; arguments->count++) {
        struct target *target = &arguments->targets[arguments->count];
        target->layer = default_targets[arguments->count].layer;
        target->core = default_targets[arguments->count].core;
        bench_shape_parse(&target->shape, default_targets[arguments->count].shape, &error);
    }
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&threads_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options_table, parse, NULL,
        "Measure this machine's peak of fused multiply-adds and its memory, then the layer at each "
        "shape: forward, a training step, and attention alone (core) forward and backward. Medians "
        "in float; percent is of the peak on as many threads.\v"
        "A step is forward, mean squared error, backward for the four weights and the update. "
        "Counted are, with P visible pairs of query and key, forward 4BTDD + 4BSDD + 4PD, step "
        "10BTDD + 8BSDD + 12PD, core-forward 4PD and core-backward 8PD stored or 10PD tiled "
        "operations. Without --shape a table from the smallest to long sequences is measured, in "
        "about a minute. `mha plot bench` draws what --tsv prints.",
        children, NULL, NULL};
    struct arguments arguments = {.compute = {.threads = mha_default_threads()},
        .modes = {MHA_MODE_STORED, MHA_MODE_TILED},
        .mode_count = MODES};
    const size_t room = (size_t)argc > DEFAULT_TARGETS ? (size_t)argc : DEFAULT_TARGETS;
    arguments.targets = calloc(room, sizeof *arguments.targets);
    mha_error error;
    mha_status status = arguments.targets != NULL ? MHA_OK : no_memory(&error);
    if (status == MHA_OK) {
        argp_parse(&argp, argc, argv, 0, NULL, &arguments);
        if (arguments.count == 0) {
            add_defaults(&arguments);
        }
        const double processor = processor_seconds(), wall = clock_seconds();
        status = measure_all(&arguments, &error);
        if (status == MHA_OK && arguments.compute.threads == 1) {
            tell_disturbance(processor_seconds() - processor, clock_seconds() - wall);
        }
    }
    free(arguments.targets);
    if (status != MHA_OK) {
        complain("%s", error.text);
    }
    return finish_output(status == MHA_OK ? STATUS_DONE : STATUS_USAGE);
}

const struct command command_bench = {
    "bench", "measure speed against this machine's own limit", run};
