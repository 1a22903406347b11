#include "io/arrays.h"

#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"

/* ---- arrays of any origin ---- */

static const struct {
    const char *name;
    size_t bytes;
} dtypes[MHA_DTYPE_COUNT] = {
    [MHA_BOOL] = {"bool", 1},
    [MHA_UINT8] = {"uint8", 1},
    [MHA_INT64] = {"int64", 8},
    [MHA_FLOAT32] = {"float32", 4},
    [MHA_FLOAT64] = {"float64", 8},
};

const char *mha_dtype_name(mha_dtype dtype) {
    return (unsigned)dtype < MHA_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

size_t mha_dtype_bytes(mha_dtype dtype) {
    return (unsigned)dtype < MHA_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

size_t mha_array_count(const mha_array *array) {
    size_t count = 0, bytes = 0;
    array_measure(&count, &bytes, array, 1);
    return count;
}

bool array_measure(size_t *count, size_t *bytes, const mha_array *array, size_t size) {
    size_t numbers = 1, all = 0;
    bool empty = false, counted = true;
    for (size_t i = 0; i < array->rank; i++) {
        const size_t length = array->dims[i];
        empty = empty || length == 0;
        counted = counted && (length == 0 || size_multiply(&numbers, numbers, length));
    }
    const bool fits = counted && size_multiply(&all, numbers, size);
    *count = empty ? 0 : counted ? numbers : SIZE_MAX;
    *bytes = empty ? 0 : fits ? all : SIZE_MAX;
    return fits && all <= PTRDIFF_MAX;
}

mha_status array_check(size_t *bytes, const mha_array *array, mha_error *error) {
    if (array->rank > MHA_ARRAY_RANK) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "has %zu axes, more than %d", array->rank,
            (int)MHA_ARRAY_RANK);
    }
    if ((unsigned)array->dtype >= MHA_DTYPE_COUNT) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "has the unknown dtype %d", (int)array->dtype);
    }
    size_t count = 0;
    if (!array_measure(&count, bytes, array, mha_dtype_bytes(array->dtype))) {
        char shape[MHA_SHAPE_TEXT_SIZE];
        return mha_fail(error, MHA_ERROR_SIZE, "of shape %s has %smore than %zu bytes",
            mha_array_shape_text(shape, array),
            count == 0 ? "0 bytes, but without its axes of length 0 it would have " : "",
            (size_t)PTRDIFF_MAX);
    }
    if (count > 0 && array->data == NULL) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "has no data");
    }
    return MHA_OK;
}

mha_status array_check_named(
    size_t *bytes, const mha_array *array, size_t index, const char *path, mha_error *error) {
    if (array->name == NULL) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "%s: array %zu has no name", path, index);
    }
    mha_error reason;
    const mha_status status = array_check(bytes, array, &reason);
    return status == MHA_OK
               ? MHA_OK
               : mha_fail(error, status, "%s: array %s %s", path, array->name, reason.text);
}

/* Callers of this library only read data, so that the struct calls it const. */
void array_free_data(const mha_array *array) {
    void *data = NULL;
    memcpy(&data, &array->data, sizeof data);
    free(data);
}

bool ends_in(const char *text, const char *ending) {
    const size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

const char *mha_array_shape_text(char text[MHA_SHAPE_TEXT_SIZE], const mha_array *array) {
    size_t length = 0;
    text[length++] = '(';
    for (size_t i = 0; i < array->rank && i < MHA_ARRAY_RANK; i++) {
        length += (size_t)snprintf(text + length, MHA_SHAPE_TEXT_SIZE - length, "%s%zu",
            i == 0 ? "" : ", ", array->dims[i]);
    }
    snprintf(text + length, MHA_SHAPE_TEXT_SIZE - length, "%s", array->rank == 1 ? ",)" : ")");
    return text;
}

size_t mha_max_bytes_default(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = 0;
    if (pages < 4 || page < 1 || !size_multiply(&bytes, (size_t)pages / 4, (size_t)page)) {
        return (size_t)1 << 30; /* the system does not tell */
    }
    return bytes;
}

/* ---- the arrays of one file ---- */

typedef struct named_array {
    mha_array array; /* first, so that a pointer to it is one to the whole */
    char name[];
} named_array;

typedef struct named_text {
    char *value; /* behind the key in the same memory */
    char key[];
} named_text;

/* by_name is a balanced tree of <search.h>: a file with very many names costs no more than n log n
 * comparisons, whatever the names are. */
struct mha_arrays {
    size_t count, room;
    named_array **entries;
    void *by_name;
    size_t text_count, text_room;
    named_text **texts;
    size_t skipped_count, skipped_room;
    char **skipped;
};

static int compare_names(const void *a, const void *b) {
    return strcmp(((const mha_array *)a)->name, ((const mha_array *)b)->name);
}

mha_arrays *arrays_create(void) {
    return calloc(1, sizeof(mha_arrays));
}

/* Room for one pointer more in a list, which is returned; NULL, and the list is as before, when there
 * is no memory. */
static void *grow(void *list, size_t count, size_t *room) {
    if (count < *room) {
        return list;
    }
    size_t more = 0;
    if (!size_multiply(&more, *room > 0 ? *room : 8, 2 * sizeof(void *))) {
        return NULL;
    }
    void *grown = realloc(list, more);
    if (grown != NULL) {
        *room = more / sizeof(void *);
    }
    return grown;
}

static mha_status no_memory(const char *name, const char *path, mha_error *error) {
    return mha_fail(error, MHA_ERROR_MEMORY, "%s: no memory for the name %s", path, name);
}

static mha_status add_entry(
    mha_arrays *arrays, named_array *e, const char *path, mha_error *error) {
    named_array **entries = grow(arrays->entries, arrays->count, &arrays->room);
    if (entries == NULL) {
        return no_memory(e->name, path, error);
    }
    arrays->entries = entries;
    const mha_array *const *found = tsearch(&e->array, &arrays->by_name, compare_names);
    if (found == NULL) {
        return no_memory(e->name, path, error);
    }
    if (*found != &e->array) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: two arrays have the name %s", path, e->name);
    }
    entries[arrays->count++] = e;
    return MHA_OK;
}

