/* mha gradcheck: every hand-written backward routine against finite differences. */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/subjects.h"
#include "compute.h"
#include "gradcheck_float.h"
#include "gradcheck_self_test.h"
#include "gradcheck_sweep.h"
#include "options.h"

enum { KEY_OP = 0x200, KEY_EPS, KEY_RTOL, KEY_ATOL, KEY_SELF_TEST };

static const struct argp_option gradcheck_options[] = {
    {"op", KEY_OP, "NAME", 0,
        "Check one routine only: a stage of the layer, or attention, mse, "
        "cross_entropy, layer",
        2},
    {"self-test", KEY_SELF_TEST, NULL, 0,
        "Plant faults in the layer, one at a time, and show that each is caught, and where", 2},
    {"eps", KEY_EPS, "X", 0, "Step of the differences, times max(1, |x|) (default 1e-5)", 2},
    {"rtol", KEY_RTOL, "X", 0,
        "Largest error relative to the block's largest numeric entry (default 1e-6)", 2},
    {"atol", KEY_ATOL, "X", 0, "Largest entry of a gradient that is zero (default 1e-9)", 2}, {0}};

struct arguments {
    struct shape_options given;
    struct compute_options compute;
    const char *op;
    bool self_test, in_float;
    mha_gradcheck_options check;
};

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->given;
        state->child_inputs[1] = &arguments->given;
        state->child_inputs[2] = &arguments->compute;
        state->child_inputs[3] = &arguments->in_float;
        return 0;
    case KEY_OP:
        arguments->op = text;
        return 0;
    case KEY_SELF_TEST:
        arguments->self_test = true;
        return 0;
    case KEY_EPS:
        arguments->check.step = parse_number(state, "eps", text, 1e-12, 1.0);
        return 0;
    case KEY_RTOL:
        arguments->check.relative_tolerance = parse_number(state, "rtol", text, 0.0, 1.0);
        return 0;
    case KEY_ATOL:
        arguments->check.absolute_tolerance = parse_number(state, "atol", text, 0.0, 1.0);
        return 0;
    case ARGP_KEY_ARG:
        usage_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Counts over all lines. */
struct tally {
    size_t checks, failures, entries;
    double worst, worst_complex;
};

static void format_index(
    char *text, size_t size, const mha_gradcheck_block *block, const mha_gradcheck_report *report) {
    size_t used = (size_t)snprintf(text, size, "%s", block->name);
    if (report->directional) {
        snprintf(text + used, size - used, " along a direction");
        return;
    }
    for (size_t i = 0; i < block->rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%zu%s", i == 0 ? "[" : ",",
            report->index[i], i + 1 == block->rank ? "]" : "");
    }
}

/* The block that a line shows: the first that fails, else the one with the largest error. */
static size_t worst_block(const struct check_case *made, const mha_gradcheck_report *reports) {
    size_t worst = 0;
    for (size_t i = 0; i < made->subject.block_count; i++) {
        if (reports[i].verdict != MHA_GRADCHECK_PASS) {
            return i;
        }
        worst = reports[i].error > reports[worst].error ? i : worst;
    }
    return worst;
}

#define TABLE_TEXT "%-34s %-12s"

static void print_line(const struct subject *subject, const struct check_plan *plan,
    const mha_gradcheck_block *block, const mha_gradcheck_report *report) {
    char what[64], kernel[32], sizes[128], entry[96];
    format_check(what, sizeof what, subject, plan);
    format_kernel(kernel, sizeof kernel, subject);
    snprintf(sizes, sizeof sizes, "B=%zu T=%zu S=%zu D=%zu h=%zu", plan->shape.batch,
        plan->shape.target_length, plan->shape.source_length, plan->shape.width, plan->shape.heads);
    format_index(entry, sizeof entry, block, report);
    printf(TABLE_TEXT " %7zu %-24s %-23s %+.9e %+.9e %8.1e %8.1e  %s\n", what, kernel,
        plan->threads, sizes, entry, report->analytic, report->numeric, report->error,
        report->complex_error, mha_gradcheck_verdict_text(report->verdict));
}

