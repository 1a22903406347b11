/* Writing weights to a file in a layout. */
#include "io/layouts_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/arrays.h"

static mha_status check_request(const char *path, const mha_weight_set *set, mha_layout layout,
    const char *prefix, mha_error *error) {
    if (layout <= MHA_LAYOUT_UNKNOWN || layout >= MHA_LAYOUT_COUNT) {
        return mha_fail(
            error, MHA_ERROR_ARGUMENT, "%s: there is no layout %d to write", path, (int)layout);
    }
    if (set->matrices == NULL || mha_dtype_bytes(set->dtype) < sizeof(float) ||
        set->dtype == MHA_INT64) {
        return mha_fail(
            error, MHA_ERROR_ARGUMENT, "%s: there are no floating weights to write", path);
    }
    if (layout_naming(layout)->prefix == PREFIX_NEVER && *prefix != '\0') {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "%s: names of the layout %s have no prefix, '%.200s' is given", path,
            mha_layout_name(layout), prefix);
    }
    if (set->heads == 0 && !layout_is_torchs(layout)) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "%s: the layout %s says how many heads there are, name the heads", path,
            mha_layout_name(layout));
    }
    if (set->width == 0 || (set->heads != 0 && set->width % set->heads != 0)) {
        return mha_fail(error, MHA_ERROR_SHAPE, "%s: width %zu is not divisible by %zu heads", path,
            set->width, set->heads);
    }
    return MHA_OK;
}

/* What is written: one array behind the other in a block, and their names. */
typedef struct written {
    unsigned char *block; /* (4,D,D) */
    char *names;          /* (arrays, name_size) */
    size_t name_size;
    int64_t heads;
    size_t count;
    mha_array arrays[LAYOUT_ARRAYS_MOST + 1];
} written;

/* Puts the matrix (D,D), which is (in,out), into its place; no bit changes. */
static void place_matrix(unsigned char *array, const placement *p, const unsigned char *from,
    size_t width, size_t size) {
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j < width; j++, from += size) {
            const size_t to = p->start + i * p->in_stride + j * p->out_stride;
            memcpy(array + to * size, from, size);
        }
    }
}

static void fill(written *w, const mha_weight_set *set, mha_layout layout, const char *prefix) {
    const naming *names = layout_naming(layout);
    const size_t size = mha_dtype_bytes(set->dtype);
    unsigned char *starts[LAYOUT_ARRAYS_MOST], *next = w->block;
    for (size_t i = 0; i < names->count; i++) {
        char *name = w->names + i * w->name_size;
        snprintf(name, w->name_size, "%s%s", prefix, names->names[i]);
        w->arrays[i] = (mha_array){.name = name, .dtype = set->dtype, .rank = 2, .data = next};
        layout_dims(w->arrays[i].dims, layout, i, set->width);
        starts[i] = next;
        next += w->arrays[i].dims[0] * w->arrays[i].dims[1] * size;
    }
    const unsigned char *matrices = set->matrices;
    for (size_t i = 0; i < LAYOUT_MATRICES; i++) {
        const placement p = layout_placement(layout, i, set->width);
        place_matrix(
            starts[p.array], &p, matrices + i * set->width * set->width * size, set->width, size);
    }
    w->count = names->count;
}

static mha_status write_file(
    const char *path, const written *w, mha_layout layout, mha_error *error) {
    char heads[24];
    snprintf(heads, sizeof heads, "%lld", (long long)w->heads);
    const mha_metadata metadata[] = {{"layout", mha_layout_name(layout)}, {"heads", heads}};
    return mha_arrays_write(path, w->arrays, w->count, metadata, w->heads > 0 ? 2 : 1, error);
}

mha_status mha_weight_set_write(const char *path, const mha_weight_set *set, mha_layout layout,
    const char *prefix, mha_error *error) {
    const char *before = prefix == NULL ? "" : prefix;
    mha_status status = check_request(path, set, layout, before, error);
    if (status != MHA_OK) {
        return status;
    }
    written w = {.name_size = strlen(before) + LAYOUT_NAME_SIZE, .heads = (int64_t)set->heads};
    size_t bytes = 0;
    status = layout_bytes(&bytes, set->dtype, set->width, path, error);
    if (status != MHA_OK) {
        return status;
    }
    w.block = malloc(bytes > 0 ? bytes : 1);
    w.names = calloc(LAYOUT_ARRAYS_MOST, w.name_size);
    if (w.block == NULL || w.names == NULL) {
        status = mha_fail(
            error, MHA_ERROR_MEMORY, "%s: no memory for weights of %zu bytes", path, bytes);
    } else {
        fill(&w, set, layout, before);
        if (!layout_is_torchs(layout) && ends_in(path, ".npz")) {
            w.arrays[w.count++] =
                (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &w.heads};
        }
        status = write_file(path, &w, layout, error);
    }
    free(w.block);
    free(w.names);
    return status;
}
