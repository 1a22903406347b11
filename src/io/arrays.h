/* The arrays of one file, while it is read, and what readers and writers of all formats ask of one. */
#ifndef IO_ARRAYS_H
#define IO_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/io.h>

#define array_check         mha_array_check
#define array_check_named   mha_array_check_named
#define array_free_data     mha_array_free_data
#define array_measure       mha_array_measure
#define arrays_add          mha_arrays_add
#define arrays_add_metadata mha_arrays_add_metadata
#define arrays_add_skipped  mha_arrays_add_skipped
#define arrays_create       mha_arrays_create
#define ends_in             mha_ends_in

/* ---- one array ---- */

/* *count and *bytes of its numbers, of `size` bytes each; SIZE_MAX where that does not fit. False when
 * the axes other than 0 make more than PTRDIFF_MAX bytes: an axis of length 0 does not make up for
 * others that no memory could hold. */
bool array_measure(size_t *count, size_t *bytes, const mha_array *array, size_t size);

/* Whether array can be written, and the bytes of its numbers: MHA_ERROR_ARGUMENT or _SIZE. Texts are
 * predicates: "has no data". */
mha_status array_check(size_t *bytes, const mha_array *array, mha_error *error);

/* The same of the array of that index, which must have a name. Texts name path and array. */
mha_status array_check_named(
    size_t *bytes, const mha_array *array, size_t index, const char *path, mha_error *error);

/* Frees its data, which readers take from malloc. */
void array_free_data(const mha_array *array);

/* ---- all of a file ---- */

/* NULL when there is no memory. */
mha_arrays *arrays_create(void);

/* Takes over array->data, also on failure, and copies the name. MHA_ERROR_MEMORY, or _FORMAT when
 * the name is there already; texts name path and array. */
mha_status arrays_add(mha_arrays *arrays, const mha_array *array, const char *name,
    const char *path, mha_error *error);

/* Copies both strings. */
mha_status arrays_add_metadata(
    mha_arrays *arrays, const char *key, const char *value, const char *path, mha_error *error);

/* Copies the name of something in the file that is no array. */
mha_status arrays_add_skipped(
    mha_arrays *arrays, const char *name, const char *path, mha_error *error);

/* Whether text, a path or a name, ends in ending. */
bool ends_in(const char *text, const char *ending);

#endif
