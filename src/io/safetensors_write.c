#include "io/safetensors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <mha/status.h>

#include "base/size.h"
#include "io/arrays.h"
#include "io/replace.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are copied between memory and little-endian files without swapping bytes"
#endif

enum { ALIGNMENT = 8 }; /* of the first byte of the data */
_Static_assert(SAFETENSORS_HEADER_MOST % ALIGNMENT == 0, "padding keeps within the limit");

/* The reference writer sorts by dtype, those with the largest numbers first, so that all data are
 * aligned. */
static const struct {
    const char *name;
    int place;
} dtypes[MHA_DTYPE_COUNT] = {
    [MHA_INT64] = {"I64", 0},
    [MHA_FLOAT64] = {"F64", 1},
    [MHA_FLOAT32] = {"F32", 2},
    [MHA_UINT8] = {"U8", 3},
    [MHA_BOOL] = {"BOOL", 4},
};

/* What is written. */
typedef struct writing {
    const char *path;
    const mha_array **order; /* the arrays as they stand in the file */
    size_t count;
    json_t *header;
    mha_error *error;
} writing;

static mha_status no_memory(const writing *w) {
    return mha_fail(
        w->error, MHA_ERROR_MEMORY, "no memory to write %s with %zu arrays", w->path, w->count);
}

/* Bytes of the numbers of an array that was checked. */
static size_t array_bytes(const mha_array *array) {
    return mha_array_count(array) * mha_dtype_bytes(array->dtype);
}

/* ---- checks ---- */

/* A text that the header can hold. what names it in messages. */
static mha_status check_text(const char *text, const char *what, const writing *w) {
    json_t *checked = json_string(text);
    json_t *any = checked == NULL ? json_string_nocheck(text) : NULL;
    mha_status status = MHA_OK;
    if (any != NULL) {
        status = mha_fail(
            w->error, MHA_ERROR_ARGUMENT, "%s: the %s %s is not UTF-8", w->path, what, text);
    } else if (checked == NULL) {
        status = no_memory(w);
    }
    json_decref(checked);
    json_decref(any);
    return status;
}

/* A name that is not in object yet. */
static mha_status check_name(
    const json_t *object, const char *name, const char *what, const writing *w) {
    if (json_object_get(object, name) != NULL) {
        return mha_fail(
            w->error, MHA_ERROR_ARGUMENT, "%s: two have the %s %s", w->path, what, name);
    }
    return check_text(name, what, w);
}

/* ---- the header ---- */

static mha_status add_metadata(const mha_metadata *metadata, size_t count, const writing *w) {
    if (count == 0) {
        return MHA_OK;
    }
    json_t *object = json_object();
    if (json_object_set_new(w->header, SAFETENSORS_METADATA, object) != 0) {
        return no_memory(w);
    }
    for (size_t i = 0; i < count; i++) {
        if (metadata[i].key == NULL || metadata[i].value == NULL) {
            return mha_fail(w->error, MHA_ERROR_ARGUMENT, "%s: metadata %zu of %zu has no %s",
                w->path, i, count, metadata[i].key == NULL ? "key" : "value");
        }
        mha_status status = check_name(object, metadata[i].key, "metadata key", w);
        if (status == MHA_OK) {
            status = check_text(metadata[i].value, "metadata value", w);
        }
        if (status != MHA_OK) {
            return status;
        }
        if (json_object_set_new(object, metadata[i].key, json_string(metadata[i].value)) != 0) {
            return no_memory(w);
        }
    }
    return MHA_OK;
}

/* {"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}; NULL when there is no memory. */
static json_t *describe(const mha_array *array, size_t begin, size_t end) {
    json_t *entry = json_object();
    json_t *shape = json_array();
    json_t *offsets = json_array();
    bool ok = json_object_set_new(entry, "dtype", json_string(dtypes[array->dtype].name)) == 0;
    ok = json_object_set_new(entry, "shape", shape) == 0 && ok;
    ok = json_object_set_new(entry, "data_offsets", offsets) == 0 && ok;
    for (size_t i = 0; ok && i < array->rank; i++) {
        ok = json_array_append_new(shape, json_integer((json_int_t)array->dims[i])) == 0;
    }
    ok = ok && json_array_append_new(offsets, json_integer((json_int_t)begin)) == 0;
    ok = ok && json_array_append_new(offsets, json_integer((json_int_t)end)) == 0;
    if (!ok) {
        json_decref(entry);
        return NULL;
    }
    return entry;
}

