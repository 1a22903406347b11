/* The dtypes that files hold, and their conversion to the kinds of numbers in memory. */
#ifndef IO_STORED_H
#define IO_STORED_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/io.h>

#include "io/source.h"

#define stored_dtypes mha_stored_dtypes
#define stored_read   mha_stored_read

typedef struct stored_dtype {
    const char *name;        /* "float16" */
    const char *npy;         /* kind and bytes of a .npy descr, "f2"; NULL when it has none */
    const char *safetensors; /* "F16" */
    size_t bytes;            /* of one number; no more than it has in memory */
    mha_dtype dtype;         /* in memory */
    /* Converts count numbers in the machine's byte order. False, at a number that has no place in
     * memory: a bool that is neither 0 nor 1, a uint64 of 2^63 or more; *bad is its index. */
    bool (*convert)(void *to, const void *from, size_t count, size_t *bad);
} stored_dtype;

enum { STORED_COUNT = 13 };
extern const stored_dtype stored_dtypes[STORED_COUNT];

/* How the numbers of an array lie in a file. */
typedef struct stored_layout {
    const stored_dtype *type;
    bool big_endian;
    bool fortran_order; /* the first axis runs fastest */
} stored_layout;

/* Reads the data of an array whose rank and dims are set: sets dtype, stored, and data to memory of
 * its own (malloc; also for no numbers at all), row-major. source must have exactly the bytes that
 * shape and type need, else MHA_ERROR_FORMAT with both numbers; MHA_ERROR_SIZE when the array needs
 * more than max_bytes in memory, twice its size where it is transposed; both before memory is taken. Memory grows with the bytes that come,
 * so that a source which ends early costs no more than it holds. Texts name neither file nor array. */
mha_status stored_read(mha_array *array, const stored_layout *layout, byte_source *source,
    size_t max_bytes, mha_error *error);

#endif