mha_status arrays_add(mha_arrays *arrays, const mha_array *array, const char *name,
    const char *path, mha_error *error) {
    const size_t size = strlen(name) + 1;
    named_array *e = malloc(sizeof *e + size);
    mha_status status = MHA_ERROR_MEMORY;
    if (e == NULL) {
        no_memory(name, path, error);
    } else {
        e->array = *array;
        e->array.name = memcpy(e->name, name, size);
        status = add_entry(arrays, e, path, error);
    }
    if (status != MHA_OK) {
        array_free_data(array);
        free(e);
    }
    return status;
}

mha_status arrays_add_metadata(
    mha_arrays *arrays, const char *key, const char *value, const char *path, mha_error *error) {
    const size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    named_text **texts = grow(arrays->texts, arrays->text_count, &arrays->text_room);
    if (texts != NULL) {
        arrays->texts = texts;
    }
    named_text *n = texts == NULL ? NULL : malloc(sizeof *n + key_size + value_size);
    if (n == NULL) {
        return no_memory(key, path, error);
    }
    memcpy(n->key, key, key_size);
    n->value = memcpy(n->key + key_size, value, value_size);
    texts[arrays->text_count++] = n;
    return MHA_OK;
}

mha_status arrays_add_skipped(
    mha_arrays *arrays, const char *name, const char *path, mha_error *error) {
    char **skipped = grow(arrays->skipped, arrays->skipped_count, &arrays->skipped_room);
    if (skipped != NULL) {
        arrays->skipped = skipped;
    }
    char *copy = skipped == NULL ? NULL : strdup(name);
    if (copy == NULL) {
        return no_memory(name, path, error);
    }
    skipped[arrays->skipped_count++] = copy;
    return MHA_OK;
}

void mha_arrays_free(mha_arrays *arrays) {
    if (arrays == NULL) {
        return;
    }
    for (size_t i = 0; i < arrays->count; i++) {
        tdelete(&arrays->entries[i]->array, &arrays->by_name, compare_names);
        array_free_data(&arrays->entries[i]->array);
        free(arrays->entries[i]);
    }
    for (size_t i = 0; i < arrays->text_count; i++) {
        free(arrays->texts[i]);
    }
    for (size_t i = 0; i < arrays->skipped_count; i++) {
        free(arrays->skipped[i]);
    }
    free(arrays->entries);
    free(arrays->texts);
    free(arrays->skipped);
    free(arrays);
}

size_t mha_arrays_count(const mha_arrays *arrays) {
    return arrays->count;
}

const mha_array *mha_arrays_at(const mha_arrays *arrays, size_t index) {
    return index < arrays->count ? &arrays->entries[index]->array : NULL;
}

const mha_array *mha_arrays_find(const mha_arrays *arrays, const char *name) {
    const mha_array key = {.name = name};
    const mha_array *const *found = tfind(&key, &arrays->by_name, compare_names);
    return found == NULL ? NULL : *found;
}

const char *mha_arrays_metadata(const mha_arrays *arrays, const char *key) {
    for (size_t i = 0; i < arrays->text_count; i++) {
        if (strcmp(arrays->texts[i]->key, key) == 0) {
            return arrays->texts[i]->value;
        }
    }
    return NULL;
}

size_t mha_arrays_skipped_count(const mha_arrays *arrays) {
    return arrays->skipped_count;
}

const char *mha_arrays_skipped_at(const mha_arrays *arrays, size_t index) {
    return index < arrays->skipped_count ? arrays->skipped[index] : NULL;
}
