/* mha init: initial weights, as NumPy draws them. */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/layouts.h>
#include <mha/mha64.h>

#include "memory.h"
#include "options.h"

enum stream { STREAM_LESSON, STREAM_HANDBOOK };

static const char *const stream_names[] = {"lesson", "handbook"};

struct arguments {
    const char *output;
    size_t width, heads; /* 0: not given */
    uint64_t seed;
    enum stream stream;
};

enum { KEY_WIDTH = 0x100, KEY_HEADS, KEY_SEED, KEY_STREAM, LARGEST_SIZE = 1 << 30 };

static const struct argp_option options_table[] = {
    {"output", 'o', "W", 0, "Write this file, .npz or .safetensors as it ends", 0},
    {"width", KEY_WIDTH, "D", 0, "Features of a position", 0},
    {"heads", KEY_HEADS, "h", 0, "Heads; must divide the width", 0},
    {"seed", KEY_SEED, "N", 0, "Seed of the stream (0)", 0},
    {"stream", KEY_STREAM, "STREAM", 0,
        "lesson: numpy.random.default_rng(N), normal / sqrt(D) for wq, wk, wv and wo in turn; "
        "handbook: numpy.random.seed(N), randn(D,3D) * sqrt(2/D) for the columns of wq, wk and wv, "
        "then randn(D,D) * sqrt(2/D) for wo (lesson)",
        0},
    {0}};

static void parse_stream(struct argp_state *state, enum stream *stream, const char *text) {
    for (size_t i = 0; i < sizeof stream_names / sizeof *stream_names; i++) {
        if (strcmp(stream_names[i], text) == 0) {
            *stream = (enum stream)i;
            return;
        }
    }
    usage_error(state, "--stream '%s' is none of lesson, handbook", text);
}

static void check_arguments(const struct argp_state *state, const struct arguments *arguments) {
    if (arguments->output == NULL) {
        usage_error(state, "-o W is missing: a .npz or .safetensors file to write");
    } else if (arguments->width == 0) {
        usage_error(state, "--width is missing");
    } else if (arguments->heads == 0) {
        usage_error(state, "--heads is missing");
    } else if (arguments->stream == STREAM_HANDBOOK && arguments->seed > UINT32_MAX) {
        usage_error(state, "--seed %" PRIu64 " is above %" PRIu32 ", the last of --stream handbook",
            arguments->seed, UINT32_MAX);
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case 'o':
        arguments->output = text;
        return 0;
    case KEY_WIDTH:
        arguments->width = parse_size(state, "width", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_HEADS:
        arguments->heads = parse_size(state, "heads", text, 1, LARGEST_SIZE);
        return 0;
    case KEY_SEED:
        arguments->seed = parse_seed(state, "seed", text);
        return 0;
    case KEY_STREAM:
        parse_stream(state, &arguments->stream, text);
        return 0;
    case ARGP_KEY_ARG:
        usage_error(state, "unexpected argument '%s'", text);
        return 0;
    case ARGP_KEY_SUCCESS:
        check_arguments(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void draw(mha_real *matrices, const struct arguments *arguments) {
    const mha_weights weights = mha_weights_view(matrices, arguments->width);
    if (arguments->stream == STREAM_HANDBOOK) {
        mha_legacy_rng rng;
        mha_legacy_rng_seed(&rng, (uint32_t)arguments->seed);
        mha_weights_draw_handbook(&weights, &rng, arguments->width);
    } else {
        mha_rng rng;
        mha_rng_seed(&rng, &arguments->seed, 1);
        mha_weights_draw(&weights, &rng, arguments->width);
    }
}

/* Refuses sizes that do not fit together, and weights that the machine may not hold: the system may
 * lend memory that it does not have. */
static mha_status check_sizes(const struct arguments *arguments, mha_error *error) {
    const mha_shape shape = {.width = arguments->width, .heads = arguments->heads};
    const mha_status status = mha_shape_check(&shape, error);
    const size_t most = mha_max_bytes_default();
    if (status == MHA_OK &&
        most / (MHA_WEIGHT_COUNT * sizeof(mha_real)) / shape.width < shape.width) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "weights of width %zu need more than a quarter of the memory, which is %zu bytes",
            shape.width, most);
    }
    return status;
}

static mha_status make_weights(const struct arguments *arguments, mha_error *error) {
    const size_t width = arguments->width;
    mha_status status = check_sizes(arguments, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_real *matrices = allocate_zeroed(MHA_WEIGHT_COUNT * width * width, sizeof *matrices);
    if (matrices == NULL) {
        return no_memory(error);
    }
    draw(matrices, arguments);
    const mha_weight_set set = {
        .dtype = MHA_FLOAT64, .width = width, .heads = arguments->heads, .matrices = matrices};
    status = mha_weight_set_write(arguments->output, &set, MHA_LAYOUT_LESSON, NULL, error);
    free(matrices);
    return status;
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options_table,
        .parser = parse,
        .args_doc = "-o W --width D --heads h",
        .doc = "Write initial weights in double, wq wk wv wo and the number of heads, equal to the "
               "last "
               "bit to those that NumPy draws with the same seed.",
        .children = children};
    struct arguments arguments = {.stream = STREAM_LESSON};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    mha_error error;
    if (make_weights(&arguments, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    char shown[SHOWN_SIZE];
    printf("%s: wq wk wv wo, width %zu, heads %zu, float64, seed %" PRIu64 " of the stream %s\n",
        printable(shown, arguments.output), arguments.width, arguments.heads, arguments.seed,
        stream_names[arguments.stream]);
    return finish_output(STATUS_DONE);
}

const struct command command_init = {
    "init", "write initial weights, equal to NumPy's to the last bit", run};
