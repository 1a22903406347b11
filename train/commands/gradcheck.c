/* mha gradcheck: every hand-written backward routine against finite differences. */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/case.h"
#include "options.h"

enum { KEY_OP = 0x200, KEY_EPS, KEY_RTOL, KEY_ATOL };

static const struct argp_option gradcheck_options[] = {
    {"op", KEY_OP, "NAME", 0,
        "Check one routine only: a stage of the layer, or attention, mse, "
        "cross_entropy, layer",
        2},
    {"eps", KEY_EPS, "X", 0, "Step of the differences, times max(1, |x|) (default 1e-5)", 2},
    {"rtol", KEY_RTOL, "X", 0,
        "Largest error relative to the block's largest numeric entry (default 1e-6)", 2},
    {"atol", KEY_ATOL, "X", 0, "Largest entry of a gradient that is zero (default 1e-9)", 2}, {0}};

struct arguments {
    struct shape_options given;
    const char *op;
    mha_gradcheck_options check;
};

/* One thing to check: a stage, or a case maker of its own. */
struct subject {
    const char *name;
    const mha_stage *stage;
    mha_status (*create)(struct check_case *, const struct check_plan *, mha_error *);
    bool masked; /* the mask matters to it */
};

static mha_status create_layer(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    return check_layer_create(made, plan, NULL, error);
}

enum { SUBJECT_COUNT = MHA_STAGE_COUNT + 4 };

static void list_subjects(struct subject subjects[SUBJECT_COUNT]) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_stage *stage = &mha_stages[i];
        subjects[i] = (struct subject){stage->name, stage, NULL, stage->masked};
    }
    const struct subject others[] = {
        {"attention", NULL, check_attention_create, true},
        {"mse", NULL, check_mse_create, false},
        {"cross_entropy", NULL, check_cross_entropy_create, false},
        {"layer", NULL, create_layer, true},
    };
    memcpy(subjects + MHA_STAGE_COUNT, others, sizeof others);
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->given;
        state->child_inputs[1] = &arguments->given;
        return 0;
    case KEY_OP:
        arguments->op = text;
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
    double worst;
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

static void print_line(const char *what, const struct check_case *made,
    const mha_gradcheck_report *reports, struct tally *tally) {
    const size_t worst = worst_block(made, reports);
    const mha_gradcheck_report *report = &reports[worst];
    char sizes[96], entry[96];
    snprintf(sizes, sizeof sizes, "B=%zu T=%zu S=%zu D=%zu h=%zu", made->shape.batch,
        made->shape.target_length, made->shape.source_length, made->shape.width, made->shape.heads);
    format_index(entry, sizeof entry, &made->blocks[worst], report);
    printf("%-36s %-23s %-23s %+.12e %+.12e %8.1e  %s\n", what, sizes, entry, report->analytic,
        report->numeric, report->error, mha_gradcheck_verdict_text(report->verdict));
    tally->checks++;
    tally->failures += report->verdict == MHA_GRADCHECK_PASS ? 0 : 1;
    for (size_t i = 0; i < made->subject.block_count; i++) {
        tally->entries += reports[i].checked;
    }
    if (!isnan(tally->worst) && !(report->error <= tally->worst)) {
        tally->worst = report->error; /* a NaN stays */
    }
}

/* Checks one subject under one plan; false after a complaint. */
static bool check(const struct subject *subject, const struct check_plan *plan,
    const mha_gradcheck_options *options, struct tally *tally) {
    struct check_case made;
    mha_error error;
    mha_status status = subject->stage != NULL
                            ? check_stage_create(&made, plan, subject->stage, &error)
                            : subject->create(&made, plan, &error);
    if (status == MHA_OK) {
        mha_gradcheck_report reports[CASE_BLOCKS];
        status = mha_gradcheck_run(reports, &made.subject, options, &error);
        if (status == MHA_OK) {
            char what[64];
            const bool layer = strcmp(subject->name, "layer") == 0;
            snprintf(what, sizeof what, "%s%s%s%s", subject->name,
                !layer                 ? ""
                : plan->self_attention ? " self"
                                       : " cross",
                subject->masked ? ", " : "", subject->masked ? mask_kind_name(plan->mask) : "");
            print_line(what, &made, reports, tally);
        }
        check_case_destroy(&made);
    }
    if (status != MHA_OK) {
        complain("%s: %s", subject->name, error.text);
    }
    return status == MHA_OK;
}

static bool mask_is_wanted(enum mask_kind mask, const struct shape_options *given) {
    if (!given->has_causal) {
        return true;
    }
    switch (given->causal) {
    case MHA_CAUSAL_OFF:
        return mask == MASK_NONE || mask == MASK_LENGTHS || mask == MASK_EXPLICIT;
    case MHA_CAUSAL_BOTTOM_RIGHT:
        return mask == MASK_BOTTOM_RIGHT;
    default:
        return mask == MASK_TOP_LEFT;
    }
}

