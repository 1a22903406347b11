#include "arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memory.h"

mha_status array_find(const mha_array **array, const mha_arrays *arrays, const char *name,
    const char *path, mha_error *error) {
    *array = mha_arrays_find(arrays, name);
    const bool has_names = mha_arrays_find(arrays, "") == NULL;
    return *array != NULL ? MHA_OK
                          : mha_fail(error, MHA_ERROR_FORMAT, "%s: no array '%s'%s", path, name,
                                has_names ? "" : "; a .npy file holds one array without a name");
}

const char *array_dtype(const mha_array *array) {
    return array->stored != NULL ? array->stored : mha_dtype_name(array->dtype);
}

mha_status array_check_floating(const mha_array *array, const char *path, mha_error *error) {
    if (array->dtype == MHA_FLOAT32 || array->dtype == MHA_FLOAT64) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is %s, floating numbers are needed", path,
        array->name, array_dtype(array));
}

mha_status array_check_rank(
    const mha_array *array, size_t rank, const char *axes, const char *path, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE];
    if (array->rank == rank) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s has shape %s, %s is needed", path, array->name,
        mha_array_shape_text(shape, array), axes);
}

mha_status array_check_axis(const mha_array *array, const mha_array *other, size_t axis,
    const char *what, const char *path, mha_error *error) {
    char shape[MHA_SHAPE_TEXT_SIZE], other_shape[MHA_SHAPE_TEXT_SIZE];
    if (array->dims[axis] == other->dims[axis]) {
        return MHA_OK;
    }
    return mha_fail(error, MHA_ERROR_SHAPE, "%s: %s %s has %s %zu, %s %s has %zu", path,
        array->name, mha_array_shape_text(shape, array), what, array->dims[axis], other->name,
        mha_array_shape_text(other_shape, other), other->dims[axis]);
}

static double number_at(const mha_array *array, size_t index) {
    return array->dtype == MHA_FLOAT64 ? ((const double *)array->data)[index]
                                       : (double)((const float *)array->data)[index];
}

size_t array_first_not_finite(const mha_array *array, size_t first) {
    const size_t count = mha_array_count(array);
    while (first < count && isfinite(number_at(array, first))) {
        first++;
    }
    return first;
}

size_t array_first_not_float(const mha_array *array, size_t first) {
    const size_t count = mha_array_count(array);
    while (first < count && isfinite((float)number_at(array, first))) {
        first++;
    }
    return first;
}

/* "[0, 3, 1]" */
struct index_text {
    char text[MHA_SHAPE_TEXT_SIZE];
};

static struct index_text show_index(const mha_array *array, size_t index) {
    size_t place[MHA_ARRAY_RANK] = {0};
    for (size_t axis = array->rank; axis-- > 0;) {
        place[axis] = index % array->dims[axis];
        index /= array->dims[axis];
    }
    struct index_text shown = {"["};
    size_t used = 1;
    for (size_t axis = 0; axis < array->rank; axis++) {
        used += (size_t)snprintf(shown.text + used, sizeof shown.text - used, "%s%zu",
            axis == 0 ? "" : ", ", place[axis]);
    }
    snprintf(shown.text + used, sizeof shown.text - used, "]");
    return shown;
}

mha_status array_refuse_number(
    const mha_array *array, size_t index, const char *what, const char *path, mha_error *error) {
    const double number = number_at(array, index);
    if (isfinite(number)) {
        return mha_fail(error, MHA_ERROR_NOT_FINITE, "%s: %s%s is %g, beyond the largest float%s",
            path, array->name, show_index(array, index).text, number, what);
    }
    /* A NaN's sign means nothing to its reader, and printf shows it. */
    const char *shown = isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    return mha_fail(error, MHA_ERROR_NOT_FINITE, "%s: %s%s is %s%s", path, array->name,
        show_index(array, index).text, shown, what);
}

mha_status array_check_finite(const mha_array *array, const char *path, mha_error *error) {
    const size_t index = array_first_not_finite(array, 0);
    return index == mha_array_count(array) ? MHA_OK
                                           : array_refuse_number(array, index, "", path, error);
}

void tell_left_out(const mha_arrays *arrays, bool (*is_read)(const void *, const mha_array *),
    const void *context, const char *path) {
    enum { NAMED = 5, NAME_LENGTH = 80 };
    char names[NAMED * (NAME_LENGTH + 2) + 1] = "";
    const size_t array_count = mha_arrays_count(arrays);
    size_t count = 0, used = 0;
    for (size_t i = 0; i < array_count + mha_arrays_skipped_count(arrays); i++) {
        const mha_array *array = mha_arrays_at(arrays, i);
        if (array != NULL && is_read(context, array)) {
            continue;
        }
        if (count < NAMED) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s",
                count > 0 ? ", " : "", NAME_LENGTH,
                array != NULL ? array->name : mha_arrays_skipped_at(arrays, i - array_count));
        }
        count++;
    }
    if (count > 0) {
        complain("%s: left out: %s%s (%zu)", path, names, count > NAMED ? ", ..." : "", count);
    }
}

