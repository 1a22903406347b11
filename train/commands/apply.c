/* mha apply: the layer on a user's arrays, forward and backward. */
#include "command.h"

#include <string.h>

#include "apply_input.h"
#include "apply_pass.h"
#include "apply_results.h"
#include "options.h"
#include "same_file.h"
#include "weights_file.h"

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

static mha_status compute(struct apply_results *results, const struct apply_input *input,
    const struct apply_request *request, mha_error *error) {
    void *const *data = results->data;
    struct pass_arrays arrays = {.shape = input->shape,
        .mask = &input->mask.mask,
        .kernel = request->compute.kernel,
        .mode = request->compute.mode,
        .threads = request->compute.threads,
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

static mha_status apply(
    const struct apply_input *input, const struct apply_request *request, mha_error *error) {
    struct apply_results results;
    mha_status status = apply_results_create(&results, input, &request->compute, error);
    if (status != MHA_OK) {
        return status;
    }
    status = compute(&results, input, request, error);
    if (status == MHA_OK) {
        status = apply_results_write(&results, input, request->output, error);
    }
    apply_results_free(&results);
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
        state->child_inputs[2] = &request->compute;
        state->child_inputs[3] = &arguments->files;
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
        {&layout_argp, 0, NULL, 0}, {&compute_argp, 0, NULL, 0}, {&files_argp, 0, NULL, 0},
        {&help_argp, 0, NULL, 0}, {0}};
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
            "OUT holds output (B,T,D) and, but in mode tiled, the attention weights of each head, "
            "weights (B,h,T,S); with grad_output also grad_query, grad_context where there is a "
            "context, and grad_wq "
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
