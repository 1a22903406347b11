#include "gradcheck_sweep.h"

#include <stdio.h>

#include "compute.h"

/* The fused wing is checked on sequences of more than one tile as well, along directions, and attention
 * there on two threads too: shorter ones are not worth a second. */
static const struct {
    size_t target, source;
    bool is_long;
} lengths[] = {{4, 4, false}, {3, 5, false}, {5, 3, false}, {70, 70, true}, {50, 70, true}};

enum { WIDTH = 6, LONG_WIDTH = 12 };

mha_shape sweep_base_shape(const struct shape_options *given) {
    mha_shape shape = {
        .batch = 3, .target_length = 4, .source_length = 4, .width = WIDTH, .heads = 1};
    apply_sizes(&shape, given, true);
    return shape;
}

static bool is_fused(const struct subject *subject) {
    return !subject->is_loss && subject->kernel == MHA_KERNEL_FUSED;
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

/* On each number of threads, and for the layer both kinds of attention, of which long sequences have
 * one. */
static bool check_plan(const struct subject *subject, struct check_plan plan, bool is_long,
    const struct sweep *sweep) {
    const bool is_chosen = is_fused(subject) && sweep->threads != 0;
    const size_t least = is_chosen ? sweep->threads : 1;
    const size_t most = is_chosen ? sweep->threads : is_long && !subject->is_layer ? 2 : 1;
    const bool square = plan.shape.target_length == plan.shape.source_length;
    const bool self = subject->is_layer && square, cross = !self || !is_long;
    for (plan.threads = least; plan.threads <= most; plan.threads++) {
        plan.self_attention = true;
        if (self && !sweep->check(subject, &plan, is_long, sweep->context)) {
            return false;
        }
        plan.self_attention = false;
        if (cross && !sweep->check(subject, &plan, is_long, sweep->context)) {
            return false;
        }
    }
    return true;
}

/* Under every mask that matters to the subject. */
static bool check_shape(const struct subject *subject, const mha_shape *shape, bool is_long,
    const struct sweep *sweep) {
    struct check_plan plan = {.shape = *shape,
        .seed = sweep->given->seed,
        .kernel = subject->kernel,
        .mode = subject->mode};
    for (int mask = MASK_NONE; mask < MASK_KIND_COUNT; mask++) {
        plan.mask = (enum mask_kind)mask;
        const bool wanted =
            subject->masked ? mask_is_wanted(plan.mask, sweep->given) : plan.mask == MASK_NONE;
        if (wanted && !check_plan(subject, plan, is_long, sweep)) {
            return false;
        }
    }
    return true;
}

/* For 1, 2 and D heads, long sequences for 2 alone where they divide D, or as many as were given. */
static bool check_heads(
    const struct subject *subject, mha_shape shape, bool is_long, const struct sweep *sweep) {
    const size_t given = sweep->given->heads, D = shape.width;
    const size_t heads[] = {1, 2, D};
    const size_t first = is_long && D % 2 == 0 ? 1 : 0, end = is_long ? first + 1 : 3;
    if (given != 0) {
        return check_shape(subject, &shape, is_long, sweep);
    }
    for (size_t i = first; i < end; i++) {
        shape.heads = heads[i];
        const bool is_new = i == 0 || heads[i] != heads[i - 1];
        if (is_new && D % heads[i] == 0 && !check_shape(subject, &shape, is_long, sweep)) {
            return false;
        }
    }
    return true;
}

bool sweep_over(const struct subject *subject, const struct sweep *sweep) {
    const struct shape_options *given = sweep->given;
    mha_shape shape = sweep_base_shape(given);
    if (given->target_length != 0 || given->source_length != 0) {
        return check_heads(subject, shape, false, sweep);
    }
    const bool square = given->has_causal && given->causal == MHA_CAUSAL_SQUARE;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        shape.target_length = lengths[i].target;
        shape.source_length = lengths[i].source;
        if ((square && shape.target_length != shape.source_length) ||
            (lengths[i].is_long && !is_fused(subject))) {
            continue;
        }
        if (given->width == 0) {
            shape.width = lengths[i].is_long ? LONG_WIDTH : WIDTH;
        }
        if (!check_heads(subject, shape, lengths[i].is_long, sweep)) {
            return false;
        }
    }
    return true;
}

static void format_check(
    char *text, size_t size, const struct subject *subject, const struct check_plan *plan) {
    snprintf(text, size, "%s%s%s%s", subject->name,
        !subject->is_layer     ? ""
        : plan->self_attention ? " self"
                               : " cross",
        subject->masked ? ", " : "", subject->masked ? mask_kind_name(plan->mask) : "");
}

static void format_kernel(char *text, size_t size, const struct subject *subject) {
    const bool fused = subject->kernel == MHA_KERNEL_FUSED;
    snprintf(text, size, "%s%s%s", kernel_name(subject->kernel), fused ? " " : "",
        fused ? mode_name(subject->mode) : "");
    if (subject->is_loss) {
        snprintf(text, size, "-");
    }
}

#define CHECK_COLUMNS "%-32s %-12s %3"

void print_check_heading(void) {
    printf(CHECK_COLUMNS "s %-12s", "check", "kernel", "thr", "B T S D h");
}

void print_check(const struct subject *subject, const struct check_plan *plan) {
    char check[64], kernel[32], sizes[128];
    const mha_shape *shape = &plan->shape;
    format_check(check, sizeof check, subject, plan);
    format_kernel(kernel, sizeof kernel, subject);
    snprintf(sizes, sizeof sizes, "%zu %zu %zu %zu %zu", shape->batch, shape->target_length,
        shape->source_length, shape->width, shape->heads);
    printf(CHECK_COLUMNS "zu %-12s", check, kernel, plan->threads, sizes);
}