/* The subject under every mask that matters to it, and for the layer both kinds of attention. */
static bool check_shape(const struct subject *subject, const mha_shape *shape,
    const struct arguments *arguments, struct tally *tally) {
    const bool layer = strcmp(subject->name, "layer") == 0;
    struct check_plan plan = {.shape = *shape, .seed = arguments->given.seed};
    for (int mask = MASK_NONE; mask < MASK_KIND_COUNT; mask++) {
        plan.mask = (enum mask_kind)mask;
        if ((mask != MASK_NONE && !subject->masked) ||
            (subject->masked && !mask_is_wanted(plan.mask, &arguments->given))) {
            continue;
        }
        plan.self_attention = layer && shape->target_length == shape->source_length;
        if (!check(subject, &plan, &arguments->check, tally)) {
            return false;
        }
        if (plan.self_attention) {
            plan.self_attention = false;
            if (!check(subject, &plan, &arguments->check, tally)) {
                return false;
            }
        }
    }
    return true;
}

/* The sizes of a check, before the sweep sets its lengths and heads. */
static mha_shape base_shape(const struct shape_options *given) {
    mha_shape shape = {.batch = 3, .target_length = 4, .source_length = 4, .width = 6, .heads = 1};
    apply_sizes(&shape, given, true);
    return shape;
}

/* T=S, T<S and T>S times h=1, 2 and D, or what was given. */
static bool check_subject(
    const struct subject *subject, const struct arguments *arguments, struct tally *tally) {
    static const size_t lengths[][2] = {{4, 4}, {3, 5}, {5, 3}};
    const struct shape_options *given = &arguments->given;
    const bool length_given = given->target_length != 0 || given->source_length != 0;
    const bool one_shape =
        length_given || (given->has_causal && given->causal == MHA_CAUSAL_SQUARE);
    for (size_t l = 0; l < (one_shape ? 1 : sizeof lengths / sizeof *lengths); l++) {
        mha_shape shape = base_shape(given);
        if (!length_given) {
            shape.target_length = lengths[l][0];
            shape.source_length = lengths[l][1];
        }
        const size_t heads[] = {1, 2, shape.width};
        for (size_t h = 0; h < (given->heads != 0 ? 1 : sizeof heads / sizeof *heads); h++) {
            shape.heads = given->heads != 0 ? given->heads : heads[h];
            const bool repeated = h > 0 && shape.heads == heads[h - 1];
            if (given->heads == 0 && (repeated || shape.width % shape.heads != 0)) {
                continue;
            }
            if (!check_shape(subject, &shape, arguments, tally)) {
                return false;
            }
        }
    }
    return true;
}

static int check_all(const struct arguments *arguments) {
    struct subject subjects[SUBJECT_COUNT];
    list_subjects(subjects);
    bool found = false;
    for (size_t i = 0; i < SUBJECT_COUNT && arguments->op != NULL; i++) {
        found = found || strcmp(subjects[i].name, arguments->op) == 0;
    }
    if (arguments->op != NULL && !found) {
        char names[512] = "";
        for (size_t i = 0, used = 0; i < SUBJECT_COUNT && used < sizeof names; i++) {
            used += (size_t)snprintf(
                names + used, sizeof names - used, "%s%s", i == 0 ? "" : " ", subjects[i].name);
        }
        complain("--op '%s' is none of: %s", arguments->op, names);
        return STATUS_USAGE;
    }
    mha_error error;
    const mha_shape shape = base_shape(&arguments->given);
    const mha_mask mask = {.causal = arguments->given.causal};
    if (mha_shape_check(&shape, &error) != MHA_OK ||
        mha_mask_check(&mask, &shape, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    printf("%-36s %-23s %-23s %-19s %-19s %-8s  %s\n", "check", "sizes", "worst entry", "analytic",
        "numeric", "error", "verdict");
    struct tally tally = {0};
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        const bool wanted = arguments->op == NULL || strcmp(subjects[i].name, arguments->op) == 0;
        if (wanted && !check_subject(&subjects[i], arguments, &tally)) {
            return STATUS_USAGE;
        }
    }
    printf("%zu checks, %zu failed; %zu derivatives compared, largest error %.1e\n", tally.checks,
        tally.failures, tally.entries, tally.worst);
    return finish_output(tally.failures == 0 ? STATUS_DONE : STATUS_FAILED);
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&shape_argp, 0, "Sizes:", 1}, {&pass_argp, 0, NULL, 1}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = gradcheck_options,
        .parser = parse,
        .doc = "Check every hand-written backward routine, and the whole layer, against central "
               "differences in double. One line a check shows the worst entry of its worst "
               "block; the error is relative to the largest numeric entry of that block.\v"
               "By default every routine is checked for T=S, T<S and T>S, for 1, 2 and D heads, "
               "and under every kind of mask that matters to it. Options narrow that. Exit "
               "status 1 when a check fails.",
        .children = children};
    struct arguments arguments = {.check = mha_gradcheck_defaults()};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    arguments.check.seed = arguments.given.seed;
    return check_all(&arguments);
}

const struct command command_gradcheck = {
    "gradcheck", "check every backward routine by finite differences", run};
