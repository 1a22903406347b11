#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/status.h>

#include "io/arrays.h"

enum { KEY_DTYPE, KEY_SHAPE, KEY_OFFSETS, KEY_COUNT };

static const char *const keys[KEY_COUNT] = {"dtype", "shape", "data_offsets"};

/* ---- one tensor: texts name neither file nor tensor ---- */

static mha_status refuse_dtype(const char *dtype, mha_error *error) {
    char known[8 * STORED_COUNT] = "";
    size_t length = 0;
    for (size_t i = 0; i < STORED_COUNT; i++) {
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s",
            i == 0 ? "" : ", ", stored_dtypes[i].safetensors);
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "dtype '%.40s' is not one of %s", dtype, known);
}

static mha_status take_dtype(safetensors_entry *e, const json_t *value, mha_error *error) {
    if (!json_is_string(value)) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its dtype is not a string");
    }
    const char *dtype = json_string_value(value);
    for (size_t i = 0; i < STORED_COUNT; i++) {
        if (strcmp(stored_dtypes[i].safetensors, dtype) == 0) {
            e->type = &stored_dtypes[i];
            return MHA_OK;
        }
    }
    return refuse_dtype(dtype, error);
}

static mha_status take_shape(safetensors_entry *e, const json_t *value, mha_error *error) {
    if (!json_is_array(value)) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its shape is not an array");
    }
    const size_t rank = json_array_size(value);
    if (rank > MHA_ARRAY_RANK) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its shape has %zu axes, more than %d", rank,
            (int)MHA_ARRAY_RANK);
    }
    for (size_t i = 0; i < rank; i++) {
        const json_t *axis = json_array_get(value, i);
        const json_int_t length = json_integer_value(axis);
        if (!json_is_integer(axis)) {
            return mha_fail(
                error, MHA_ERROR_FORMAT, "axis %zu of %zu of its shape is no integer", i + 1, rank);
        }
        if (length < 0 || (uintmax_t)length > SIZE_MAX) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "axis %zu of its shape is %lld, which is not from 0 to %zu", i + 1,
                (long long)length, (size_t)SIZE_MAX);
        }
        e->array.dims[i] = (size_t)length;
    }
    e->array.rank = rank;
    return MHA_OK;
}

static mha_status take_offsets(
    safetensors_entry *e, const json_t *value, uint64_t data_bytes, mha_error *error) {
    const json_t *first = json_array_get(value, 0);
    const json_t *second = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(first) || !json_is_integer(second)) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its data_offsets are not two integers");
    }
    const json_int_t begin = json_integer_value(first);
    const json_int_t end = json_integer_value(second);
    if (begin > end) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its data_offsets [%lld, %lld] run backwards",
            (long long)begin, (long long)end);
    }
    if (begin < 0 || (uint64_t)end > data_bytes) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "its data_offsets [%lld, %lld] are not within the %llu bytes of data", (long long)begin,
            (long long)end, (unsigned long long)data_bytes);
    }
    e->begin = (uint64_t)begin;
    e->end = (uint64_t)end;
    return MHA_OK;
}

static mha_status check_sizes(const safetensors_entry *e, size_t max_bytes, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    mha_array_shape_text(shape, &e->array);
    size_t bytes = 0, count = 0, memory = 0;
    if (!array_measure(&count, &bytes, &e->array, e->type->bytes)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "the axes of shape %s of %s need more than %zu bytes", shape, e->type->safetensors,
            (size_t)PTRDIFF_MAX);
    }
    if (bytes != e->end - e->begin) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "shape %s of %s needs %zu bytes, but its data_offsets [%llu, %llu] hold %llu", shape,
            e->type->safetensors, bytes, (unsigned long long)e->begin, (unsigned long long)e->end,
            (unsigned long long)(e->end - e->begin));
    }
    if (!array_measure(&count, &memory, &e->array, mha_dtype_bytes(e->type->dtype))) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "the axes of shape %s of %s need more than %zu bytes", shape,
            mha_dtype_name(e->type->dtype), (size_t)PTRDIFF_MAX);
    }
    if (memory > max_bytes) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "its %zu numbers of %s need more than the %zu bytes of memory allowed", count,
            mha_dtype_name(e->type->dtype), max_bytes);
    }
    return MHA_OK;
}

