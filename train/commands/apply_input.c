#include "apply_input.h"

#include <stdlib.h>
#include <string.h>

#include <mha/values.h>

#include "weights_file.h"

/* Weights that stand beside the arrays and in a file of their own could differ. */
static mha_status refuse_both(
    const mha_arrays *arrays, const struct apply_request *request, mha_error *error) {
    const mha_layout_hint nothing = {.layout = MHA_LAYOUT_UNKNOWN};
    mha_weight_set found;
    if (mha_weight_set_take(&found, arrays, request->input, &nothing, NULL) != MHA_OK) {
        return MHA_OK;
    }
    mha_weight_set_free(&found);
    return mha_fail(error, MHA_ERROR_FORMAT,
        "weights stand in %s and in --weights %s, one of them is needed", request->input,
        request->weights);
}

static mha_status take_weights(
    struct apply_input *input, const struct apply_request *request, mha_error *error) {
    mha_error found;
    mha_status status;
    if (request->weights == NULL) {
        input->own_weights = true;
        status = mha_weight_set_take(
            &input->weights, input->arrays, request->input, &request->hint, &found);
    } else {
        status = refuse_both(input->arrays, request, &found);
        if (status == MHA_OK) {
            status = load_weight_set(
                &input->weights, request->weights, &request->hint, request->max_bytes, &found);
        }
    }
    return status == MHA_OK ? MHA_OK : name_layout_option(&found, error);
}

static mha_status check_weights(
    const struct apply_input *input, const struct apply_request *request, mha_error *error) {
    const char *path = request->weights != NULL ? request->weights : request->input;
    const mha_weight_set *weights = &input->weights;
    if (weights->heads == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s does not tell the number of heads: give --heads, or an integer array 'heads'",
            path);
    }
    if (weights->width != input->query.dims[2]) {
        char shape[MHA_SHAPE_TEXT_SIZE];
        return mha_fail(error, MHA_ERROR_SHAPE,
            "%s: query %s has width %zu, the weights%s%s have %zu", request->input,
            mha_array_shape_text(shape, &input->query), input->query.dims[2],
            request->weights != NULL ? " of " : "",
            request->weights != NULL ? request->weights : "", weights->width);
    }
    return weight_set_check(weights, weights->dtype, path, error);
}

#define QUERY_AXES   "(batch, target length, width)"
#define CONTEXT_AXES "(batch, source length, width)"

static mha_status check_stream(
    const mha_array *array, const char *axes, const char *path, mha_error *error) {
    mha_status status = array_check_floating(array, path, error);
    if (status == MHA_OK) {
        status = array_check_rank(array, 3, axes, path, error);
    }
    return status;
}

static mha_status check_query(const mha_array *query, const char *path, mha_error *error) {
    const mha_status status = check_stream(query, QUERY_AXES, path, error);
    return status != MHA_OK ? status : array_check_finite(query, path, error);
}

static mha_status check_context(
    const mha_array *context, const mha_array *query, const char *path, mha_error *error) {
    mha_status status = check_stream(context, CONTEXT_AXES, path, error);
    if (status == MHA_OK) {
        status = array_check_axis(context, query, 0, "batch", path, error);
    }
    if (status == MHA_OK) {
        status = array_check_axis(context, query, 2, "width", path, error);
    }
    return status;
}

static mha_status check_grad_output(
    const mha_array *grad_output, const mha_array *query, const char *path, mha_error *error) {
    static const char *const axes[] = {"batch", "target length", "width"};
    mha_status status = check_stream(grad_output, QUERY_AXES, path, error);
    for (size_t axis = 0; status == MHA_OK && axis < 3; axis++) {
        status = array_check_axis(grad_output, query, axis, axes[axis], path, error);
    }
    return status != MHA_OK ? status : array_check_finite(grad_output, path, error);
}

/* Takes the array of that name where there is one. */
static bool take(mha_array *array, const mha_arrays *arrays, const char *name) {
    const mha_array *found = mha_arrays_find(arrays, name);
    if (found != NULL) {
        *array = *found;
    }
    return found != NULL;
}

static mha_status take_streams(struct apply_input *input, const char *path, mha_error *error) {
    const mha_array *query;
    mha_status status = array_find(&query, input->arrays, "query", path, error);
    if (status != MHA_OK) {
        return status;
    }
    input->query = *query;
    input->has_context = take(&input->context, input->arrays, "context");
    input->has_gradient = take(&input->grad_output, input->arrays, "grad_output");
    status = check_query(query, path, error);
    if (status == MHA_OK && input->has_context) {
        status = check_context(&input->context, query, path, error);
    }
    if (status == MHA_OK && input->has_gradient) {
        status = check_grad_output(&input->grad_output, query, path, error);
    }
    return status;
}

