#include "io/safetensors.h"

#include <stdlib.h>

#include <mha/status.h>

#include "io/arrays.h"
#include "io/source.h"

/* A file being read. */
typedef struct reading {
    const char *path;
    input_file file;
    safetensors_bounds bounds;
    json_t *header;
    mha_error *error;
} reading;

/* ---- the header ---- */

/* Fills bytes with the next of the file. */
static mha_status read_bytes(void *bytes, size_t size, reading *r) {
    mha_error reason;
    mha_status status = file_read(&r->file, bytes, size, &reason);
    return status == MHA_OK ? MHA_OK : mha_fail(r->error, status, "%s: %s", r->path, reason.text);
}

/* The length of the header, checked against the file; what is left are the data. */
static mha_status read_length(size_t *length, reading *r) {
    unsigned char bytes[SAFETENSORS_LENGTH_SIZE];
    if (r->file.size < sizeof bytes) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: %llu bytes are too few for a .safetensors file, which begins with %zu", r->path,
            (unsigned long long)r->file.size, sizeof bytes);
    }
    mha_status status = read_bytes(bytes, sizeof bytes, r);
    if (status != MHA_OK) {
        return status;
    }
    uint64_t claimed = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        claimed |= (uint64_t)bytes[i] << 8 * i;
    }
    const uint64_t left = r->file.size - sizeof bytes;
    if (claimed == 0 || claimed > left) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s claims a header of %llu bytes, and has %llu behind that number", r->path,
            (unsigned long long)claimed, (unsigned long long)left);
    }
    if (claimed > SAFETENSORS_HEADER_MOST) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "%s: a header of %llu bytes is longer than %d",
            r->path, (unsigned long long)claimed, (int)SAFETENSORS_HEADER_MOST);
    }
    *length = (size_t)claimed;
    r->bounds.data_bytes = left - claimed;
    return MHA_OK;
}

static mha_status parse_header(const char *text, size_t length, reading *r) {
    if (text[0] != '{') {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: the header of %zu bytes begins with byte %u, not with '{'", r->path, length,
            (unsigned)(unsigned char)text[0]);
    }
    json_error_t cause;
    r->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &cause);
    if (r->header != NULL) {
        return MHA_OK;
    }
    if (json_error_code(&cause) == json_error_out_of_memory) {
        return mha_fail(
            r->error, MHA_ERROR_MEMORY, "%s: no memory for a header of %zu bytes", r->path, length);
    }
    return mha_fail(r->error, MHA_ERROR_FORMAT, "%s: the header is not usable, byte %d of %zu: %s",
        r->path, cause.position, length, cause.text);
}

static mha_status read_header(reading *r) {
    size_t length = 0;
    mha_status status = read_length(&length, r);
    if (status != MHA_OK) {
        return status;
    }
    char *text = malloc(length + 1);
    if (text == NULL) {
        return mha_fail(
            r->error, MHA_ERROR_MEMORY, "%s: no memory for a header of %zu bytes", r->path, length);
    }
    status = read_bytes(text, length, r);
    if (status == MHA_OK) {
        status = parse_header(text, length, r);
    }
    free(text);
    return status;
}

/* ---- what it describes ---- */

static mha_status add_metadata(mha_arrays *arrays, reading *r) {
    json_t *metadata = json_object_get(r->header, SAFETENSORS_METADATA);
    if (metadata == NULL || json_is_null(metadata)) {
        return MHA_OK;
    }
    if (!json_is_object(metadata)) {
        return mha_fail(
            r->error, MHA_ERROR_FORMAT, "%s: " SAFETENSORS_METADATA " is not an object", r->path);
    }
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value)) {
            return mha_fail(r->error, MHA_ERROR_FORMAT,
                "%s: the value of %.*s in " SAFETENSORS_METADATA " is not a string", r->path,
                (int)SAFETENSORS_NAME_SHOWN, key);
        }
        mha_status status =
            arrays_add_metadata(arrays, key, json_string_value(value), r->path, r->error);
        if (status != MHA_OK) {
            return status;
        }
    }
    return MHA_OK;
}

/* Tensors follow each other in the file as in order. */
static mha_status read_data(safetensors_entry *const *order, size_t count, reading *r) {
    for (size_t i = 0; i < count; i++) {
        safetensors_entry *e = order[i];
        const stored_layout layout = {.type = e->type};
        byte_source source = {.read = file_read, .self = &r->file, .left = e->end - e->begin};
        mha_error reason;
        mha_status status = stored_read(&e->array, &layout, &source, r->bounds.max_bytes, &reason);
        if (status != MHA_OK) {
            return mha_fail(r->error, status, "%s: tensor %.*s: %s", r->path,
                (int)SAFETENSORS_NAME_SHOWN, e->name, reason.text);
        }
    }
    return MHA_OK;
}

/* Moves the tensors to arrays, in the order of their names in the header. */
static mha_status add_arrays(
    mha_arrays *arrays, safetensors_entry *entries, size_t count, reading *r) {
    for (size_t i = 0; i < count; i++) {
        const mha_array array = entries[i].array;
        entries[i].array.data = NULL;
        mha_status status = arrays_add(arrays, &array, entries[i].name, r->path, r->error);
        if (status != MHA_OK) {
            return status;
        }
    }
    return MHA_OK;
}

/* Everything that the header says is checked before memory is taken for data. */
static mha_status read_tensors(
    mha_arrays *arrays, safetensors_entry *entries, safetensors_entry **order, reading *r) {
    size_t count = 0;
    mha_status status =
        safetensors_entries(entries, order, &count, r->header, &r->bounds, r->path, r->error);
    if (status == MHA_OK) {
        status = add_metadata(arrays, r);
    }
    if (status != MHA_OK) {
        return status;
    }
    status = read_data(order, count, r);
    if (status == MHA_OK) {
        status = add_arrays(arrays, entries, count, r);
    }
    for (size_t i = 0; i < count; i++) {
        array_free_data(&entries[i].array);
    }
    return status;
}

static mha_status read_arrays(mha_arrays **result, reading *r) {
    const size_t room = json_object_size(r->header) + 1;
    safetensors_entry *entries = calloc(room, sizeof *entries);
    safetensors_entry **order = calloc(room, sizeof(safetensors_entry *));
    mha_arrays *arrays = arrays_create();
    mha_status status = MHA_ERROR_MEMORY;
    if (entries == NULL || order == NULL || arrays == NULL) {
        mha_fail(r->error, status, "%s: no memory for the entries of %zu tensors", r->path, room);
    } else {
        status = read_tensors(arrays, entries, order, r);
    }
    if (status == MHA_OK) {
        *result = arrays;
    } else {
        mha_arrays_free(arrays);
    }
    free(order);
    free(entries);
    return status;
}

mha_status mha_safetensors_read(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error) {
    *arrays = NULL;
    reading r = {.path = path, .error = error};
    r.bounds.max_bytes = max_bytes > 0 ? max_bytes : mha_max_bytes_default();
    mha_status status = file_open(&r.file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    status = read_header(&r);
    if (status == MHA_OK) {
        status = read_arrays(arrays, &r);
    }
    json_decref(r.header);
    file_close(&r.file);
    return status;
}
