/* mha convert: weights from one file format and layout to another. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "options.h"
#include "same_file.h"
#include "weights_file.h"

struct arguments {
    const char *input, *output;
    mha_layout_hint hint;
    mha_layout to;         /* MHA_LAYOUT_UNKNOWN: the input's */
    const char *to_prefix; /* NULL: none */
    struct file_options files;
};

enum { KEY_TO = 0x100, KEY_TO_PREFIX };

static const struct argp_option options_table[] = {
    {"to", KEY_TO, "L", 0, "The layout of OUT (that of IN)", 0},
    {"to-prefix", KEY_TO_PREFIX, "P", 0,
        "Put P before the names in OUT, in the layouts torch and torch-linear (nothing)", 0},
    {0}};

static void parse_name(
    const struct argp_state *state, struct arguments *arguments, const char *text) {
    if (arguments->output != NULL) {
        usage_error(state, "IN and OUT are expected, '%s' is one more", text);
    } else if (arguments->input != NULL) {
        arguments->output = text;
    } else {
        arguments->input = text;
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->hint;
        state->child_inputs[1] = &arguments->files;
        return 0;
    case KEY_TO:
        arguments->to = parse_layout(state, "to", text);
        return 0;
    case KEY_TO_PREFIX:
        arguments->to_prefix = text;
        return 0;
    case ARGP_KEY_ARG:
        parse_name(state, arguments, text);
        return 0;
    case ARGP_KEY_END:
        if (arguments->output == NULL) {
            usage_error(state, "%s is missing: a .npz or .safetensors file",
                arguments->input == NULL ? "IN" : "OUT");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What was read of IN: the weights and their heads. */
static bool is_read(const void *set, const mha_array *array) {
    return strcmp(array->name, "heads") == 0 || mha_weight_set_holds(set, array);
}

/* "heads 2", or that the number is not known. */
static const char *heads_text(char text[32], size_t heads) {
    snprintf(text, 32, heads == 0 ? "heads not told" : "heads %zu", heads);
    return text;
}

/* A .npz file of the torch layouts holds the arrays of the module alone. */
static bool keeps_heads(const char *path, mha_layout layout) {
    const size_t length = strlen(path);
    const bool is_npz = length >= 4 && strcmp(path + length - 4, ".npz") == 0;
    return !is_npz || (layout != MHA_LAYOUT_TORCH && layout != MHA_LAYOUT_TORCH_LINEAR);
}

/* OUT may be IN as long as no other array of it is lost, nor the number of heads. */
static mha_status check_in_place(const struct arguments *arguments, const mha_arrays *arrays,
    const mha_weight_set *set, mha_layout to, mha_error *error) {
    if (!is_same_file(arguments->input, arguments->output)) {
        return MHA_OK;
    }
    const bool loses_heads = set->heads > 0 && !keeps_heads(arguments->output, to);
    const char *lost = loses_heads ? "the number of heads" : mha_arrays_skipped_at(arrays, 0);
    for (size_t i = 0; i < mha_arrays_count(arrays) && lost == NULL; i++) {
        const mha_array *array = mha_arrays_at(arrays, i);
        lost = is_read(set, array) ? NULL : array->name;
    }
    return lost == NULL ? MHA_OK
                        : mha_fail(error, MHA_ERROR_ARGUMENT,
                              "%s also holds %s, which would be lost: write to another file",
                              arguments->input, lost);
}

static mha_status convert(const struct arguments *arguments, mha_error *error) {
    mha_arrays *arrays;
    mha_weight_set set = {0};
    mha_error found;
    mha_status status =
        mha_arrays_read(&arrays, arguments->input, arguments->files.max_bytes, error);
    if (status != MHA_OK) {
        return status;
    }
    status = mha_weight_set_take(&set, arrays, arguments->input, &arguments->hint, &found);
    const mha_layout to = arguments->to != MHA_LAYOUT_UNKNOWN ? arguments->to : set.layout;
    if (status == MHA_OK) {
        status = check_in_place(arguments, arrays, &set, to, &found);
    }
    if (status == MHA_OK) {
        status = mha_weight_set_write(arguments->output, &set, to, arguments->to_prefix, &found);
    }
    if (status == MHA_OK) {
        char from_shown[SHOWN_SIZE], to_shown[SHOWN_SIZE], heads[32];
        tell_left_out(arrays, is_read, &set, arguments->input);
        printf("%s (%s) -> %s (%s): width %zu, %s%s, %s\n", printable(from_shown, arguments->input),
            mha_layout_name(set.layout), printable(to_shown, arguments->output),
            mha_layout_name(to), set.width, heads_text(heads, set.heads),
            set.heads == 0 || keeps_heads(arguments->output, to) ? ""
                                                                 : " (which OUT does not keep)",
            mha_dtype_name(set.dtype));
    }
    mha_weight_set_free(&set);
    mha_arrays_free(arrays);
    return status == MHA_OK ? MHA_OK : name_layout_option(&found, error);
}

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&layout_argp, 0, NULL, 0}, {&files_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options_table,
        .parser = parse,
        .args_doc = "IN OUT",
        .doc =
            "Convert weights between .npz and .safetensors files and between layouts; no bit of a "
            "number changes. OUT's ending chooses its format; OUT may be IN when no other array "
            "and no "
            "number of heads would be lost.\v"
            "The layouts L:\n"
            "  lesson        wq wk wv wo: each (D,D), (in,out), so that q = x @ wq\n"
            "  torch         in_proj_weight (3D,D), the rows of q, k and v in turn, and\n"
            "                out_proj.weight (D,D), both (out,in): the state of\n"
            "                torch.nn.MultiheadAttention(D, h, bias=False)\n"
            "  torch-linear  q_proj.weight k_proj.weight v_proj.weight out_proj.weight:\n"
            "                each (D,D), (out,in), as torch.nn.Linear keeps them\n"
            "  combined      w_qkv (D,3D), the columns of q, k and v in turn, and\n"
            "                w_o (D,D), both (in,out)\n"
            "The names in IN tell its layout. Four square matrices under other names, such as "
            "Wq or wq.weight, are read too, when --layout says lesson or torch-linear. Biases "
            "must be zero, and are left out.",
        .children = children};
    struct arguments arguments = {.input = NULL};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    mha_error error;
    if (convert(&arguments, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    return finish_output(STATUS_DONE);
}

const struct command command_convert = {
    "convert", "convert weights between file formats and layouts", run};
