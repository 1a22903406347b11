/* mha apply: the layer on a user's arrays, forward and backward. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "apply_input.h"
#include "apply_pass.h"
#include "memory.h"
#include "options.h"
#include "same_file.h"
#include "weights_file.h"

/* What is written, each with the shape of a value of the layer. */
enum {
    RESULT_OUTPUT,
    RESULT_ATTENTION,
    RESULT_GRAD_QUERY,
    RESULT_GRAD_CONTEXT,
    RESULT_GRAD_WEIGHTS, /* the first of four */
    RESULT_COUNT = RESULT_GRAD_WEIGHTS + MHA_WEIGHT_COUNT
};

static const struct {
    const char *name;
    mha_value value;
} results[RESULT_COUNT] = {
    {"output", MHA_OUTPUT},
    {"weights", MHA_ATTENTION_WEIGHTS},
    {"grad_query", MHA_QUERY},
    {"grad_context", MHA_SOURCE},
    {"grad_wq", MHA_WQ},
    {"grad_wk", MHA_WK},
    {"grad_wv", MHA_WV},
    {"grad_wo", MHA_WO},
};

static bool is_wanted(size_t result, const struct apply_input *input) {
    return result < RESULT_GRAD_QUERY ||
           (input->has_gradient && (result != RESULT_GRAD_CONTEXT || input->has_context));
}

static size_t add_saturating(size_t a, size_t b) {
    return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

/* Refuses what cannot fit into the machine, before the system lends memory that it does not have:
 * every value of the layer, with gradients its gradient, and the results. */
static mha_status check_memory(const struct apply_input *input, mha_error *error) {
    const size_t number = mha_dtype_bytes(input->dtype), most = mha_max_bytes_default();
    size_t bytes = 0;
    for (size_t value = 0; value < MHA_VALUE_COUNT; value++) {
        const size_t one = mha_value_shape_of((mha_value)value, &input->shape).count * number;
        bytes = add_saturating(bytes, one);
        bytes = add_saturating(bytes, input->has_gradient ? one : 0);
    }
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        const size_t one = mha_value_shape_of(results[i].value, &input->shape).count * number;
        bytes = add_saturating(bytes, is_wanted(i, input) ? one : 0);
    }
    return bytes / 4 <= most ? MHA_OK
                             : mha_fail(error, MHA_ERROR_MEMORY,
                                   "no memory for %zu bytes, the machine has %zu", bytes, 4 * most);
}

/* Zeroed memory for the results that are wanted; the others stay NULL. */
static mha_status make_results(
    void *data[RESULT_COUNT], const struct apply_input *input, mha_error *error) {
    const size_t number = mha_dtype_bytes(input->dtype);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        const mha_value_shape shape = mha_value_shape_of(results[i].value, &input->shape);
        if (is_wanted(i, input)) {
            data[i] = allocate_zeroed(shape.count, number);
            if (data[i] == NULL) {
                return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu bytes of %s",
                    shape.count * number, results[i].name);
            }
        }
    }
    return MHA_OK;
}

static mha_status compute(
    void *const data[RESULT_COUNT], const struct apply_input *input, mha_error *error) {
    struct pass_arrays arrays = {.shape = input->shape,
        .mask = &input->mask.mask,
        .query = input->query.data,
        .context = input->context.data,
        .weights = input->weights.matrices,
        .grad_output = input->grad_output.data,
        .output = data[RESULT_OUTPUT],
        .attention = data[RESULT_ATTENTION],
        .grad_query = data[RESULT_GRAD_QUERY],
        .grad_context = data[RESULT_GRAD_CONTEXT]};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        arrays.grad_weights[i] = data[RESULT_GRAD_WEIGHTS + i];
    }
    /* Without queries the results are empty or zero, as they are; and a file that holds no number may
     * claim a batch of any size. */
    if (mha_array_count(&input->query) == 0) {
        return MHA_OK;
    }
    return input->dtype == MHA_FLOAT64 ? apply_pass_f64(&arrays, error)
                                       : apply_pass_f32(&arrays, error);
}

static mha_array result_array(size_t i, const void *data, const struct apply_input *input) {
    const mha_value_shape shape = mha_value_shape_of(results[i].value, &input->shape);
    mha_array array = {
        .name = results[i].name, .dtype = input->dtype, .rank = shape.rank, .data = data};
    memcpy(array.dims, shape.dims, shape.rank * sizeof *shape.dims);
    return array;
}

static mha_status write_results(const char *path, void *const data[RESULT_COUNT],
    const struct apply_input *input, mha_error *error) {
    mha_array arrays[RESULT_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        if (data[i] != NULL) {
            arrays[count++] = result_array(i, data[i], input);
        }
    }
    return mha_arrays_write(path, arrays, count, NULL, 0, error);
}

