/* The arrays of one measurement, carved out of one block. */
#ifndef TRAIN_COMMANDS_BENCH_ARRAYS_H
#define TRAIN_COMMANDS_BENCH_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/mha32.h>

struct bench_array {
    mha_real **at; /* becomes the array, at a multiple of 64 bytes */
    size_t count;  /* as mha_value_shape_of has it; 0 makes it NULL */
    bool drawn;    /* from N(0,1); else zeros */
};

/* MHA_ERROR_MEMORY when there is no room, or when the machine has less memory than the arrays and
 * the further bytes need. The block is the caller's to free. */
mha_status bench_arrays_create(void **block, const struct bench_array *arrays, size_t count,
    size_t further_bytes, mha_error *error);

#endif
