/* What a file's weights must be before they are read: numbers of the right kind and shape, without
 * biases, and a usable number of heads. */
#include "io/layouts_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/arrays.h"

static const char *dtype_of(const mha_array *array) {
    return array->stored != NULL ? array->stored : mha_dtype_name(array->dtype);
}

static bool is_floating(const mha_array *array) {
    return array->dtype == MHA_FLOAT32 || array->dtype == MHA_FLOAT64;
}

/* ---- shapes ---- */

static bool is_square(const mha_array *array) {
    return array->rank == 2 && array->dims[0] == array->dims[1] && array->dims[0] > 0;
}

/* The array of wo is square in every layout and says the width. */
static mha_status check_shapes(size_t *width, const match *m, const char *path, mha_error *error) {
    const size_t last = m->naming->count - 1;
    const mha_array *wo = m->arrays[last];
    char shape[MHA_SHAPE_TEXT_SIZE], right[MHA_SHAPE_TEXT_SIZE];
    if (!is_square(wo)) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s has shape %s, which is not square", path,
            wo->name, mha_array_shape_text(shape, wo));
    }
    *width = wo->dims[0];
    for (size_t i = 0; i < last; i++) {
        const mha_array *array = m->arrays[i];
        mha_array expected = {.rank = 2};
        layout_dims(expected.dims, m->layout, i, *width);
        if (array->rank != 2 || memcmp(array->dims, expected.dims, 2 * sizeof *array->dims) != 0) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: %s has shape %s, but beside %s of width %zu in the layout %s it must have %s",
                path, array->name, mha_array_shape_text(shape, array), wo->name, *width,
                mha_layout_name(m->layout), mha_array_shape_text(right, &expected));
        }
    }
    return MHA_OK;
}

/* ---- biases ---- */

/* "q_proj.bias" for "q_proj.weight"; false where a name has no such companion. */
static bool name_of_bias(char bias[LAYOUT_NAME_SIZE], const char *name) {
    static const char weight[] = "weight";
    const size_t length = strlen(name), tail = sizeof weight - 1;
    if (!ends_in(name, weight)) {
        return false;
    }
    memcpy(bias, name, length - tail);
    memcpy(bias + length - tail, "bias", sizeof "bias");
    return true;
}

static double number_at(const mha_array *array, size_t index) {
    switch (array->dtype) {
    case MHA_INT64:
        return (double)((const int64_t *)array->data)[index];
    case MHA_FLOAT32:
        return (double)((const float *)array->data)[index];
    case MHA_FLOAT64:
        return ((const double *)array->data)[index];
    default:
        return (double)((const unsigned char *)array->data)[index];
    }
}

/* The array of that name behind the prefix of m; NULL when there is none. */
static mha_status find_beside(const mha_array **array, const match *m, const char *name,
    const mha_arrays *arrays, const char *path, mha_error *error) {
    const size_t size = m->prefix_length + LAYOUT_NAME_SIZE;
    char *text = malloc(size);
    *array = NULL;
    if (text == NULL) {
        return mha_fail(
            error, MHA_ERROR_MEMORY, "%s: no memory for a name of %zu bytes", path, size);
    }
    *array = mha_arrays_find(arrays, match_name(text, size, m, name));
    free(text);
    return MHA_OK;
}

static mha_status check_bias(const match *m, const char *name, const mha_arrays *arrays,
    const char *path, mha_error *error) {
    const mha_array *bias;
    const mha_status status = find_beside(&bias, m, name, arrays, path, error);
    const size_t count = bias == NULL ? 0 : mha_array_count(bias);
    for (size_t i = 0; i < count; i++) {
        const double number = number_at(bias, i);
        if (number != 0.0) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: %s is not all zero, number %zu is %g, and this layer has no biases", path,
                bias->name, i, number);
        }
    }
    return status;
}

/* torch's bias_k and bias_v are not added to anything: they are one more key, which counts even when
 * it is zero. */
static mha_status check_added_key(
    const match *m, const mha_arrays *arrays, const char *path, mha_error *error) {
    const mha_array *added;
    if (!layout_is_torchs(m->naming->layout)) {
        return MHA_OK;
    }
    const mha_status status = find_beside(&added, m, "bias_k", arrays, path, error);
    if (added != NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: %s adds a key to every source, which this layer does not do", path, added->name);
    }
    return status;
}