void array_copy(void *to, mha_dtype dtype, const mha_array *array, size_t first, size_t count) {
    const size_t bytes = mha_dtype_bytes(array->dtype);
    if (array->dtype == dtype) {
        if (count > 0) {
            memcpy(to, (const char *)array->data + first * bytes, count * bytes);
        }
    } else if (dtype == MHA_FLOAT64) {
        const float *from = (const float *)array->data + first;
        for (size_t i = 0; i < count; i++) {
            ((double *)to)[i] = (double)from[i];
        }
    } else {
        const double *from = (const double *)array->data + first;
        for (size_t i = 0; i < count; i++) {
            ((float *)to)[i] = (float)from[i];
        }
    }
}

mha_status array_widen(mha_array *array, void **converted, mha_error *error) {
    const size_t count = mha_array_count(array);
    if (array->data == NULL || array->dtype == MHA_FLOAT64) {
        return MHA_OK;
    }
    *converted = allocate_zeroed(count, sizeof(double));
    if (*converted == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu bytes", count * sizeof(double));
    }
    array_copy(*converted, MHA_FLOAT64, array, 0, count);
    array->dtype = MHA_FLOAT64;
    array->data = *converted;
    return MHA_OK;
}

int64_t array_integer_at(const mha_array *array, size_t index) {
    return array->dtype == MHA_INT64 ? ((const int64_t *)array->data)[index]
                                     : ((const unsigned char *)array->data)[index];
}

/* Copies the array "mask". Its shape is checked by mha_mask_check, which knows what a mask may be. */
static mha_status read_allowed(
    struct array_mask *mask, const mha_array *array, const char *path, mha_error *error) {
    if (array->dtype == MHA_FLOAT32 || array->dtype == MHA_FLOAT64) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: %s is %s, a mask holds booleans (true = allowed) or integers of 0 and 1", path,
            array->name, array_dtype(array));
    }
    const size_t count = mha_array_count(array);
    mask->allowed = allocate_zeroed(count, sizeof *mask->allowed);
    if (mask->allowed == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu bytes", count);
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t value = array_integer_at(array, i);
        if (value != 0 && value != 1) {
            return mha_fail(error, MHA_ERROR_MASK,
                "%s: %s%s is %" PRId64 ", neither 0 (blocked) nor 1 (allowed)", path, array->name,
                show_index(array, i).text, value);
        }
        mask->allowed[i] = (unsigned char)value;
    }
    mask->mask.allowed = mask->allowed;
    mask->mask.rank = array->rank;
    for (size_t axis = 0; axis < array->rank && axis < 4; axis++) {
        mask->mask.dims[axis] = array->dims[axis];
    }
    return MHA_OK;
}

static mha_status read_lengths(struct array_mask *mask, const mha_array *array,
    const mha_shape *shape, const char *path, mha_error *error) {
    if (array->dtype != MHA_INT64 && array->dtype != MHA_UINT8) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is %s, integers are needed", path,
            array->name, array_dtype(array));
    }
    if (array->rank != 1 || array->dims[0] != shape->batch) {
        char shown[MHA_SHAPE_TEXT_SIZE];
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s has shape %s, (batch) = (%zu,) is needed",
            path, array->name, mha_array_shape_text(shown, array), shape->batch);
    }
    mask->lengths = allocate_zeroed(shape->batch, sizeof *mask->lengths);
    if (mask->lengths == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu bytes",
            shape->batch * sizeof *mask->lengths);
    }
    for (size_t b = 0; b < shape->batch; b++) {
        mask->lengths[b] = array_integer_at(array, b);
    }
    mask->mask.lengths = mask->lengths;
    return MHA_OK;
}

mha_status array_mask_create(struct array_mask *mask, const mha_arrays *arrays, mha_causal causal,
    const mha_shape *shape, const char *path, mha_error *error) {
    *mask = (struct array_mask){.mask = {.causal = causal}};
    const mha_array *allowed = mha_arrays_find(arrays, "mask");
    const mha_array *lengths = mha_arrays_find(arrays, "lengths");
    mha_status status = MHA_OK;
    if (allowed != NULL) {
        status = read_allowed(mask, allowed, path, error);
    }
    if (status == MHA_OK && lengths != NULL) {
        status = read_lengths(mask, lengths, shape, path, error);
    }
    mha_error found;
    if (status == MHA_OK && mha_mask_check(&mask->mask, shape, &found) != MHA_OK) {
        status = mha_fail(error, found.status, "%s: %s", path, found.text);
    }
    if (status != MHA_OK) {
        array_mask_free(mask);
    }
    return status;
}

void array_mask_free(struct array_mask *mask) {
    free(mask->allowed);
    free(mask->lengths);
    *mask = (struct array_mask){.allowed = NULL};
}
