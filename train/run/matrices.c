#include "run/matrices.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

const char *const run_weight_names[MHA_WEIGHT_COUNT] = {"wq", "wk", "wv", "wo"};
const char *const run_velocity_names[MHA_WEIGHT_COUNT] = {
    "velocity_wq", "velocity_wk", "velocity_wv", "velocity_wo"};

void run_describe_matrices(mha_array arrays[MHA_WEIGHT_COUNT],
    const char *const names[MHA_WEIGHT_COUNT], const mha_real *matrices, size_t width) {
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        arrays[i] = (mha_array){.name = names[i],
            .dtype = MHA_FLOAT32,
            .rank = 2,
            .dims = {width, width},
            .data = matrices + i * width * width};
    }
}

static mha_status check_matrix(
    const mha_array *array, const char *name, size_t width, const char *path, mha_error *error) {
    if (array == NULL || array->dtype != MHA_FLOAT32) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: '%s' is missing or not float32", path, name);
    }
    if (array->rank != 2 || array->dims[0] != width || array->dims[1] != width) {
        char shape[MHA_SHAPE_TEXT_SIZE];
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: '%s' is %s, width %zu needs (%zu, %zu)", path,
            name, mha_array_shape_text(shape, array), width, width, width);
    }
    return MHA_OK;
}

mha_status run_take_matrices(mha_real **matrices, const mha_arrays *arrays,
    const char *const names[MHA_WEIGHT_COUNT], size_t width, const char *path, mha_error *error) {
    *matrices = NULL;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        const mha_array *array = mha_arrays_find(arrays, names[i]);
        const mha_status status = check_matrix(array, names[i], width, path, error);
        if (status != MHA_OK) {
            return status;
        }
    }
    const size_t entries = width * width; /* as many as one of the arrays has */
    *matrices = allocate_zeroed(entries, MHA_WEIGHT_COUNT * sizeof **matrices);
    if (*matrices == NULL) {
        return no_memory(error);
    }
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        memcpy(*matrices + i * entries, mha_arrays_find(arrays, names[i])->data,
            entries * sizeof **matrices);
    }
    return MHA_OK;
}

/* The array of that name when it is one number of that kind, else NULL. */
static const mha_array *find_scalar(const mha_arrays *arrays, const char *name, mha_dtype dtype) {
    const mha_array *array = mha_arrays_find(arrays, name);
    return array != NULL && array->rank == 0 && array->dtype == dtype ? array : NULL;
}

mha_status run_take_integer(size_t *value, const mha_arrays *arrays, const char *name, size_t most,
    const char *path, mha_error *error) {
    const mha_array *array = find_scalar(arrays, name, MHA_INT64);
    if (array == NULL) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%s: '%s' is missing or not one integer", path, name);
    }
    const int64_t number = *(const int64_t *)array->data;
    if (number < 0 || (uint64_t)number > most) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: '%s' is %lld, not from 0 to %zu", path, name,
            (long long)number, most);
    }
    *value = (size_t)number;
    return MHA_OK;
}

mha_status run_take_number(
    double *value, const mha_arrays *arrays, const char *name, const char *path, mha_error *error) {
    const mha_array *array = find_scalar(arrays, name, MHA_FLOAT64);
    if (array == NULL) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%s: '%s' is missing or not one float64", path, name);
    }
    *value = *(const double *)array->data;
    return MHA_OK;
}

mha_status run_check_heads(
    const mha_arrays *arrays, size_t heads, const char *path, mha_error *error) {
    const mha_array *array = find_scalar(arrays, "heads", MHA_INT64);
    if (array == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: 'heads' is missing or not one integer", path);
    }
    const int64_t number = *(const int64_t *)array->data;
    if (number < 0 || (uint64_t)number != heads) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: heads is %lld, the run's settings say %zu",
            path, (long long)number, heads);
    }
    return MHA_OK;
}
