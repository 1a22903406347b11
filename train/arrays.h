/* The arrays of a user's file: found by name, checked, converted. A file's arrays are named in
 * messages as "FILE: NAME ...". Precision-free. */
#ifndef TRAIN_ARRAYS_H
#define TRAIN_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <mha/io.h>
#include <mha/mask.h>

/* The array of that name; MHA_ERROR_FORMAT when path does not hold it. */
mha_status array_find(const mha_array **array, const mha_arrays *arrays, const char *name,
    const char *path, mha_error *error);

/* What its numbers were called in the file, such as "float16" or "uint32". */
const char *array_dtype(const mha_array *array);

/* The numbers must be floating. */
mha_status array_check_floating(const mha_array *array, const char *path, mha_error *error);
/* There must be `rank` axes; axes names them, such as "(batch, target length, width)". */
mha_status array_check_rank(
    const mha_array *array, size_t rank, const char *axes, const char *path, mha_error *error);
/* Axis `axis` of the two must be equally long; what names it, such as "batch". */
mha_status array_check_axis(const mha_array *array, const mha_array *other, size_t axis,
    const char *what, const char *path, mha_error *error);

/* Index of the first number from `first` on that is NaN or infinite; the count of a floating array
 * when there is none. */
size_t array_first_not_finite(const mha_array *array, size_t first);
/* The same for numbers that are NaN or infinite once they are rounded to float. */
size_t array_first_not_float(const mha_array *array, size_t first);
/* Refuses number `index` of a floating array: "query[0, 3, 1] is nan", or beyond the largest float,
 * and what follows. */
mha_status array_refuse_number(
    const mha_array *array, size_t index, const char *what, const char *path, mha_error *error);
/* Every number of a floating array must be finite. */
mha_status array_check_finite(const mha_array *array, const char *path, mha_error *error);

/* One line on standard error that names the first few arrays of a file that nobody reads; nothing
 * when all are read. */
void tell_left_out(const mha_arrays *arrays, bool (*is_read)(const void *, const mha_array *),
    const void *context, const char *path);

/* The integer at an index of an array of bool, uint8 or int64. */
int64_t array_integer_at(const mha_array *array, size_t index);

/* Copies count numbers of a floating array, from number `first` on, to floats or doubles: exactly,
 * or from double to float rounded. */
void array_copy(void *to, mha_dtype dtype, const mha_array *array, size_t first, size_t count);

/* Makes a floating array one of double; *converted (free) then holds its data, unless it was so
 * before or has no data. */
mha_status array_widen(mha_array *array, void **converted, mha_error *error);

/* What the arrays mask and lengths of a file allow, for one sample or for all of it. */
struct array_mask {
    mha_mask mask; /* points to the two below */
    unsigned char *allowed;
    int64_t *lengths; /* (B) */
};

/* Reads the arrays "mask" and "lengths", each of which may be missing, and checks them with the
 * alignment against the shape, whose batch is all samples. A mask holds booleans, true = allowed, or
 * integers of 0 and 1; lengths are integers. MHA_ERROR_FORMAT, _MASK or _MEMORY; *mask holds nothing
 * then. */
mha_status array_mask_create(struct array_mask *mask, const mha_arrays *arrays, mha_causal causal,
    const mha_shape *shape, const char *path, mha_error *error);
void array_mask_free(struct array_mask *mask);

#endif
