/* The arrays of one file, while it is read. */
#ifndef IO_ARRAYS_H
#define IO_ARRAYS_H

#include <stddef.h>

#include <mha/io.h>

#define arrays_add          mha_arrays_add
#define arrays_add_metadata mha_arrays_add_metadata
#define arrays_create       mha_arrays_create

/* NULL when there is no memory. */
mha_arrays *arrays_create(void);

/* Takes over array->data, also on failure, and copies the name. MHA_ERROR_MEMORY, or _FORMAT when
 * the name is there already; texts name path and array. */
mha_status arrays_add(mha_arrays *arrays, const mha_array *array, const char *name,
    const char *path, mha_error *error);

/* Copies both strings. */
mha_status arrays_add_metadata(
    mha_arrays *arrays, const char *key, const char *value, const char *path, mha_error *error);

#endif
