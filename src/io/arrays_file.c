#include <mha/io.h>

#include <stdio.h>
#include <string.h>

#include <mha/status.h>

#include "io/arrays.h"
#include "io/safetensors.h"
#include "io/source.h"

typedef mha_status read_function(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

enum { NPY, NPZ, SAFETENSORS, FORMAT_COUNT };

static const struct {
    const char *ending;
    read_function *read;
} formats[FORMAT_COUNT] = {
    [NPY] = {".npy", mha_npy_read},
    [NPZ] = {".npz", mha_npz_read},
    [SAFETENSORS] = {".safetensors", mha_safetensors_read},
};

enum { FIRST_BYTES = SAFETENSORS_LENGTH_SIZE + 1 };

/* FORMAT_COUNT when they tell nothing. A .safetensors file has no mark of its own but the brace that
 * opens its header. */
static size_t format_of_bytes(const unsigned char bytes[FIRST_BYTES], size_t size) {
    if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) {
        return NPY;
    }
    if (size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0)) {
        return NPZ;
    }
    return size == FIRST_BYTES && bytes[SAFETENSORS_LENGTH_SIZE] == '{' ? SAFETENSORS
                                                                        : FORMAT_COUNT;
}

static size_t format_of_path(const char *path) {
    size_t format = 0;
    while (format < FORMAT_COUNT && !ends_in(path, formats[format].ending)) {
        format++;
    }
    return format;
}

static mha_status read_first_bytes(
    unsigned char bytes[FIRST_BYTES], size_t *size, const char *path, mha_error *error) {
    input_file file;
    mha_status status = file_open(&file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_error reason;
    *size = file.size < FIRST_BYTES ? (size_t)file.size : FIRST_BYTES;
    status = file_read(&file, bytes, *size, &reason);
    file_close(&file);
    return status == MHA_OK ? MHA_OK : mha_fail(error, status, "%s: %s", path, reason.text);
}

static mha_status refuse_bytes(
    const unsigned char bytes[FIRST_BYTES], size_t size, const char *path, mha_error *error) {
    char shown[3 * FIRST_BYTES + 1] = "";
    for (size_t i = 0; i < size; i++) {
        snprintf(shown + 3 * i, sizeof shown - 3 * i, " %02x", bytes[i]);
    }
    return mha_fail(error, MHA_ERROR_FORMAT,
        "%s is not a .npy, .npz or .safetensors file: none begins with the bytes%s", path, shown);
}

/* When the first bytes tell nothing, the file is broken or of another kind: the reader that its name
 * asks for says what is wrong. */
mha_status mha_arrays_read(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error) {
    *arrays = NULL;
    unsigned char bytes[FIRST_BYTES] = {0};
    size_t size = 0;
    mha_status status = read_first_bytes(bytes, &size, path, error);
    if (status != MHA_OK) {
        return status;
    }
    size_t format = format_of_bytes(bytes, size);
    if (format == FORMAT_COUNT) {
        format = format_of_path(path);
    }
    if (format == FORMAT_COUNT) {
        return refuse_bytes(bytes, size, path, error);
    }
    return formats[format].read(arrays, path, max_bytes, error);
}

mha_status mha_arrays_write(const char *path, const mha_array *arrays, size_t count,
    const mha_metadata *metadata, size_t metadata_count, mha_error *error) {
    switch (format_of_path(path)) {
    case NPZ:
        return mha_npz_write(path, arrays, count, error);
    case SAFETENSORS:
        return mha_safetensors_write(path, arrays, count, metadata, metadata_count, error);
    default:
        return mha_fail(
            error, MHA_ERROR_ARGUMENT, "%s ends in neither .npz nor .safetensors", path);
    }
}
