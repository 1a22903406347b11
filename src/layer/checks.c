#include "layer/checks.h"

/* A named array; a list of them is searched for what is missing and what overlaps. */
typedef struct span {
    const char *name;
    const void *at;
    size_t bytes;
} span;

enum { SPANS = 16 };
typedef struct span_list {
    span at[SPANS];
    size_t count;
} span_list;

static void add_bytes(span_list *list, const char *name, const void *at, size_t bytes) {
    list->at[list->count++] = (span){name, at, bytes};
}

static void add(span_list *list, const char *name, const mha_real *at, mha_value value,
    const mha_shape *shape) {
    add_bytes(list, name, at, mha_value_count(value, shape) * sizeof *at);
}

static bool overlaps(const span *a, const span *b) {
    const uintptr_t a_begin = (uintptr_t)a->at, b_begin = (uintptr_t)b->at;
    return a->at != NULL && b->at != NULL && a->bytes > 0 && b->bytes > 0 &&
           a_begin < b_begin + b->bytes && b_begin < a_begin + a->bytes;
}

/* Refuses the first pair of which one is written and that overlaps: the first `written` arrays of
 * the list are. Array 0 and 1 may be one and the same where `shared` allows it. */
static mha_status check_overlaps(
    const span_list *list, size_t written, bool shared, mha_error *error) {
    for (size_t i = 0; i < written; i++) {
        for (size_t j = i + 1; j < list->count; j++) {
            const span *a = &list->at[i], *b = &list->at[j];
            const bool one_buffer =
                shared && i == 0 && j == 1 && a->at == b->at && a->bytes == b->bytes;
            if (!one_buffer && overlaps(a, b)) {
                return mha_fail(error, MHA_ERROR_ARGUMENT,
                    "%s (%zu bytes) and %s (%zu bytes) overlap in memory", a->name, a->bytes,
                    b->name, b->bytes);
            }
        }
    }
    return MHA_OK;
}

static mha_status check_present(const span_list *list, mha_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i].at == NULL && list->at[i].bytes > 0) {
            return mha_fail(error, MHA_ERROR_ARGUMENT, "%s is NULL, %zu bytes are needed",
                list->at[i].name, list->at[i].bytes);
        }
    }
    return MHA_OK;
}

/* Each stage has both functions, and the place in the table that mha_stages gives it. */
static mha_status check_stages(const mha_stage *stages, mha_error *error) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_stage *given = &stages[i], *own = &mha_stages[i];
        if (given->forward == NULL || given->backward == NULL) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "stage %zu (%s) has no forward or no backward function", i, own->name);
        }
        if (given->result != own->result || given->inputs != own->inputs) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "stage %zu writes value %d from inputs %#lx, in its place stands %s, which writes "
                "value %d from inputs %#lx",
                i, (int)given->result, given->inputs, own->name, (int)own->result, own->inputs);
        }
    }
    return MHA_OK;
}

mha_status check_options(const mha_layer_options *options, mha_error *error) {
    if (options == NULL) {
        return MHA_OK;
    }
    const bool reference = options->kernel == MHA_KERNEL_REFERENCE;
    if (!reference && options->kernel != MHA_KERNEL_FUSED) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "there is no kernel %d", (int)options->kernel);
    }
    if (options->mode != MHA_MODE_STORED && options->mode != MHA_MODE_TILED) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "there is no mode %d", (int)options->mode);
    }
    if (reference && options->mode == MHA_MODE_TILED) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "the reference kernel stores the attention weights, mode tiled is for the fused one");
    }
    if (!reference && options->stages != NULL) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "a table of %d stages is for the reference kernel, not for the fused one",
            (int)MHA_STAGE_COUNT);
    }
    return options->stages == NULL ? MHA_OK : check_stages(options->stages, error);
}

mha_status check_same_wing(const mha_tape *tape, stage_list stages, mha_error *error) {
    if (tape->stages.at == stages.at) {
        return MHA_OK;
    }
    return mha_fail(
        error, MHA_ERROR_STATE, "the tape was made for another kernel or mode than the layer's");
}

mha_status check_handles(
    const mha_tape *tape, const mha_layer *layer, const mha_shape *shape, mha_error *error) {
    const char *missing = tape == NULL    ? "tape"
                          : layer == NULL ? "layer"
                          : shape == NULL ? "shape"
                                          : NULL;
    return missing == NULL ? MHA_OK : mha_fail(error, MHA_ERROR_ARGUMENT, "%s is NULL", missing);
}

mha_status check_shape_fits(
    const mha_shape *shape, const mha_shape *largest, const char *what, mha_error *error) {
    const mha_status status = mha_shape_check(shape, error);
    if (status != MHA_OK) {
        return status;
    }
    const struct {
        const char *name;
        size_t given, limit;
        bool exact;
    } axes[] = {
        {"width", shape->width, largest->width, true},
        {"heads", shape->heads, largest->heads, true},
        {"batch", shape->batch, largest->batch, false},
        {"target length", shape->target_length, largest->target_length, false},
        {"source length", shape->source_length, largest->source_length, false},
    };
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i].exact && axes[i].given != axes[i].limit) {
            return mha_fail(error, MHA_ERROR_SHAPE, "%s %zu is not the %s's %zu", axes[i].name,
                axes[i].given, what, axes[i].limit);
        }
        if (axes[i].given > axes[i].limit) {
            return mha_fail(error, MHA_ERROR_SHAPE, "%s %zu exceeds the %s's %zu", axes[i].name,
                axes[i].given, what, axes[i].limit);
        }
    }
    return MHA_OK;
}

