#include "weights_file.h"

#include <string.h>

#include "arrays.h"
#include "options.h"

enum { KEY_MAX_BYTES = 0x300, KEY_LAYOUT, KEY_PREFIX, KEY_HEADS, LARGEST_HEADS = 1 << 30 };

static const struct argp_option file_option_list[] = {
    {"max-bytes", KEY_MAX_BYTES, "N", 0,
        "Refuse arrays that need more than N bytes of memory; K, M or G behind N stand for powers "
        "of "
        "1024 (a quarter of the memory)",
        2},
    {0}};

static error_t parse_files(int key, char *text, struct argp_state *state) {
    struct file_options *given = state->input;
    if (key != KEY_MAX_BYTES) {
        return ARGP_ERR_UNKNOWN;
    }
    given->max_bytes = parse_bytes(state, "max-bytes", text);
    return 0;
}

const struct argp files_argp = {.options = file_option_list, .parser = parse_files};

mha_layout parse_layout(const struct argp_state *state, const char *option, const char *text) {
    mha_layout layout = MHA_LAYOUT_UNKNOWN;
    if (!mha_layout_from_name(&layout, text) || layout == MHA_LAYOUT_UNKNOWN) {
        usage_error(
            state, "--%s '%s' is none of lesson, torch, torch-linear, combined", option, text);
    }
    return layout;
}

static const struct argp_option layout_option_list[] = {
    {"layout", KEY_LAYOUT, "L", 0,
        "How the weights are stored, where their names do not tell: lesson, torch, torch-linear or "
        "combined",
        0},
    {"prefix", KEY_PREFIX, "P", 0,
        "What stands before the names of the weights to take, such as 'encoder.attention.'; needed "
        "where there are several",
        0},
    {"heads", KEY_HEADS, "h", 0, "Heads, where the file does not tell", 0}, {0}};

static error_t parse_hint(int key, char *text, struct argp_state *state) {
    mha_layout_hint *hint = state->input;
    switch (key) {
    case KEY_LAYOUT:
        hint->layout = parse_layout(state, "layout", text);
        return 0;
    case KEY_PREFIX:
        hint->prefix = text;
        return 0;
    case KEY_HEADS:
        hint->heads = parse_size(state, "heads", text, 1, LARGEST_HEADS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp layout_argp = {.options = layout_option_list, .parser = parse_hint};

mha_status name_layout_option(const mha_error *found, mha_error *error) {
    static const char *const options[][2] = {{"name the layout", " (--layout)"},
        {"name the prefix", " (--prefix)"}, {"name the heads", " (--heads)"}};
    const char *option = "";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        option = strstr(found->text, options[i][0]) != NULL ? options[i][1] : option;
    }
    return mha_fail(error, found->status, "%s%s", found->text, option);
}

mha_status weight_set_check(
    const mha_weight_set *set, mha_dtype dtype, const char *path, mha_error *error) {
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    const size_t D = set->width, bytes = D * D * mha_dtype_bytes(set->dtype);
    for (size_t i = 0; i < 4; i++) {
        const mha_array matrix = {.name = names[i],
            .dtype = set->dtype,
            .rank = 2,
            .dims = {D, D},
            .data = (const char *)set->matrices + i * bytes};
        const size_t bad = dtype == MHA_FLOAT32 ? array_first_not_float(&matrix, 0)
                                                : array_first_not_finite(&matrix, 0);
        if (bad < D * D) {
            return array_refuse_number(&matrix, bad, "", path, error);
        }
    }
    return MHA_OK;
}

static bool is_weight(const void *context, const mha_array *array) {
    return mha_weight_set_holds(context, array) || strcmp(array->name, "heads") == 0;
}

mha_status load_weight_set(mha_weight_set *set, const char *path, const mha_layout_hint *hint,
    size_t max_bytes, mha_error *error) {
    mha_arrays *arrays;
    *set = (mha_weight_set){0};
    mha_status status = mha_arrays_read(&arrays, path, max_bytes, error);
    if (status == MHA_OK) {
        status = mha_weight_set_take(set, arrays, path, hint, error);
    }
    if (status == MHA_OK) {
        tell_left_out(arrays, is_weight, set, path);
    }
    mha_arrays_free(arrays);
    return status;
}