/* The biases of one matrix each, whatever the weights are called: "bq", "b_Q", "q_bias". */
static mha_status check_lettered(
    const match *m, const mha_arrays *arrays, const char *path, mha_error *error) {
    static const char *const forms[][2] = {
        {"b", ""}, {"b_", ""}, {"bias_", ""}, {"", "_bias"}, {"", ".bias"}};
    static const char letters[] = "qkvoQKVO";
    mha_status status = MHA_OK;
    for (size_t i = 0; status == MHA_OK && i < sizeof forms / sizeof *forms; i++) {
        for (const char *letter = letters; status == MHA_OK && *letter != '\0'; letter++) {
            char name[LAYOUT_NAME_SIZE];
            snprintf(name, sizeof name, "%s%c%s", forms[i][0], *letter, forms[i][1]);
            status = check_bias(m, name, arrays, path, error);
        }
    }
    return status;
}

static mha_status check_biases(
    const match *m, const mha_arrays *arrays, const char *path, mha_error *error) {
    static const char *const packed[] = {"in_proj_bias", "b_qkv", "bqkv"};
    mha_status status = check_added_key(m, arrays, path, error);
    for (size_t i = 0; status == MHA_OK && i < sizeof packed / sizeof *packed; i++) {
        status = check_bias(m, packed[i], arrays, path, error);
    }
    if (status == MHA_OK) {
        status = check_lettered(m, arrays, path, error);
    }
    for (size_t i = 0; status == MHA_OK && i < m->naming->count; i++) {
        char bias[LAYOUT_NAME_SIZE];
        if (name_of_bias(bias, m->naming->names[i])) {
            status = check_bias(m, bias, arrays, path, error);
        }
    }
    return status;
}

mha_status match_check(
    size_t *width, const match *m, const mha_arrays *arrays, const char *path, mha_error *error) {
    for (size_t i = 0; i < m->naming->count; i++) {
        if (!is_floating(m->arrays[i])) {
            return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is %s, not floating numbers", path,
                m->arrays[i]->name, dtype_of(m->arrays[i]));
        }
    }
    const mha_status status = check_shapes(width, m, path, error);
    return status != MHA_OK ? status : check_biases(m, arrays, path, error);
}

/* ---- heads ---- */

static mha_status heads_of_array(
    size_t *heads, const mha_array *array, const char *path, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    if (array->dtype != MHA_INT64 && array->dtype != MHA_UINT8) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%s: heads is %s, not an integer", path, dtype_of(array));
    }
    if (mha_array_count(array) != 1) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: heads has shape %s, not one number", path,
            mha_array_shape_text(shape, array));
    }
    const int64_t number = array->dtype == MHA_INT64 ? *(const int64_t *)array->data
                                                     : *(const unsigned char *)array->data;
    if (number < 1) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%s: heads is %" PRId64 ", the least is 1", path, number);
    }
    *heads = (size_t)number;
    return MHA_OK;
}

static mha_status heads_of_text(
    size_t *heads, const char *text, const char *path, mha_error *error) {
    char *end = NULL;
    errno = 0;
    const uintmax_t number = isdigit((unsigned char)text[0]) ? strtoumax(text, &end, 10) : 0;
    if (number < 1 || errno != 0 || *end != '\0' || number > SIZE_MAX) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: heads in its metadata is '%.100s', not a whole number from 1 on", path, text);
    }
    *heads = (size_t)number;
    return MHA_OK;
}

mha_status match_heads(
    size_t *heads, const mha_arrays *arrays, const char *path, mha_error *error) {
    const mha_array *array = mha_arrays_find(arrays, "heads");
    const char *text = mha_arrays_metadata(arrays, "heads");
    size_t by_array = 0, by_text = 0;
    mha_status status = MHA_OK;
    if (array != NULL) {
        status = heads_of_array(&by_array, array, path, error);
    }
    if (status == MHA_OK && text != NULL) {
        status = heads_of_text(&by_text, text, path, error);
    }
    if (status == MHA_OK && array != NULL && text != NULL && by_array != by_text) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: the array heads is %zu, heads in its metadata is %zu", path, by_array, by_text);
    }
    *heads = array != NULL ? by_array : by_text;
    return status;
}
