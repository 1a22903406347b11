#include "options.h"

#include "command.h"
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usage_error(const struct argp_state *state, const char *format, ...) {
    char line[SHOWN_SIZE], shown[SHOWN_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    argp_error(state, "%s", printable(shown, line));
}

/* strtoull takes signs, spaces and "0x"; a size is digits and nothing else. */
static bool read_unsigned(uint64_t *number, const char *text) {
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    return errno == 0 && *end == '\0';
}

size_t parse_size(const struct argp_state *state, const char *option, const char *text,
    size_t least, size_t most) {
    uint64_t number = 0;
    if (!read_unsigned(&number, text) || number < least || number > most) {
        usage_error(
            state, "--%s '%s' is not a whole number from %zu to %zu", option, text, least, most);
    }
    return (size_t)number;
}

uint64_t parse_seed(const struct argp_state *state, const char *option, const char *text) {
    uint64_t number = 0;
    if (!read_unsigned(&number, text)) {
        usage_error(
            state, "--%s '%s' is not a whole number from 0 to %" PRIu64, option, text, UINT64_MAX);
    }
    return number;
}

double parse_number(const struct argp_state *state, const char *option, const char *text,
    double least, double most) {
    char *end;
    errno = 0;
    const double number = strtod(text, &end);
    const bool whole = end != text && strpbrk(text, "xX") == NULL && *end == '\0' &&
                       !isspace((unsigned char)text[0]);
    if (!whole || errno != 0 || !isfinite(number) || number < least || number > most) {
        usage_error(state, "--%s '%s' is not a number from %g to %g", option, text, least, most);
    }
    return number;
}

size_t parse_bytes(const struct argp_state *state, const char *option, const char *text) {
    static const char units[] = "KMG";
    size_t length = strlen(text);
    const char *unit = length == 0 ? NULL : strchr(units, text[length - 1]);
    const unsigned shift = unit == NULL || *unit == '\0' ? 0 : 10 * (unsigned)(unit - units + 1);
    char digits[32] = "";
    length -= shift > 0 ? 1 : 0;
    if (length < sizeof digits) {
        snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    }
    char *end;
    errno = 0;
    const uintmax_t number = strtoumax(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0 || number == 0 ||
        number > SIZE_MAX >> shift) {
        usage_error(state,
            "--%s '%s' is not a number of bytes from 1 to %zu, with or without K, M or G", option,
            text, (size_t)SIZE_MAX);
    }
    return (size_t)number << shift;
}

enum { KEY_BATCH = 0x100, KEY_TARGET, KEY_SOURCE, KEY_WIDTH, KEY_HEADS, KEY_CAUSAL, KEY_SEED };

static const struct argp_option size_options[] = {
    {"batch", KEY_BATCH, "B", 0, "Samples of a batch", 1},
    {"target-length", KEY_TARGET, "T", 0, "Queries of a sample", 1},
    {"source-length", KEY_SOURCE, "S", 0, "Keys and values of a sample", 1},
    {"width", KEY_WIDTH, "D", 0, "Features of a position", 1},
    {"heads", KEY_HEADS, "h", 0, "Heads; must divide the width", 1}, {0}};

static const struct argp_option causal_options[] = {
    {"causal", KEY_CAUSAL, "ALIGNMENT", OPTION_ARG_OPTIONAL,
        "Query i sees no later key (off: all keys). With different lengths name the ALIGNMENT: "
        "top-left (key j <= "
        "query i) or bottom-right (key j <= i + S - T)",
        1},
    {0}};

static const struct argp_option pass_options[] = {
    {"seed", KEY_SEED, "N", 0, "Seed of every random number, as in numpy.random.default_rng", 1},
    {0}};

enum { LARGEST_SIZE = 1 << 30 };

static void parse_causal(struct argp_state *state, struct shape_options *given, const char *text) {
    given->has_causal = true;
    if (text == NULL) {
        given->causal = MHA_CAUSAL_SQUARE;
    } else if (!causal_from_name(&given->causal, text) || given->causal == MHA_CAUSAL_SQUARE) {
        usage_error(state, "--causal '%s' is none of top-left, bottom-right, off", text);
    }
}

static error_t parse_shape(int key, char *text, struct argp_state *state) {
    struct shape_options *given = state->input;
    switch (key) {
    case KEY_BATCH:
        given->batch = parse_size(state, "batch", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_TARGET:
        given->target_length = parse_size(state, "target-length", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_SOURCE:
        given->source_length = parse_size(state, "source-length", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_WIDTH:
        given->width = parse_size(state, "width", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_HEADS:
        given->heads = parse_size(state, "heads", text, 1, LARGEST_SIZE);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp shape_argp = {.options = size_options, .parser = parse_shape};

static error_t parse_alignment(int key, char *text, struct argp_state *state) {
    if (key != KEY_CAUSAL) {
        return ARGP_ERR_UNKNOWN;
    }
    parse_causal(state, state->input, text);
    return 0;
}

const struct argp causal_argp = {.options = causal_options, .parser = parse_alignment};

static const struct argp_child pass_children[] = {{&causal_argp, 0, NULL, 0}, {0}};

static error_t parse_pass(int key, char *text, struct argp_state *state) {
    struct shape_options *given = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = given;
        return 0;
    case KEY_SEED:
        given->seed = parse_seed(state, "seed", text);
        given->has_seed = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp pass_argp = {
    .options = pass_options, .parser = parse_pass, .children = pass_children};

static void set_size(size_t *size, size_t given) {
    if (given != 0) {
        *size = given;
    }
}

void apply_sizes(mha_shape *shape, const struct shape_options *given, bool one_length) {
    set_size(&shape->batch, given->batch);
    set_size(&shape->width, given->width);
    set_size(&shape->heads, given->heads);
    if (one_length) {
        set_size(&shape->source_length, given->target_length);
        set_size(&shape->target_length, given->source_length);
    }
    set_size(&shape->target_length, given->target_length);
    set_size(&shape->source_length, given->source_length);
}

/* -h, which argp leaves free. */
static const struct argp_option help_options[] = {{NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1}, {0}};

static error_t parse_help(int key, char *text, struct argp_state *state) {
    (void)text;
    if (key != 'h') {
        return ARGP_ERR_UNKNOWN;
    }
    argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    return 0;
}

const struct argp help_argp = {.options = help_options, .parser = parse_help};
