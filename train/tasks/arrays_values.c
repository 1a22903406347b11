#include "arrays_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"

/* The array as floats, in memory of the caller's; NULL when there is none. */
static mha_real *copy_floats(const mha_array *array) {
    const size_t count = mha_array_count(array);
    mha_real *copy = allocate_zeroed(count, sizeof *copy);
    if (copy != NULL) {
        array_copy(copy, MHA_FLOAT32, array, 0, count);
    }
    return copy;
}

/* The positions that count, apart from labels of -1: those that `count` says; without it, in
 * self-attention, those before the end of each sequence. NULL stays where all count. */
static mha_status take_counted(
    struct examples *examples, const struct example_file *file, mha_error *error) {
    const mha_shape *shape = &examples->shape;
    const int64_t *lengths = examples->mask.lengths;
    const size_t rows = shape->batch * shape->target_length;
    if (file->count == NULL && (examples->cross || lengths == NULL)) {
        return MHA_OK;
    }
    examples->counted = allocate_zeroed(rows, sizeof *examples->counted);
    if (examples->counted == NULL) {
        return no_memory(error);
    }
    for (size_t row = 0; row < rows; row++) {
        const size_t n = row / shape->target_length, t = row % shape->target_length;
        const int64_t value =
            file->count != NULL ? array_integer_at(file->count, row) : (int64_t)t < lengths[n];
        if (value != 0 && value != 1) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: count[%zu, %zu] is %" PRId64 ", neither 0 (does not count) nor 1 (counts)",
                file->path, n, t, value);
        }
        examples->counted[row] = (unsigned char)value;
    }
    return MHA_OK;
}

static mha_status take_query(
    struct examples *examples, const struct example_file *file, mha_error *error) {
    examples->query = copy_floats(file->query);
    if (examples->query == NULL) {
        return no_memory(error);
    }
    const size_t count = mha_array_count(file->query);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(examples->query[i])) {
            return array_refuse_number(file->query, i, "", file->path, error);
        }
    }
    return MHA_OK;
}

/* Whether a query may see row s of context n, or of any example when they share one. */
static bool row_is_seen(const struct examples *examples, size_t n, size_t s) {
    const mha_mask *mask = &examples->mask.mask;
    const bool alike =
        mask->lengths == NULL && (mask->allowed == NULL || mask->rank == 2 || mask->dims[0] == 1);
    const size_t last = examples->one_context && !alike ? examples->shape.batch - 1 : n;
    for (; n <= last; n++) {
        if (mha_mask_sees_source(&examples->mask.mask, &examples->shape, n, s)) {
            return true;
        }
    }
    return false;
}

static mha_status take_context(
    struct examples *examples, const struct example_file *file, mha_error *error) {
    if (file->context == NULL) {
        return MHA_OK;
    }
    examples->context = copy_floats(file->context);
    if (examples->context == NULL) {
        return no_memory(error);
    }
    const size_t width = examples->shape.width, length = examples->shape.source_length;
    const size_t rows = file->context->dims[0] * length;
    for (size_t row = 0; row < rows; row++) {
        size_t i = row * width;
        const size_t end = i + width;
        while (i < end && isfinite(examples->context[i])) {
            i++;
        }
        if (i < end && row_is_seen(examples, row / length, row % length)) {
            return array_refuse_number(
                file->context, i, ", and a query may see that row", file->path, error);
        }
    }
    return MHA_OK;
}

/* Whether position i counts, whatever its label. */
static bool position_counts(const struct examples *examples, size_t i) {
    return examples->counted == NULL || examples->counted[i] != 0;
}

static mha_status take_target(
    struct examples *examples, const struct example_file *file, mha_error *error) {
    examples->target = copy_floats(file->target);
    if (examples->target == NULL) {
        return no_memory(error);
    }
    const size_t width = examples->shape.width, count = mha_array_count(file->target);
    for (size_t i = 0; i < count; i++) {
        if (position_counts(examples, i / width) && !isfinite(examples->target[i])) {
            return array_refuse_number(file->target, i, "", file->path, error);
        }
    }
    return MHA_OK;
}

/* Classes are counted in the training file, over the labels of its positions that count: 0 to the
 * largest of them, and at least two. */
static mha_status find_classes(
    struct examples *examples, const struct example_file *file, mha_error *error) {
    const size_t count = mha_array_count(file->labels), width = examples->shape.width;
    int64_t largest = 1;
    for (size_t i = 0; i < count; i++) {
        const int64_t label = array_integer_at(file->labels, i);
        largest = position_counts(examples, i) && label > largest ? label : largest;
    }
    if ((uint64_t)largest >= width) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "%s: width %zu cannot hold the %" PRIu64 " classes of labels", file->path, width,
            (uint64_t)largest + 1);
    }
    examples->classes = (size_t)largest + 1;
    return MHA_OK;
}

static mha_status take_labels(struct examples *examples, const struct example_file *file,
    const char *like_path, const struct examples *like, mha_error *error) {
    const size_t count = mha_array_count(file->labels), length = examples->shape.target_length;
    if (like != NULL) {
        examples->classes = like->classes;
    } else if (find_classes(examples, file, error) != MHA_OK) {
        return MHA_ERROR_SHAPE;
    }
    examples->labels = allocate_zeroed(count, sizeof *examples->labels);
    if (examples->labels == NULL) {
        return no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        examples->labels[i] = -1;
        if (!position_counts(examples, i)) {
            continue; /* and may hold anything */
        }
        const int64_t label = array_integer_at(file->labels, i);
        if (label < -1) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: labels[%zu, %zu] is %" PRId64
                ", neither a class from 0 on nor -1 (does not count)",
                file->path, i / length, i % length, label);
        }
        if (label >= (int64_t)examples->classes) {
            return mha_fail(error, MHA_ERROR_SHAPE,
                "%s: labels[%zu, %zu] is %" PRId64 ", the classes of %s are 0 to %zu", file->path,
                i / length, i % length, label, like_path, examples->classes - 1);
        }
        examples->labels[i] = (int32_t)label;
    }
    free(examples->counted); /* the labels know it now */
    examples->counted = NULL;
    return MHA_OK;
}

mha_status examples_take_values(struct examples *examples, const struct example_file *file,
    const char *like_path, const struct examples *like, mha_error *error) {
    mha_status status = take_counted(examples, file, error);
    if (status == MHA_OK) {
        status = take_query(examples, file, error);
    }
    if (status == MHA_OK) {
        status = take_context(examples, file, error);
    }
    if (status == MHA_OK) {
        status = examples->loss == TASK_MSE ? take_target(examples, file, error)
                                            : take_labels(examples, file, like_path, like, error);
    }
    return status;
}
