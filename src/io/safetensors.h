/* The .safetensors format:
 *   N (8 bytes, little-endian), header (N bytes of JSON, spaces behind it), data
 * and the header is an object
 *   {"__metadata__": {"key": "value"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 * whose offsets count from the first byte of the data. All numbers are little-endian, row-major. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <mha/io.h>

#include "io/stored.h"

#define safetensors_entries mha_safetensors_entries

#define SAFETENSORS_METADATA "__metadata__"

enum {
    SAFETENSORS_LENGTH_SIZE = 8, /* bytes of N */
    /* Longest header that is read or written. jansson takes up to 80 bytes of memory for a byte of
     * JSON ("[{},{},..."), and a file that is refused in the end shall not have cost much more than
     * 30 MB. That is room for about 4000 tensors. */
    SAFETENSORS_HEADER_MOST = 400000,
    SAFETENSORS_NAME_SHOWN = 300 /* bytes of a tensor's name in messages */
};

/* A tensor as the header describes it. */
typedef struct safetensors_entry {
    const char *name; /* belongs to the header */
    const stored_dtype *type;
    mha_array array;     /* rank and dims */
    uint64_t begin, end; /* offsets of its data */
} safetensors_entry;

/* What lies behind the header, and what is allowed in memory. */
typedef struct safetensors_bounds {
    uint64_t data_bytes;
    size_t max_bytes; /* of one array */
} safetensors_bounds;

/* Reads the tensors of a header, an object, into entries, and sorts pointers to them by their
 * offsets into order; both have room for json_object_size(header), and *count is set on success. All
 * that a header can claim is checked: dtypes, shapes, offsets, sizes, and that the tensors cover the
 * data without a hole or overlap. MHA_ERROR_FORMAT, or _SIZE for an array beyond max_bytes; texts
 * name path and tensor. */
mha_status safetensors_entries(safetensors_entry *entries, safetensors_entry **order, size_t *count,
    json_t *header, const safetensors_bounds *bounds, const char *path, mha_error *error);

#endif
