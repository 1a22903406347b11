#include "io/npy.h"

#include <stdio.h>
#include <string.h>

static const char *const descrs[MHA_DTYPE_COUNT] = {
    [MHA_BOOL] = "|b1",
    [MHA_UINT8] = "|u1",
    [MHA_INT64] = "<i8",
    [MHA_FLOAT32] = "<f4",
    [MHA_FLOAT64] = "<f8",
};

enum {
    ALIGNMENT = 64,
    GROWTH_DIGITS = 21 /* NumPy leaves room for the first axis to grow to this many digits */
};

const unsigned char npy_magic[NPY_MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

size_t npy_print(unsigned char header[NPY_PRINT_MOST], const mha_array *array) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    const size_t prefix = NPY_MAGIC_SIZE + 4;
    char *text = (char *)header + prefix;
    size_t length = (size_t)snprintf(text, NPY_PRINT_MOST - prefix,
        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descrs[array->dtype],
        mha_array_shape_text(shape, array));
    size_t growth = 0;
    if (array->rank > 0) {
        growth = GROWTH_DIGITS - (size_t)snprintf(NULL, 0, "%zu", array->dims[0]);
    }
    size_t least = prefix + length + growth + 1;
    size_t total = least / ALIGNMENT * ALIGNMENT + ALIGNMENT; /* as NumPy: at least one space */
    memset(text + length, ' ', total - prefix - length);
    header[total - 1] = '\n';
    length = total - prefix;
    memcpy(header, npy_magic, NPY_MAGIC_SIZE);
    header[NPY_MAGIC_SIZE] = 1;
    header[NPY_MAGIC_SIZE + 1] = 0;
    header[NPY_MAGIC_SIZE + 2] = (unsigned char)(length & 0xff);
    header[NPY_MAGIC_SIZE + 3] = (unsigned char)(length >> 8);
    return total;
}