static mha_status add_array(const mha_array *array, size_t *at, const writing *w) {
    if (strcmp(array->name, SAFETENSORS_METADATA) == 0) {
        return mha_fail(w->error, MHA_ERROR_ARGUMENT,
            "%s: " SAFETENSORS_METADATA " cannot be the name of an array", w->path);
    }
    mha_status status = check_name(w->header, array->name, "name", w);
    if (status != MHA_OK) {
        return status;
    }
    size_t end = 0;
    if (!size_add(&end, *at, array_bytes(array)) || end > PTRDIFF_MAX) {
        return mha_fail(w->error, MHA_ERROR_SIZE, "%s: %zu arrays have more than %zu bytes",
            w->path, w->count, (size_t)PTRDIFF_MAX);
    }
    if (json_object_set_new(w->header, array->name, describe(array, *at, end)) != 0) {
        return no_memory(w);
    }
    *at = end;
    return MHA_OK;
}

static int compare_arrays(const void *a, const void *b) {
    const mha_array *left = *(const mha_array *const *)a;
    const mha_array *right = *(const mha_array *const *)b;
    const int places = dtypes[left->dtype].place - dtypes[right->dtype].place;
    return places != 0 ? places : strcmp(left->name, right->name);
}

static mha_status build_header(const mha_metadata *metadata, size_t metadata_count, writing *w) {
    size_t at = 0;
    mha_status status = add_metadata(metadata, metadata_count, w);
    for (size_t i = 0; status == MHA_OK && i < w->count; i++) {
        status = add_array(w->order[i], &at, w);
    }
    return status;
}

/* ---- the file ---- */

/* Length, text and padding of the header. */
static mha_status write_header(replacement *file, const char *text, const writing *w) {
    static const char spaces[ALIGNMENT] = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '};
    const size_t length = strlen(text);
    const size_t padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
    unsigned char claimed[SAFETENSORS_LENGTH_SIZE];
    for (size_t i = 0; i < sizeof claimed; i++) {
        claimed[i] = (unsigned char)((uint64_t)(length + padding) >> 8 * i & 0xff);
    }
    mha_status status = replacement_write(file, claimed, sizeof claimed, w->error);
    if (status == MHA_OK) {
        status = replacement_write(file, text, length, w->error);
    }
    return status == MHA_OK ? replacement_write(file, spaces, padding, w->error) : status;
}

static mha_status write_file(const char *text, const writing *w) {
    replacement *file = NULL;
    mha_status status = replacement_begin(&file, w->path, w->error);
    if (status != MHA_OK) {
        return status;
    }
    status = write_header(file, text, w);
    for (size_t i = 0; status == MHA_OK && i < w->count; i++) {
        status = replacement_write(file, w->order[i]->data, array_bytes(w->order[i]), w->error);
    }
    if (status != MHA_OK) {
        replacement_abandon(file);
        return status;
    }
    return replacement_commit(file, w->error);
}

/* Writes what the header describes, unless the reader would refuse it. */
static mha_status write_described(const writing *w) {
    char *text = json_dumps(w->header, JSON_COMPACT);
    if (text == NULL) {
        return no_memory(w);
    }
    mha_status status = MHA_ERROR_SIZE;
    if (strlen(text) > SAFETENSORS_HEADER_MOST) {
        mha_fail(w->error, status, "%s: a header of %zu bytes is longer than %d", w->path,
            strlen(text), (int)SAFETENSORS_HEADER_MOST);
    } else {
        status = write_file(text, w);
    }
    free(text);
    return status;
}

mha_status mha_safetensors_write(const char *path, const mha_array *arrays, size_t count,
    const mha_metadata *metadata, size_t metadata_count, mha_error *error) {
    writing w = {.path = path, .count = count, .error = error};
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        mha_status status = array_check_named(&bytes, &arrays[i], i, path, error);
        if (status != MHA_OK) {
            return status;
        }
    }
    w.order = calloc(count + 1, sizeof(const mha_array *));
    w.header = json_object();
    mha_status status = MHA_ERROR_MEMORY;
    if (w.order == NULL || w.header == NULL) {
        no_memory(&w);
    } else {
        for (size_t i = 0; i < count; i++) {
            w.order[i] = &arrays[i];
        }
        qsort(w.order, count, sizeof(const mha_array *), compare_arrays);
        status = build_header(metadata, metadata_count, &w);
    }
    if (status == MHA_OK) {
        status = write_described(&w);
    }
    json_decref(w.header);
    free(w.order);
    return status;
}