static void count(struct tally *tally, const struct check_case *made,
    const mha_gradcheck_report *reports, const mha_gradcheck_report *worst) {
    tally->checks++;
    tally->failures += worst->verdict == MHA_GRADCHECK_PASS ? 0 : 1;
    for (size_t i = 0; i < made->subject.block_count; i++) {
        tally->entries += reports[i].checked;
    }
    if (!isnan(tally->worst) && !(worst->error <= tally->worst)) {
        tally->worst = worst->error; /* a NaN stays */
    }
    for (size_t i = 0; i < made->subject.block_count; i++) {
        tally->worst_complex = fmax(tally->worst_complex, reports[i].complex_error);
    }
}

/* What a check needs beside its plan, and what all checks leave. */
struct checking {
    const mha_gradcheck_options *options;
    struct tally tally;
};

/* Checks one subject under one plan; false after a complaint. */
static bool check(const struct subject *subject, const struct check_plan *plan,
    bool along_directions, void *context) {
    struct checking *checking = context;
    struct check_case made;
    mha_error error;
    mha_status status = subject_create(&made, subject, plan, &error);
    if (status == MHA_OK) {
        mha_gradcheck_report reports[CASE_BLOCKS];
        mha_gradcheck_options options = *checking->options;
        if (along_directions) {
            options.entry_limit = 0;
            options.directions = 2;
        }
        status = mha_gradcheck_run(reports, &made.subject, &options, &error);
        if (status == MHA_OK) {
            const size_t worst = worst_block(&made, reports);
            print_line(subject, plan, &made.blocks[worst], &reports[worst]);
            count(&checking->tally, &made, reports, &reports[worst]);
        }
        check_case_destroy(&made);
    }
    if (status != MHA_OK) {
        complain("%s: %s", subject->name, error.text);
    }
    return status == MHA_OK;
}

static bool is_named(const struct subject *subject, const struct arguments *arguments) {
    return arguments->op == NULL || strcmp(subject->name, arguments->op) == 0;
}

/* A loss has neither kernel nor mode. */
static bool is_wanted(const struct subject *subject, const struct arguments *arguments) {
    const struct compute_options *compute = &arguments->compute;
    if (!is_named(subject, arguments)) {
        return false;
    }
    return (!compute->has_kernel || (!subject->is_loss && subject->kernel == compute->kernel)) &&
           (!compute->has_mode || (!subject->is_loss && subject->mode == compute->mode));
}

/* Whether anything is wanted; false after a complaint. */
static bool check_names(
    const struct subject subjects[SUBJECT_COUNT], const struct arguments *arguments) {
    bool named = false, wanted = false;
    char names[512] = "";
    for (size_t i = 0, used = 0; i < SUBJECT_COUNT && used < sizeof names; i++) {
        const struct subject *subject = &subjects[i];
        named = named || is_named(subject, arguments);
        wanted = wanted || is_wanted(subject, arguments);
        if (i == 0 || strcmp(subject->name, subjects[i - 1].name) != 0) {
            used += (size_t)snprintf(
                names + used, sizeof names - used, "%s%s", i == 0 ? "" : " ", subject->name);
        }
    }
    const struct compute_options *compute = &arguments->compute;
    if (!named) {
        complain("--op '%s' is none of: %s", arguments->op, names);
    } else if (!wanted) {
        complain("--op %s is not checked with%s%s%s%s", arguments->op,
            compute->has_kernel ? " --kernel " : "",
            compute->has_kernel ? kernel_name(compute->kernel) : "",
            compute->has_mode ? " --mode " : "", compute->has_mode ? mode_name(compute->mode) : "");
    }
    return wanted;
}

