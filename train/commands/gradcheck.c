/* mha gradcheck: every hand-written backward routine against finite differences. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "checks/subjects.h"
#include "compute.h"
#include "gradcheck_case.h"
#include "gradcheck_explain.h"
#include "gradcheck_float.h"
#include "gradcheck_self_test.h"
#include "gradcheck_sweep.h"
#include "gradcheck_table.h"
#include "options.h"

enum { KEY_OP = 0x200, KEY_SELF_TEST, KEY_CASE, KEY_FLOAT };

static const struct argp_option gradcheck_options[] = {
    {"op", KEY_OP, "NAME", 0,
        "Check one routine only: a stage of the layer, or attention, mse, "
        "cross_entropy, layer",
        2},
    {"self-test", KEY_SELF_TEST, NULL, 0,
        "Plant faults in the layer, one at a time, and show that each is caught, and where", 2},
    {"float", KEY_FLOAT, NULL, 0,
        "Hold every routine in float, forward and backward, against double, in ulps of the sum of "
        "magnitudes of each entry",
        2},
    {"case", KEY_CASE, "FILE", 0,
        "Check the gradients grad_query, grad_context, grad_wq ... of FILE, a .npz or .safetensors "
        "file with the arrays that `mha apply' reads, and say where they are wrong",
        2},
    {0}};

struct arguments {
    struct shape_options given;
    struct compute_options compute;
    const char *op;
    bool self_test, in_float;
    const char *case_path;
    mha_gradcheck_options check;
};

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->given;
        state->child_inputs[1] = &arguments->given;
        state->child_inputs[2] = &arguments->compute;
        return 0;
    case KEY_OP:
        arguments->op = text;
        return 0;
    case KEY_SELF_TEST:
        arguments->self_test = true;
        return 0;
    case KEY_FLOAT:
        arguments->in_float = true;
        return 0;
    case KEY_CASE:
        arguments->case_path = text;
        return 0;
    case ARGP_KEY_ARG:
        usage_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What a check needs beside its plan, and what all checks leave. */
struct checking {
    const mha_gradcheck_options *options;
    struct table_sum sum;
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
        mha_gradcheck_taylor taylor;
        mha_gradcheck_options options = *checking->options;
        if (along_directions) {
            options.entry_limit = 0;
            options.directions = 2;
        }
        status = mha_gradcheck_run(reports, &made.subject, &options, &error);
        if (status == MHA_OK) {
            status = mha_gradcheck_taylor_run(&taylor, &made.subject, &options, &error);
        }
        if (status == MHA_OK) {
            const struct table_line line = {subject, plan, &made, reports, taylor.order};
            if (!table_add(&checking->sum, &line)) {
                status = explain_failure(subject, plan, &options, &error);
            }
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
        table_heading();
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
    table_end(&checking.sum);
    return finish_output(checking.sum.failures == 0 ? STATUS_DONE : STATUS_FAILED);
}

/* Whether sizes, or what chooses among routines, are given. */
static bool is_narrowed(const struct arguments *arguments) {
    const struct shape_options *given = &arguments->given;
    const struct compute_options *compute = &arguments->compute;
    return arguments->op != NULL || given->batch != 0 || given->target_length != 0 ||
           given->source_length != 0 || given->width != 0 || compute->has_kernel ||
           compute->has_mode || compute->threads != 0;
}

/* The self-test has sizes, mask and kernel of its own, and so has a case; false after a complaint. */
static bool check_together(const struct arguments *arguments) {
    const struct shape_options *given = &arguments->given;
    const bool narrowed = is_narrowed(arguments), has_case = arguments->case_path != NULL;
    if (arguments->self_test && (arguments->in_float || has_case)) {
        complain("--self-test, whose faults are planted in double, does not go with %s",
            has_case ? "--case" : "--float");
    } else if (arguments->in_float && has_case) {
        complain("--float, which checks mha's own routines, does not go with --case");
    } else if (arguments->self_test && (narrowed || given->heads != 0 || given->has_causal)) {
        complain("--self-test has sizes, mask and kernel of its own: nothing but --seed goes "
                 "with it");
    } else if (has_case && (narrowed || given->has_seed)) {
        complain(
            "--case has the sizes of its arrays: nothing but --causal and --heads goes with it");
    } else {
        return true;
    }
    return false;
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&shape_argp, 0, "Sizes:", 1},
        {&pass_argp, 0, NULL, 1}, {&compute_argp, 0, NULL, 3}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = gradcheck_options,
        .parser = parse,
        .doc =
            "Check every hand-written backward routine, and the whole layer, in double: against "
            "central differences, extrapolated from a ladder of steps, each with an estimate of "
            "its error; against the complex step, which must agree to 1e-12; and by the order of "
            "Taylor's remainder. One line a check shows the worst entry of its worst block; "
            "`error' "
            "is the largest distance to the differences relative to the block's largest, `of bar' "
            "the largest in units of its error bar, where more than 1 fails; `complex' is the "
            "largest distance to the complex step, likewise relative; `order' is 2 for a right "
            "gradient and 1 for a wrong one.\v"
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
    if (!check_together(&arguments)) {
        return STATUS_USAGE;
    }
    if (arguments.case_path != NULL) {
        return gradcheck_case(arguments.case_path, arguments.given.causal, arguments.given.heads);
    }
    return arguments.self_test ? gradcheck_self_test(&arguments.check) : check_all(&arguments);
}

const struct command command_gradcheck = {
    "gradcheck", "check every backward routine, or gradients from elsewhere", run};
