#include "apply_results.h"

#include <stdlib.h>
#include <string.h>

#include <mha/mha32.h>

#include "command.h"
#include "memory.h"

/* Each has the shape of a value of the layer. */
static const struct {
    const char *name;
    mha_value value;
} table[RESULT_COUNT] = {
    {"output", MHA_OUTPUT},
    {"weights", MHA_ATTENTION_WEIGHTS},
    {"grad_query", MHA_QUERY},
    {"grad_context", MHA_SOURCE},
    {"grad_wq", MHA_WQ},
    {"grad_wk", MHA_WK},
    {"grad_wv", MHA_WV},
    {"grad_wo", MHA_WO},
};

static bool is_wanted(
    size_t result, const struct apply_input *input, const struct compute_options *compute) {
    switch (result) {
    case RESULT_OUTPUT:
        return true;
    case RESULT_ATTENTION:
        return compute->mode == MHA_MODE_STORED;
    case RESULT_GRAD_CONTEXT:
        return input->has_gradient && input->has_context;
    default:
        return input->has_gradient;
    }
}

static size_t add_saturating(size_t a, size_t b) {
    return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

static size_t value_bytes(mha_value value, const struct apply_input *input) {
    return mha_value_count(value, &input->shape) * mha_dtype_bytes(input->dtype);
}

/* Of the values that the stages name: all that are there, and all that have a gradient. */
static void list_values(
    unsigned long *values, unsigned long *gradients, const struct compute_options *compute) {
    size_t count;
    const mha_stage *stages = mha_stages_of(&count, compute->kernel, compute->mode);
    *values = *gradients = 0;
    for (size_t i = 0; i < count; i++) {
        *gradients |= stages[i].inputs | 1ul << stages[i].result;
        *values |= *gradients | stages[i].also_saves;
    }
}

/* Refuses what cannot fit into the machine, before the system lends memory that it does not have:
 * every value of the layer, with gradients its gradient, and the results. */
static mha_status check_memory(
    const struct apply_input *input, const struct compute_options *compute, mha_error *error) {
    const size_t most = mha_max_bytes_default();
    size_t bytes = 0;
    unsigned long values, gradients;
    list_values(&values, &gradients, compute);
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t one = value_bytes((mha_value)i, input);
        bytes = add_saturating(bytes, (values >> i & 1) != 0 ? one : 0);
        bytes = add_saturating(bytes, input->has_gradient && (gradients >> i & 1) != 0 ? one : 0);
    }
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        const size_t one = value_bytes(table[i].value, input);
        bytes = add_saturating(bytes, is_wanted(i, input, compute) ? one : 0);
    }
    return bytes / 4 <= most ? MHA_OK
                             : mha_fail(error, MHA_ERROR_MEMORY,
                                   "no memory for %zu bytes, the machine has %zu", bytes, 4 * most);
}

mha_status apply_results_create(struct apply_results *results, const struct apply_input *input,
    const struct compute_options *compute, mha_error *error) {
    *results = (struct apply_results){.data = {NULL}};
    const mha_status status = check_memory(input, compute, error);
    if (status != MHA_OK) {
        return status;
    }
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        if (is_wanted(i, input, compute)) {
            const size_t bytes = value_bytes(table[i].value, input);
            results->data[i] = allocate_zeroed(bytes, 1);
            if (results->data[i] == NULL) {
                apply_results_free(results);
                return mha_fail(
                    error, MHA_ERROR_MEMORY, "no memory for %zu bytes of %s", bytes, table[i].name);
            }
        }
    }
    return MHA_OK;
}

void apply_results_free(struct apply_results *results) {
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        free(results->data[i]);
        results->data[i] = NULL;
    }
}

static mha_array result_array(
    size_t i, const struct apply_results *results, const struct apply_input *input) {
    const mha_value_shape shape = mha_value_shape_of(table[i].value, &input->shape);
    mha_array array = {
        .name = table[i].name, .dtype = input->dtype, .rank = shape.rank, .data = results->data[i]};
    memcpy(array.dims, shape.dims, shape.rank * sizeof *shape.dims);
    return array;
}

static void tell_overflow(const mha_array *arrays, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++) {
        const size_t bad = array_first_not_finite(&arrays[i], 0);
        if (bad < mha_array_count(&arrays[i])) {
            mha_error error;
            array_refuse_number(&arrays[i], bad, ", its terms are too large", path, &error);
            complain("%s", error.text);
            return;
        }
    }
}

mha_status apply_results_write(const struct apply_results *results, const struct apply_input *input,
    const char *path, mha_error *error) {
    mha_array arrays[RESULT_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        if (results->data[i] != NULL) {
            arrays[count++] = result_array(i, results, input);
        }
    }
    const mha_status status = mha_arrays_write(path, arrays, count, NULL, 0, error);
    if (status == MHA_OK) {
        tell_overflow(arrays, count, path);
    }
    return status;
}
