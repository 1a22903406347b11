#include "compute.h"

#include <string.h>

#include "options.h"

enum { NAMES = 2 };

static const char *const kernel_names[NAMES] = {
    [MHA_KERNEL_FUSED] = "fused", [MHA_KERNEL_REFERENCE] = "reference"};

static const char *const mode_names[NAMES] = {
    [MHA_MODE_STORED] = "stored", [MHA_MODE_TILED] = "tiled"};

/* The index of a name, or NAMES. */
static int find_name(const char *const names[NAMES], const char *name) {
    int i = 0;
    while (i < NAMES && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

const char *kernel_name(mha_kernel kernel) {
    return kernel_names[kernel];
}

bool kernel_from_name(mha_kernel *kernel, const char *name) {
    const int found = find_name(kernel_names, name);
    *kernel = found < NAMES ? (mha_kernel)found : *kernel;
    return found < NAMES;
}

const char *mode_name(mha_mode mode) {
    return mode_names[mode];
}

bool mode_from_name(mha_mode *mode, const char *name) {
    const int found = find_name(mode_names, name);
    *mode = found < NAMES ? (mha_mode)found : *mode;
    return found < NAMES;
}

enum { KEY_THREADS = 0x180, KEY_KERNEL, KEY_MODE };

static const struct argp_option threads_options[] = {
    {"threads", KEY_THREADS, "N", 0,
        "Threads that share the work, 1 to 1024 (default: OMP_NUM_THREADS, up to the processors); "
        "results have the same bits with any number",
        1},
    {0}};

static const struct argp_option kernel_options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0,
        "fused (default): attention in one sweep of tiles, fast; reference: one operator after the "
        "other, readable, on one thread",
        1},
    {"mode", KEY_MODE, "NAME", 0,
        "What the fused kernel keeps of the attention weights: stored (default), all of them; "
        "tiled, two numbers a query; results have the same bits",
        1},
    {0}};

enum { MOST_THREADS = 1024 };

static error_t parse_threads(int key, char *text, struct argp_state *state) {
    struct compute_options *given = state->input;
    if (key != KEY_THREADS) {
        return ARGP_ERR_UNKNOWN;
    }
    given->threads = parse_size(state, "threads", text, 1, MOST_THREADS);
    return 0;
}

const struct argp threads_argp = {.options = threads_options, .parser = parse_threads};

static error_t parse_kernel(int key, char *text, struct argp_state *state) {
    struct compute_options *given = state->input;
    switch (key) {
    case KEY_KERNEL:
        given->has_kernel = true;
        if (!kernel_from_name(&given->kernel, text)) {
            usage_error(state, "--kernel '%s' is none of fused, reference", text);
        }
        return 0;
    case KEY_MODE:
        given->has_mode = true;
        if (!mode_from_name(&given->mode, text)) {
            usage_error(state, "--mode '%s' is none of stored, tiled", text);
        }
        return 0;
    case ARGP_KEY_SUCCESS:
        if (given->kernel == MHA_KERNEL_REFERENCE && given->mode == MHA_MODE_TILED) {
            usage_error(state, "--mode tiled needs --kernel fused: --kernel reference stores all "
                               "attention weights");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp kernel_argp = {.options = kernel_options, .parser = parse_kernel};

static const struct argp_child compute_children[] = {
    {&kernel_argp, 0, NULL, 0}, {&threads_argp, 0, NULL, 0}, {0}};

static error_t parse_compute(int key, char *text, struct argp_state *state) {
    (void)text;
    if (key != ARGP_KEY_INIT) {
        return ARGP_ERR_UNKNOWN;
    }
    state->child_inputs[0] = state->input;
    state->child_inputs[1] = state->input;
    return 0;
}

const struct argp compute_argp = {.parser = parse_compute, .children = compute_children};