/* A context row may hold anything as long as no query sees it. */
static mha_status check_seen_context(
    const struct apply_input *input, const char *path, mha_error *error) {
    const mha_array *context = &input->context;
    const size_t S = context->dims[1], D = context->dims[2], count = mha_array_count(context);
    size_t at = array_first_not_finite(context, 0);
    while (at < count) {
        const size_t row = at / D;
        if (mha_mask_sees_source(&input->mask.mask, &input->shape, row / S, row % S)) {
            return array_refuse_number(context, at, " in a row that a query sees", path, error);
        }
        at = array_first_not_finite(context, (row + 1) * D);
    }
    return MHA_OK;
}

static mha_status read_mask(
    struct apply_input *input, const struct apply_request *request, mha_error *error) {
    const mha_array *source = input->has_context ? &input->context : &input->query;
    input->shape = (mha_shape){.batch = input->query.dims[0],
        .target_length = input->query.dims[1],
        .source_length = source->dims[1],
        .width = input->query.dims[2],
        .heads = input->weights.heads};
    mha_error found;
    if (mha_shape_check(&input->shape, &found) != MHA_OK) {
        return mha_fail(error, found.status, "%s: %s", request->input, found.text);
    }
    mha_status status = array_mask_create(
        &input->mask, input->arrays, request->causal, &input->shape, request->input, error);
    if (status == MHA_OK && input->has_context) {
        status = check_seen_context(input, request->input, error);
    }
    return status;
}

static mha_status widen_weights(mha_weight_set *weights, mha_error *error) {
    mha_array block = {.dtype = weights->dtype,
        .rank = 3,
        .dims = {MHA_WEIGHT_COUNT, weights->width, weights->width},
        .data = weights->matrices};
    void *converted = NULL;
    const mha_status status = array_widen(&block, &converted, error);
    if (converted != NULL) {
        free(weights->matrices);
        weights->matrices = converted;
        weights->dtype = MHA_FLOAT64;
    }
    return status;
}

/* Brings all arrays to one precision. */
static mha_status unite_precision(
    struct apply_input *input, const struct apply_request *request, mha_error *error) {
    mha_array *const streams[] = {&input->query, &input->context, &input->grad_output};
    input->dtype = request->in_double ? MHA_FLOAT64 : input->weights.dtype;
    for (size_t i = 0; i < 3; i++) {
        if (streams[i]->data != NULL && streams[i]->dtype == MHA_FLOAT64) {
            input->dtype = MHA_FLOAT64;
        }
    }
    if (input->dtype != MHA_FLOAT64) {
        return MHA_OK;
    }
    mha_status status = widen_weights(&input->weights, error);
    for (size_t i = 0; status == MHA_OK && i < 3; i++) {
        status = array_widen(streams[i], &input->converted[i], error);
    }
    return status;
}

mha_status apply_input_read(
    struct apply_input *input, const struct apply_request *request, mha_error *error) {
    *input = (struct apply_input){.arrays = NULL};
    mha_status status = mha_arrays_read(&input->arrays, request->input, request->max_bytes, error);
    if (status == MHA_OK) {
        status = take_streams(input, request->input, error);
    }
    if (status == MHA_OK) {
        status = take_weights(input, request, error);
    }
    if (status == MHA_OK) {
        status = check_weights(input, request, error);
    }
    if (status == MHA_OK) {
        status = read_mask(input, request, error);
    }
    if (status == MHA_OK) {
        status = unite_precision(input, request, error);
    }
    if (status != MHA_OK) {
        apply_input_free(input);
    }
    return status;
}

void apply_input_free(struct apply_input *input) {
    for (size_t i = 0; i < sizeof input->converted / sizeof *input->converted; i++) {
        free(input->converted[i]);
    }
    array_mask_free(&input->mask);
    mha_weight_set_free(&input->weights);
    mha_arrays_free(input->arrays);
    *input = (struct apply_input){.arrays = NULL};
}

bool apply_input_reads(const void *context, const mha_array *array) {
    static const char *const names[] = {"query", "context", "mask", "lengths", "grad_output"};
    const struct apply_input *input = context;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(array->name, names[i]) == 0) {
            return true;
        }
    }
    return mha_weight_set_holds(&input->weights, array) ||
           (input->own_weights && strcmp(array->name, "heads") == 0);
}

void apply_input_tell_left_out(
    const struct apply_input *input, const struct apply_request *request) {
    tell_left_out(input->arrays, apply_input_reads, input, request->input);
}
