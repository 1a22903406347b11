/* Taking the weights out of the arrays of a file. */
#include "io/layouts_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is wanted ---- */

/* The layout of the metadata, MHA_LAYOUT_UNKNOWN when they name none. */
static mha_status layout_of_metadata(mha_layout *layout, const mha_arrays *arrays, const char *path,
    const mha_layout_hint *hint, mha_error *error) {
    const char *name = mha_arrays_metadata(arrays, "layout");
    *layout = MHA_LAYOUT_UNKNOWN;
    if (name == NULL) {
        return MHA_OK;
    }
    if (!mha_layout_from_name(layout, name)) {
        return hint->layout != MHA_LAYOUT_UNKNOWN ? MHA_OK
                                                  : mha_fail(error, MHA_ERROR_FORMAT,
                                                        "%s: its metadata say layout '%.100s', "
                                                        "which is none, name the layout: lesson, "
                                                        "torch, torch-linear or combined",
                                                        path, name);
    }
    if (hint->layout != MHA_LAYOUT_UNKNOWN && hint->layout != *layout) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: its metadata say layout %s, not %s", path,
            mha_layout_name(*layout), mha_layout_name(hint->layout));
    }
    return MHA_OK;
}

static mha_status find_match(match *m, const mha_arrays *arrays, const char *path,
    const mha_layout_hint *hint, mha_error *error) {
    mha_layout said;
    const mha_status status = layout_of_metadata(&said, arrays, path, hint, error);
    if (status != MHA_OK) {
        return status;
    }
    const bool asked = hint->layout != MHA_LAYOUT_UNKNOWN;
    const weights_query query = {.arrays = arrays,
        .path = path,
        .wanted = asked ? hint->layout : said,
        .wanted_by = asked ? "is asked for" : "its metadata say",
        .prefix = hint->prefix};
    return weights_find(m, &query, error);
}

static mha_status settle_heads(mha_weight_set *set, const mha_arrays *arrays, const char *path,
    const mha_layout_hint *hint, mha_error *error) {
    const mha_status status = match_heads(&set->heads, arrays, path, error);
    if (status != MHA_OK) {
        return status;
    }
    if (set->heads != 0 && hint->heads != 0 && set->heads != hint->heads) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: its weights have %zu heads, not %zu", path,
            set->heads, hint->heads);
    }
    set->heads = set->heads != 0 ? set->heads : hint->heads;
    if (set->heads != 0 && set->width % set->heads != 0) {
        return mha_fail(error, MHA_ERROR_SHAPE, "%s: width %zu is not divisible by %zu heads", path,
            set->width, set->heads);
    }
    return MHA_OK;
}

/* ---- numbers ---- */

/* Double when any of the arrays is. */
static mha_dtype common_dtype(const match *m) {
    for (size_t i = 0; i < m->naming->count; i++) {
        if (m->arrays[i]->dtype == MHA_FLOAT64) {
            return MHA_FLOAT64;
        }
    }
    return MHA_FLOAT32;
}

/* Copies one matrix (D,D) to its (in,out) order: the same bits, or float to double. */
static void copy_matrix(
    unsigned char *to, mha_dtype dtype, const mha_array *array, const placement *p, size_t width) {
    const size_t size = mha_dtype_bytes(dtype);
    const unsigned char *bytes = array->data;
    const float *floats = array->data;
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j < width; j++, to += size) {
            const size_t from = p->start + i * p->in_stride + j * p->out_stride;
            if (array->dtype == dtype) {
                memcpy(to, bytes + from * size, size);
            } else {
                const double number = (double)floats[from];
                memcpy(to, &number, size);
            }
        }
    }
}

static mha_status copy_matrices(
    mha_weight_set *set, const match *m, const char *path, mha_error *error) {
    const size_t width = set->width, number = mha_dtype_bytes(set->dtype);
    size_t bytes = 0;
    const mha_status status = layout_bytes(&bytes, set->dtype, width, path, error);
    if (status != MHA_OK) {
        return status;
    }
    unsigned char *block = malloc(bytes > 0 ? bytes : 1);
    set->prefix = malloc(m->prefix_length + 1);
    set->matrices = block;
    if (block == NULL || set->prefix == NULL) {
        mha_weight_set_free(set);
        return mha_fail(
            error, MHA_ERROR_MEMORY, "%s: no memory for weights of %zu bytes", path, bytes);
    }
    match_name(set->prefix, m->prefix_length + 1, m, "");
    for (size_t i = 0; i < m->naming->count; i++) {
        set->taken[i] = m->arrays[i];
    }
    for (size_t i = 0; i < LAYOUT_MATRICES; i++) {
        const placement p = layout_placement(m->layout, i, width);
        copy_matrix(block + i * width * width * number, set->dtype, m->arrays[p.array], &p, width);
    }
    return MHA_OK;
}

mha_status mha_weight_set_take(mha_weight_set *set, const mha_arrays *arrays, const char *path,
    const mha_layout_hint *hint, mha_error *error) {
    match m;
    *set = (mha_weight_set){0};
    mha_status status = find_match(&m, arrays, path, hint, error);
    if (status == MHA_OK) {
        status = match_check(&set->width, &m, arrays, path, error);
    }
    if (status == MHA_OK) {
        status = settle_heads(set, arrays, path, hint, error);
    }
    if (status == MHA_OK) {
        set->dtype = common_dtype(&m);
        set->layout = m.layout;
        status = copy_matrices(set, &m, path, error);
    }
    if (status != MHA_OK) {
        *set = (mha_weight_set){0};
    }
    return status;
}

void mha_weight_set_free(mha_weight_set *set) {
    free(set->prefix);
    free(set->matrices);
    *set = (mha_weight_set){0};
}

bool mha_weight_set_holds(const mha_weight_set *set, const mha_array *array) {
    for (size_t i = 0; i < LAYOUT_ARRAYS_MOST; i++) {
        if (set->taken[i] == array) {
            return array != NULL;
        }
    }
    return false;
}
