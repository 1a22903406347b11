/* The arrays of a run's .npz files. */
#ifndef TRAIN_RUN_MATRICES_H
#define TRAIN_RUN_MATRICES_H

#include <mha/io.h>

#include "settings.h"

/* "wq" to "wo", and "velocity_wq" to "velocity_wo". */
extern const char *const run_weight_names[MHA_WEIGHT_COUNT];
extern const char *const run_velocity_names[MHA_WEIGHT_COUNT];

/* Describes matrices (4,width,width) as four arrays. */
void run_describe_matrices(mha_array arrays[MHA_WEIGHT_COUNT],
    const char *const names[MHA_WEIGHT_COUNT], const mha_real *matrices, size_t width);

/* Copies them out of a file into memory of the caller's, NULL on failure. Here and below:
 * MHA_ERROR_FORMAT naming path and array when one is missing or not what belongs there. */
mha_status run_take_matrices(mha_real **matrices, const mha_arrays *arrays,
    const char *const names[MHA_WEIGHT_COUNT], size_t width, const char *path, mha_error *error);

/* One integer from 0 on, at most most; one number. */
mha_status run_take_integer(size_t *value, const mha_arrays *arrays, const char *name, size_t most,
    const char *path, mha_error *error);
mha_status run_take_number(
    double *value, const mha_arrays *arrays, const char *name, const char *path, mha_error *error);

/* The integer "heads" must be that number. */
mha_status run_check_heads(
    const mha_arrays *arrays, size_t heads, const char *path, mha_error *error);

#endif