/* That the entry is an object of the three keys and no others. */
static mha_status check_keys(json_t *value, mha_error *error) {
    if (!json_is_object(value)) {
        return mha_fail(error, MHA_ERROR_FORMAT, "its entry is not an object");
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (json_object_get(value, keys[i]) == NULL) {
            return mha_fail(error, MHA_ERROR_FORMAT, "its entry has no '%s'", keys[i]);
        }
    }
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member) {
        size_t i = 0;
        while (i < KEY_COUNT && strcmp(key, keys[i]) != 0) {
            i++;
        }
        if (i == KEY_COUNT) {
            return mha_fail(error, MHA_ERROR_FORMAT, "its entry has the unknown key '%.40s'", key);
        }
    }
    return MHA_OK;
}

static mha_status take_entry(
    safetensors_entry *e, json_t *value, const safetensors_bounds *bounds, mha_error *error) {
    mha_status status = check_keys(value, error);
    if (status == MHA_OK) {
        status = take_dtype(e, json_object_get(value, keys[KEY_DTYPE]), error);
    }
    if (status == MHA_OK) {
        status = take_shape(e, json_object_get(value, keys[KEY_SHAPE]), error);
    }
    if (status == MHA_OK) {
        const json_t *offsets = json_object_get(value, keys[KEY_OFFSETS]);
        status = take_offsets(e, offsets, bounds->data_bytes, error);
    }
    if (status == MHA_OK) {
        status = check_sizes(e, bounds->max_bytes, error);
    }
    return status;
}

/* ---- all of them ---- */

static int compare_offsets(const void *a, const void *b) {
    const safetensors_entry *left = *(safetensors_entry *const *)a;
    const safetensors_entry *right = *(safetensors_entry *const *)b;
    if (left->begin != right->begin) {
        return left->begin < right->begin ? -1 : 1;
    }
    return left->end < right->end ? -1 : left->end > right->end;
}

static mha_status refuse_gap(const safetensors_entry *before, const safetensors_entry *e,
    uint64_t at, const char *path, mha_error *error) {
    if (e->begin > at) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: bytes %llu to %llu of the data, before tensor %.*s, belong to no tensor", path,
            (unsigned long long)at, (unsigned long long)e->begin, (int)SAFETENSORS_NAME_SHOWN,
            e->name);
    }
    return mha_fail(error, MHA_ERROR_FORMAT,
        "%s: tensor %.*s begins at byte %llu of the data, but tensor %.*s ends at byte %llu", path,
        (int)SAFETENSORS_NAME_SHOWN, e->name, (unsigned long long)e->begin,
        (int)SAFETENSORS_NAME_SHOWN, before->name, (unsigned long long)at);
}

/* That the tensors follow each other from the first byte of the data to the last. */
static mha_status check_cover(safetensors_entry *const *order, size_t count, uint64_t data_bytes,
    const char *path, mha_error *error) {
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (order[i]->begin != at) {
            return refuse_gap(i == 0 ? NULL : order[i - 1], order[i], at, path, error);
        }
        at = order[i]->end;
    }
    if (at == data_bytes) {
        return MHA_OK;
    }
    if (count == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s has no tensors, but %llu bytes of data", path,
            (unsigned long long)data_bytes);
    }
    return mha_fail(error, MHA_ERROR_FORMAT,
        "%s: the last tensor, %.*s, ends at byte %llu of %llu bytes of data", path,
        (int)SAFETENSORS_NAME_SHOWN, order[count - 1]->name, (unsigned long long)at,
        (unsigned long long)data_bytes);
}

mha_status safetensors_entries(safetensors_entry *entries, safetensors_entry **order, size_t *count,
    json_t *header, const safetensors_bounds *bounds, const char *path, mha_error *error) {
    size_t taken = 0;
    const char *name;
    json_t *value;
    json_object_foreach(header, name, value) {
        if (strcmp(name, SAFETENSORS_METADATA) == 0) {
            continue;
        }
        safetensors_entry *e = &entries[taken];
        mha_error reason;
        *e = (safetensors_entry){.name = name};
        mha_status status = take_entry(e, value, bounds, &reason);
        if (status != MHA_OK) {
            return mha_fail(error, status, "%s: tensor %.*s: %s", path, (int)SAFETENSORS_NAME_SHOWN,
                name, reason.text);
        }
        order[taken++] = e;
    }
    qsort(order, taken, sizeof(safetensors_entry *), compare_offsets);
    *count = taken;
    return check_cover(order, taken, bounds->data_bytes, path, error);
}
