#include "io/npy.h"

#include <stdint.h>
#include <string.h>

#include "io/arrays.h"

/* The next bytes of a header that begins `before` bytes earlier. */
static mha_status take_bytes(
    void *bytes, size_t size, size_t before, byte_source *source, mha_error *error) {
    const uint64_t there = before + source->left;
    if (source->left < size) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%llu bytes are too few for a .npy header of at least %zu", (unsigned long long)there,
            before + size);
    }
    mha_status status = source->read(source->self, bytes, size, error);
    if (status == MHA_OK) {
        source->left -= size;
    }
    return status;
}

/* Magic, version and length, up to the text. */
static mha_status take_prefix(
    size_t *prefix, size_t *length, byte_source *source, mha_error *error) {
    enum { VERSION = NPY_MAGIC_SIZE, LENGTH = NPY_MAGIC_SIZE + 2 };
    unsigned char bytes[LENGTH + 4] = {0};
    mha_status status = take_bytes(bytes, LENGTH, 0, source, error);
    if (status != MHA_OK) {
        return status;
    }
    if (memcmp(bytes, npy_magic, NPY_MAGIC_SIZE) != 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "this is not a .npy file");
    }
    const unsigned major = bytes[VERSION], minor = bytes[VERSION + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, ".npy format version %u.%u is not 1.0, 2.0 or 3.0",
            major, minor);
    }
    const size_t digits = major == 1 ? 2 : 4;
    status = take_bytes(bytes + LENGTH, digits, LENGTH, source, error);
    if (status != MHA_OK) {
        return status;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        value |= (uint32_t)bytes[LENGTH + i] << 8 * i;
    }
    if (value > NPY_TEXT_MOST) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "a .npy header of %lu characters is longer than %d", (unsigned long)value,
            (int)NPY_TEXT_MOST);
    }
    *prefix = LENGTH + digits;
    *length = value;
    return MHA_OK;
}

mha_status npy_take(mha_array *array, byte_source *source, size_t max_bytes, mha_error *error) {
    char text[NPY_TEXT_MOST];
    size_t prefix = 0, length = 0;
    stored_layout layout = {0};
    mha_status status = take_prefix(&prefix, &length, source, error);
    if (status == MHA_OK) {
        status = take_bytes(text, length, prefix, source, error);
    }
    if (status == MHA_OK) {
        status = npy_parse(array, &layout, text, length, error);
    }
    if (status == MHA_OK) {
        status = stored_read(array, &layout, source, max_bytes, error);
    }
    return status;
}

static mha_status read_file(
    mha_arrays *arrays, const char *path, size_t max_bytes, mha_error *error) {
    input_file file;
    mha_status status = file_open(&file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_array array = {0};
    mha_error reason;
    byte_source source = {.read = file_read, .self = &file, .left = file.size};
    status = npy_take(&array, &source, max_bytes, &reason);
    file_close(&file);
    if (status != MHA_OK) {
        return mha_fail(error, status, "%s: %s", path, reason.text);
    }
    return arrays_add(arrays, &array, "", path, error);
}

mha_status mha_npy_read(mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error) {
    *arrays = NULL;
    mha_arrays *one = arrays_create();
    if (one == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "%s: no memory for 1 array", path);
    }
    mha_status status = read_file(one, path, max_bytes, error);
    if (status != MHA_OK) {
        mha_arrays_free(one);
        return status;
    }
    *arrays = one;
    return MHA_OK;
}
