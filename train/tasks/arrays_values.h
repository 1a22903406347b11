/* The numbers of a file of examples: checked and copied. */
#ifndef TRAIN_TASKS_ARRAYS_VALUES_H
#define TRAIN_TASKS_ARRAYS_VALUES_H

#include "arrays_data.h"

/* The arrays of a file that the task knows; NULL where it has none of that name. */
struct example_file {
    const char *path;
    mha_arrays *arrays;
    const mha_array *query, *context, *target, *labels, *mask, *lengths, *count;
};

/* Fills query, context, target, labels and counted of examples whose shape and mask are known.
 * MHA_ERROR_FORMAT for numbers of a kind or value that cannot be meant, MHA_ERROR_NOT_FINITE for NaN
 * and infinity where a number is needed, or for one beyond the largest float, MHA_ERROR_SHAPE for
 * more classes than features or than like has, MHA_ERROR_MEMORY. */
mha_status examples_take_values(struct examples *examples, const struct example_file *file,
    const char *like_path, const struct examples *like, mha_error *error);

#endif
