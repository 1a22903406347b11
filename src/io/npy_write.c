#include <mha/io.h>

#include "io/arrays.h"
#include "io/npy.h"
#include "io/replace.h"

mha_status mha_npy_write(const char *path, const mha_array *array, mha_error *error) {
    size_t bytes = 0;
    mha_error reason;
    mha_status status = array_check(&bytes, array, &reason);
    if (status != MHA_OK) {
        return mha_fail(error, status, "%s: the array %s", path, reason.text);
    }
    replacement *file = NULL;
    status = replacement_begin(&file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    unsigned char header[NPY_PRINT_MOST];
    status = replacement_write(file, header, npy_print(header, array), error);
    if (status == MHA_OK) {
        status = replacement_write(file, array->data, bytes, error);
    }
    if (status != MHA_OK) {
        replacement_abandon(file);
        return status;
    }
    return replacement_commit(file, error);
}