/* A result that is not finite, of inputs that all are, has overflowed: it is written, and told. */
static void tell_overflow(
    const char *path, void *const data[RESULT_COUNT], const struct apply_input *input) {
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        const mha_array array = result_array(i, data[i], input);
        const size_t bad = data[i] == NULL ? SIZE_MAX : array_first_not_finite(&array, 0);
        if (bad < mha_array_count(&array)) {
            mha_error error;
            array_refuse_number(&array, bad, ", its terms are too large", path, &error);
            complain("%s", error.text);
            return;
        }
    }
}

/* OUT must not take the place of what the results were made from. */
static mha_status check_output(const struct apply_request *request, mha_error *error) {
    const char *const read[] = {request->input, request->weights};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        if (read[i] != NULL && is_same_file(request->output, read[i])) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "-o %s is the file %s that is read, whose arrays would be lost", request->output,
                read[i]);
        }
    }
    return MHA_OK;
}

static mha_status apply(
    const struct apply_input *input, const struct apply_request *request, mha_error *error) {
    void *data[RESULT_COUNT] = {NULL};
    mha_status status = check_memory(input, error);
    if (status == MHA_OK) {
        status = make_results(data, input, error);
    }
    if (status == MHA_OK) {
        status = compute(data, input, error);
    }
    if (status == MHA_OK) {
        status = write_results(request->output, data, input, error);
    }
    if (status == MHA_OK) {
        tell_overflow(request->output, data, input);
    }
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        free(data[i]);
    }
    return status;
}

struct arguments {
    struct apply_request request;
    struct shape_options given; /* its alignment alone */
    struct file_options files;
};

enum { KEY_WEIGHTS = 0x200 };

static const struct argp_option options_table[] = {
    {"output", 'o', "OUT", 0,
        "Write this file, .npz or .safetensors as it ends; it must not be one that is read", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0, "Read the weights from FILE; without it, from IN", 0}, {0}};

static bool ends_in(const char *path, const char *ending) {
    const size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    struct apply_request *request = &arguments->request;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->given;
        state->child_inputs[1] = &request->hint;
        state->child_inputs[2] = &arguments->files;
        return 0;
    case 'o':
        request->output = text;
        return 0;
    case KEY_WEIGHTS:
        request->weights = text;
        return 0;
    case ARGP_KEY_ARG:
        if (request->input != NULL) {
            usage_error(state, "one IN is expected, '%s' and '%s' are given", request->input, text);
        }
        request->input = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "IN is missing: a .npz or .safetensors file that holds a query");
        return 0;
    case ARGP_KEY_SUCCESS:
        if (request->output == NULL) {
            usage_error(state, "-o OUT is missing: a .npz or .safetensors file to write");
        } else if (!ends_in(request->output, ".npz") && !ends_in(request->output, ".safetensors")) {
            usage_error(state, "OUT '%s' ends in neither .npz nor .safetensors", request->output);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_request(const struct apply_request *request) {
    struct apply_input input;
    mha_error error;
    mha_status status = check_output(request, &error);
    if (status != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    status = apply_input_read(&input, request, &error);
    if (status == MHA_OK) {
        status = apply(&input, request, &error);
    }
    if (status != MHA_OK) {
        complain("%s", error.text);
    } else {
        apply_input_tell_left_out(&input, request);
    }
    apply_input_free(&input);
    return status == MHA_OK ? finish_output(STATUS_DONE) : STATUS_USAGE;
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {{&causal_argp, 0, NULL, 0},
        {&layout_argp, 0, NULL, 0}, {&files_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options_table,
        .parser = parse,
        .args_doc = "IN -o OUT",
        .doc =
            "Run the layer on the arrays of IN, a .npz or .safetensors file; with a grad_output "
            "among them compute every gradient too.\v"
            "IN holds\n"
            "  query        (B,T,D)\n"
            "  context      (B,S,D); without it the query is its own source\n"
            "  mask         booleans, true = allowed, or integers of 0 and 1:\n"
            "               (T,S), (B,T,S), or (B,h,T,S) where any may be 1\n"
            "  lengths      (B), integers: how many keys of a sample count\n"
            "  grad_output  (B,T,D), the gradient of a loss by the output\n"
            "  wq wk wv wo  (D,D) each, and heads, or the weights in another layout;\n"
            "               not with --weights\n"
            "of which query and weights are needed. A key is seen when --causal, lengths and mask "
            "all allow it; a query that sees no key has output 0 and adds 0 to every gradient.\n\n"
            "OUT holds output (B,T,D) and the attention weights of each head, weights (B,h,T,S); "
            "with grad_output also grad_query, grad_context where there is a context, and grad_wq "
            "grad_wk grad_wv grad_wo. These four are (in,out), as in y = x @ w, in whatever layout "
            "the weights were. When any of the arrays is double, all is computed and written in "
            "double, else in float.",
        .children = children};
    struct arguments arguments = {.request = {.input = NULL}};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    arguments.request.causal = arguments.given.causal;
    arguments.request.max_bytes = arguments.files.max_bytes;
    return run_request(&arguments.request);
}

const struct command command_apply = {
    "apply", "run the layer on your own arrays, forward and backward", run};