/* Sizes, alignment and instruction set that every check would refuse; false after a complaint. */
static bool check_sizes(const struct arguments *arguments) {
    mha_error error;
    const char *isa;
    const mha_shape shape = sweep_base_shape(&arguments->given);
    const mha_mask mask = {.causal = arguments->given.causal};
    if (mha_shape_check(&shape, &error) != MHA_OK ||
        mha_mask_check(&mask, &shape, &error) != MHA_OK || mha_isa(&isa, &error) != MHA_OK) {
        complain("%s", error.text);
        return false;
    }
    return true;
}

static int check_all(const struct arguments *arguments) {
    struct subject subjects[SUBJECT_COUNT];
    list_subjects(subjects);
    if (!check_names(subjects, arguments) || !check_sizes(arguments)) {
        return STATUS_USAGE;
    }
    if (arguments->in_float) {
        float_print_header();
    } else {
        printf(TABLE_TEXT " %7s %-24s %-23s %-16s %-16s %8s %8s  %s\n", "check", "kernel",
            "threads", "sizes", "worst entry", "analytic", "numeric", "error", "complex",
            "verdict");
    }
    struct checking checking = {.options = &arguments->check};
    struct float_tally float_tally = {0};
    const struct sweep sweep = {.given = &arguments->given,
        .threads = arguments->compute.threads,
        .check = arguments->in_float ? float_check : check,
        .context = arguments->in_float ? (void *)&float_tally : &checking};
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        if (is_wanted(&subjects[i], arguments) && !sweep_over(&subjects[i], &sweep)) {
            return STATUS_USAGE;
        }
    }
    if (arguments->in_float) {
        return float_finish(&float_tally);
    }
    const struct tally *tally = &checking.tally;
    printf("%zu checks, %zu failed; %zu derivatives compared, largest error %.1e by differences, "
           "%.1e by "
           "the complex step\n",
        tally->checks, tally->failures, tally->entries, tally->worst, tally->worst_complex);
    return finish_output(tally->failures == 0 ? STATUS_DONE : STATUS_FAILED);
}

static bool is_narrowed(const struct arguments *arguments) {
    const struct shape_options *given = &arguments->given;
    const struct compute_options *compute = &arguments->compute;
    return arguments->op != NULL || given->batch != 0 || given->target_length != 0 ||
           given->source_length != 0 || given->width != 0 || given->heads != 0 ||
           given->has_causal || compute->has_kernel || compute->has_mode || compute->threads != 0;
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&shape_argp, 0, "Sizes:", 1},
        {&pass_argp, 0, NULL, 1}, {&compute_argp, 0, NULL, 3}, {&float_argp, 0, NULL, 2},
        {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = gradcheck_options,
        .parser = parse,
        .doc =
            "Check every hand-written backward routine, and the whole layer, against central "
            "differences in double, and against the complex step, which must agree to 1e-12. "
            "One line a check shows the worst entry of its worst block; `error' is the largest of "
            "the block by differences and `complex' by the complex step, each relative to the "
            "largest derivative of its kind there.\v"
            "By default every routine is checked for T=S, T<S and T>S, for 1, 2 and D "
            "heads, and under every kind of mask that matters to it: the stages in the "
            "reference kernel, attention and layer in both kernels and modes, in the "
            "fused one also on sequences of several tiles, along random directions, and "
            "attention there on 1 and on 2 threads. Options narrow that; --kernel and "
            "--mode leave nothing but what computes so. Exit status 1 when a check fails.",
        .children = children};
    struct arguments arguments = {.check = mha_gradcheck_defaults()};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    arguments.check.seed = arguments.given.seed;
    if (arguments.in_float && !float_goes_with(arguments.self_test, &arguments.check)) {
        return STATUS_USAGE;
    }
    if (arguments.self_test && is_narrowed(&arguments)) {
        complain("--self-test has sizes, mask and kernel of its own: nothing but --seed, --eps, "
                 "--rtol and --atol goes with it");
        return STATUS_USAGE;
    }
    return arguments.self_test ? gradcheck_self_test(&arguments.check) : check_all(&arguments);
}

const struct command command_gradcheck = {
    "gradcheck", "check every backward routine by finite differences", run};