mha_status check_tape_state(
    const mha_tape *tape, const mha_layer *layer, const mha_shape *shape, mha_error *error) {
    if (tape->layer == NULL) {
        return mha_fail(error, MHA_ERROR_STATE, "the tape holds no forward pass");
    }
    if (tape->layer != layer) {
        return mha_fail(error, MHA_ERROR_STATE, "the tape holds the forward pass of another layer");
    }
    const mha_shape *held = &tape->pass.shape;
    const struct {
        const char *name;
        size_t given, held;
    } axes[] = {
        {"batch", shape->batch, held->batch},
        {"target length", shape->target_length, held->target_length},
        {"source length", shape->source_length, held->source_length},
        {"width", shape->width, held->width},
        {"heads", shape->heads, held->heads},
    };
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i].given != axes[i].held) {
            return mha_fail(error, MHA_ERROR_STATE,
                "the tape holds a forward pass with %s %zu, backward asks for %zu", axes[i].name,
                axes[i].held, axes[i].given);
        }
    }
    return MHA_OK;
}

static void add_mask(span_list *list, const mha_mask *mask, const mha_shape *shape) {
    if (mask == NULL) {
        return;
    }
    add_bytes(list, "lengths", mask->lengths,
        mask->lengths == NULL ? 0 : shape->batch * sizeof *mask->lengths);
    size_t bytes = mask->allowed == NULL ? 0 : 1;
    for (size_t i = 0; i < mask->rank; i++) {
        bytes *= mask->dims[i];
    }
    add_bytes(list, "mask", mask->allowed, bytes);
}

static void add_weights(span_list *list, const mha_shape *shape, const mha_real *const *weights) {
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        const mha_value value = (mha_value)(MHA_FIRST_WEIGHT + i);
        add(list, mha_value_name(value), weights[i], value, shape);
    }
}

bool is_self_attention(const mha_pass *pass) {
    return pass->value[MHA_SOURCE] == pass->value[MHA_QUERY] &&
           pass->shape.source_length == pass->shape.target_length;
}

mha_status check_forward_arrays(const mha_real *output, const mha_tape *tape, const mha_real *query,
    const mha_real *source, const mha_mask *mask, const mha_weights *weights,
    const mha_shape *shape, mha_error *error) {
    if (source == query && source != NULL && shape->target_length != shape->source_length) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "self-attention with target length %zu and source length %zu", shape->target_length,
            shape->source_length);
    }
    span_list list = {.count = 0};
    add(&list, "output", output, MHA_OUTPUT, shape);
    add_bytes(&list, "the tape", tape->block, tape->bytes);
    const size_t written = list.count;
    add(&list, "query", query, MHA_QUERY, shape);
    add(&list, "source", source, MHA_SOURCE, shape);
    const mha_real *matrices[MHA_WEIGHT_COUNT];
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        matrices[i] = weights == NULL ? NULL : weights->matrix[i];
    }
    add_weights(&list, shape, matrices);
    const mha_status status = check_present(&list, error);
    if (status != MHA_OK) {
        return status;
    }
    add_mask(&list, mask, shape);
    return check_overlaps(&list, written, false, error);
}

mha_status check_backward_arrays(const mha_real *dx_query, const mha_real *dx_source,
    const mha_weights *dweights, const mha_real *doutput, const mha_tape *tape, mha_error *error) {
    const mha_pass *pass = &tape->pass;
    const mha_shape *shape = &pass->shape;
    const bool has_rows = shape->batch > 0 && shape->source_length > 0;
    if (is_self_attention(pass) && has_rows && dx_source != NULL && dx_source != dx_query) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "self-attention has one input gradient: dx_source must be NULL or dx_query");
    }
    static const char *const gradient_names[MHA_WEIGHT_COUNT] = {"dwq", "dwk", "dwv", "dwo"};
    span_list list = {.count = 0};
    add(&list, "dx_query", dx_query, MHA_QUERY, shape);
    add(&list, "dx_source", dx_source, MHA_SOURCE, shape);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        add(&list, gradient_names[i], dweights == NULL ? NULL : dweights->matrix[i],
            (mha_value)(MHA_FIRST_WEIGHT + i), shape);
    }
    const size_t written = list.count;
    span_list needed = {.count = 0};
    add(&needed, "doutput", doutput, MHA_OUTPUT, shape);
    const mha_status status = check_present(&needed, error);
    if (status != MHA_OK) {
        return status;
    }
    list.at[list.count++] = needed.at[0];
    add_bytes(&list, "the tape", tape->block, tape->bytes);
    add(&list, "query", pass->value[MHA_QUERY], MHA_QUERY, shape);
    add(&list, "source", pass->value[MHA_SOURCE], MHA_SOURCE, shape);
    add_weights(&list, shape, &pass->value[MHA_FIRST_WEIGHT]);
    add_mask(&list, pass->mask, shape);
    return check_overlaps(&list, written, true, error);
}
