#include "io/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

static const struct {
    const char *descr;
    size_t bytes;
} dtypes[] = {
    [MHA_FLOAT32] = {"<f4", 4},
    [MHA_FLOAT64] = {"<f8", 8},
    [MHA_INT64] = {"<i8", 8},
};

enum {
    ALIGNMENT = 64,
    GROWTH_DIGITS = 21 /* NumPy leaves room for the first axis to grow to this many digits */
};

const unsigned char npy_magic[NPY_MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

const char *npy_descr(mha_dtype dtype) {
    return dtypes[dtype].descr;
}

bool npy_data_bytes(size_t *bytes, const mha_array *array) {
    size_t product = dtypes[array->dtype].bytes;
    bool empty = false;
    for (size_t i = 0; i < array->rank; i++) {
        if (array->dims[i] == 0) {
            empty = true;
        } else if (!size_multiply(&product, product, array->dims[i])) {
            return false;
        }
    }
    *bytes = empty ? 0 : product;
    return true;
}

void npy_print_shape(char text[NPY_SHAPE_MOST], const mha_array *array) {
    size_t length = 0;
    text[length++] = '(';
    for (size_t i = 0; i < array->rank; i++) {
        length += (size_t)snprintf(
            text + length, NPY_SHAPE_MOST - length, "%s%zu", i == 0 ? "" : ", ", array->dims[i]);
    }
    snprintf(text + length, NPY_SHAPE_MOST - length, "%s", array->rank == 1 ? ",)" : ")");
}

size_t npy_print(unsigned char header[NPY_PRINT_MOST], const mha_array *array) {
    char shape[NPY_SHAPE_MOST];
    npy_print_shape(shape, array);
    const size_t prefix = NPY_MAGIC_SIZE + 4;
    char *text = (char *)header + prefix;
    size_t length = (size_t)snprintf(text, NPY_PRINT_MOST - prefix,
        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", dtypes[array->dtype].descr,
        shape);
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
