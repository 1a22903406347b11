#include "arrays_data.h"

#include <stdlib.h>
#include <string.h>

#include "arrays_values.h"
#include "hash.h"
#include "memory.h"

static mha_status open_file(
    struct example_file *file, const char *path, size_t max_bytes, mha_error *error) {
    *file = (struct example_file){.path = path};
    mha_status status = mha_arrays_read(&file->arrays, path, max_bytes, error);
    if (status != MHA_OK) {
        return status;
    }
    file->context = mha_arrays_find(file->arrays, "context");
    file->target = mha_arrays_find(file->arrays, "target");
    file->labels = mha_arrays_find(file->arrays, "labels");
    file->mask = mha_arrays_find(file->arrays, "mask");
    file->lengths = mha_arrays_find(file->arrays, "lengths");
    file->count = mha_arrays_find(file->arrays, "count");
    status = array_find(&file->query, file->arrays, "query", path, error);
    if (status == MHA_OK && (file->target == NULL) == (file->labels == NULL)) {
        status = mha_fail(error, MHA_ERROR_FORMAT,
            file->target == NULL
                ? "%s: no array 'target' (for mean squared error) or 'labels' (for cross-entropy)"
                : "%s: both target (for mean squared error) and labels (for cross-entropy): give "
                  "one",
            path);
    }
    return status;
}

/* The arrays of floating numbers, (examples, length, width) each. */
static mha_status check_floating(const struct example_file *file, mha_error *error) {
    static const char *const axes[] = {"(examples, target length, width)",
        "(examples, source length, width)", "(examples, target length, width)"};
    const mha_array *const arrays[] = {file->query, file->context, file->target};
    char shape[MHA_SHAPE_TEXT_SIZE];
    for (size_t i = 0; i < 3; i++) {
        if (arrays[i] == NULL) {
            continue;
        }
        mha_status status = array_check_floating(arrays[i], file->path, error);
        if (status == MHA_OK) {
            status = array_check_rank(arrays[i], 3, axes[i], file->path, error);
        }
        if (status != MHA_OK) {
            return status;
        }
        if (mha_array_count(arrays[i]) == 0) {
            return mha_fail(error, MHA_ERROR_SHAPE, "%s: %s has shape %s, and no axis may be 0",
                file->path, arrays[i]->name, mha_array_shape_text(shape, arrays[i]));
        }
    }
    return MHA_OK;
}

static mha_status check_context(const struct example_file *file, mha_error *error) {
    const mha_array *context = file->context, *query = file->query;
    char context_shape[MHA_SHAPE_TEXT_SIZE], query_shape[MHA_SHAPE_TEXT_SIZE];
    if (context->dims[0] != 1 && context->dims[0] != query->dims[0]) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "%s: context %s has %zu examples, query %s has %zu: give as many, or 1 for all",
            file->path, mha_array_shape_text(context_shape, context), context->dims[0],
            mha_array_shape_text(query_shape, query), query->dims[0]);
    }
    return array_check_axis(context, query, 2, "width", file->path, error);
}

/* labels and count hold one integer a position. */
static mha_status check_positions(const struct example_file *file, mha_error *error) {
    const mha_array *const arrays[] = {file->labels, file->count};
    for (size_t i = 0; i < 2; i++) {
        const mha_array *array = arrays[i];
        if (array == NULL) {
            continue;
        }
        const bool floating = array->dtype == MHA_FLOAT32 || array->dtype == MHA_FLOAT64;
        if (floating || (i == 0 && array->dtype == MHA_BOOL)) {
            return mha_fail(error, MHA_ERROR_FORMAT, "%s: %s is %s, %s are needed", file->path,
                array->name, array_dtype(array), i == 0 ? "integers" : "booleans");
        }
        mha_status status =
            array_check_rank(array, 2, "(examples, target length)", file->path, error);
        if (status == MHA_OK) {
            status = array_check_axis(array, file->query, 0, "example count", file->path, error);
        }
        if (status == MHA_OK) {
            status = array_check_axis(array, file->query, 1, "target length", file->path, error);
        }
        if (status != MHA_OK) {
            return status;
        }
    }
    return MHA_OK;
}

static mha_status check_shapes(const struct example_file *file, mha_error *error) {
    static const char *const axes[] = {"example count", "target length", "width"};
    mha_status status = check_floating(file, error);
    if (status == MHA_OK && file->context != NULL) {
        status = check_context(file, error);
    }
    for (size_t axis = 0; axis < 3 && status == MHA_OK && file->target != NULL; axis++) {
        status = array_check_axis(file->target, file->query, axis, axes[axis], file->path, error);
    }
    if (status == MHA_OK && file->query->dims[0] > UINT32_MAX) {
        status = mha_fail(error, MHA_ERROR_SIZE,
            "%s: query has %zu examples, at most %zu can be "
            "shuffled",
            file->path, file->query->dims[0], (size_t)UINT32_MAX);
    }
    return status == MHA_OK ? check_positions(file, error) : status;
}

/* Sizes that were asked for, or that the training examples have. */
static mha_status check_sizes(const struct examples *examples, const struct example_file *file,
    const mha_shape *wanted, const char *like_path, mha_error *error) {
    const mha_shape *shape = &examples->shape;
    const char *source = examples->cross ? "context" : "query";
    const struct {
        const char *array, *what;
        size_t found, wanted;
    } sizes[] = {{"query", "target length", shape->target_length, wanted->target_length},
        {source, "source length", shape->source_length, wanted->source_length},
        {"query", "width", shape->width, wanted->width}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].wanted == 0 || sizes[i].wanted == sizes[i].found) {
            continue;
        }
        if (like_path == NULL) {
            return mha_fail(error, MHA_ERROR_SHAPE, "%s: %s has %s %zu, not %zu", file->path,
                sizes[i].array, sizes[i].what, sizes[i].found, sizes[i].wanted);
        }
        return mha_fail(error, MHA_ERROR_SHAPE, "%s: %s has %s %zu, %s has %zu", file->path,
            sizes[i].array, sizes[i].what, sizes[i].found, like_path, sizes[i].wanted);
    }
    return MHA_OK;
}

static mha_status check_alike(const struct examples *examples, const struct example_file *file,
    const struct examples *like, const char *like_path, mha_error *error) {
    if (examples->loss != like->loss) {
        const bool regression = examples->loss == TASK_MSE;
        return mha_fail(error, MHA_ERROR_FORMAT, "%s has %s, %s has %s", file->path,
            regression ? "target" : "labels", like_path, regression ? "labels" : "target");
    }
    if (examples->cross != like->cross) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s has %s context, %s has %s", file->path,
            examples->cross ? "a" : "no", like_path, examples->cross ? "none" : "one");
    }
    return check_sizes(examples, file, &like->shape, like_path, error);
}

enum { ARRAYS_READ = 7 };

static void list_arrays(const mha_array *list[ARRAYS_READ], const struct example_file *file) {
    const mha_array *const arrays[ARRAYS_READ] = {file->query, file->context, file->target,
        file->labels, file->mask, file->lengths, file->count};
    memcpy(list, arrays, sizeof arrays);
}

static bool is_read(const void *file, const mha_array *array) {
    const mha_array *arrays[ARRAYS_READ];
    list_arrays(arrays, file);
    for (size_t i = 0; i < ARRAYS_READ; i++) {
        if (arrays[i] == array) {
            return true;
        }
    }
    return false;
}

/* FNV-1a over what the task reads: for each array its name and dtype, the axes as numbers of eight
 * bytes, and its data. */
static uint64_t fingerprint_of(const struct example_file *file) {
    const mha_array *arrays[ARRAYS_READ];
    list_arrays(arrays, file);
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < ARRAYS_READ; i++) {
        const mha_array *array = arrays[i];
        if (array == NULL) {
            continue;
        }
        const char *dtype = mha_dtype_name(array->dtype);
        hash = hash_bytes(hash, array->name, strlen(array->name) + 1);
        hash = hash_bytes(hash, dtype, strlen(dtype) + 1);
        for (size_t axis = 0; axis < array->rank; axis++) {
            const uint64_t length = array->dims[axis];
            hash = hash_bytes(hash, &length, sizeof length);
        }
        hash =
            hash_bytes(hash, array->data, mha_array_count(array) * mha_dtype_bytes(array->dtype));
    }
    return hash == 0 ? 1 : hash;
}

static void take_form(
    struct examples *examples, const struct example_file *file, const struct settings *settings) {
    const mha_array *source = file->context != NULL ? file->context : file->query;
    examples->cross = file->context != NULL;
    examples->one_context = examples->cross && source->dims[0] == 1;
    examples->loss = file->target != NULL ? TASK_MSE : TASK_CROSS_ENTROPY;
    examples->shape = (mha_shape){.batch = file->query->dims[0],
        .target_length = file->query->dims[1],
        .source_length = source->dims[1],
        .width = file->query->dims[2],
        .heads = settings->shape.heads};
}

static mha_status take_examples(struct examples *examples, const struct example_file *file,
    const struct settings *settings, const struct examples *like, mha_error *error) {
    mha_status status = check_shapes(file, error);
    if (status != MHA_OK) {
        return status;
    }
    take_form(examples, file, settings);
    status = like != NULL ? check_alike(examples, file, like, settings->data, error)
                          : check_sizes(examples, file, &settings->shape, NULL, error);
    if (status == MHA_OK) {
        mha_shape one = examples->shape;
        one.batch = 1;
        status = mha_shape_check(&one, error);
    }
    if (status == MHA_OK) {
        status = array_mask_create(
            &examples->mask, file->arrays, settings->causal, &examples->shape, file->path, error);
    }
    if (status == MHA_OK) {
        status = examples_take_values(examples, file, settings->data, like, error);
    }
    examples->fingerprint = status == MHA_OK ? fingerprint_of(file) : 0;
    return status;
}

mha_status examples_read(struct examples *examples, const char *path,
    const struct settings *settings, const struct examples *like, mha_error *error) {
    memset(examples, 0, sizeof *examples);
    struct example_file file;
    mha_status status = open_file(&file, path, settings->max_bytes, error);
    if (status == MHA_OK) {
        status = take_examples(examples, &file, settings, like, error);
    }
    if (status == MHA_OK &&
        (like == NULL ? settings->fingerprint : settings->eval_fingerprint) == 0) {
        tell_left_out(file.arrays, is_read, &file, path);
    }
    mha_arrays_free(file.arrays);
    if (status != MHA_OK) {
        examples_free(examples);
    }
    return status;
}

void examples_free(struct examples *examples) {
    array_mask_free(&examples->mask);
    free(examples->query);
    free(examples->context);
    free(examples->target);
    free(examples->labels);
    free(examples->counted);
    memset(examples, 0, sizeof *examples);
}

bool example_counts(const struct examples *examples, size_t n) {
    const size_t length = examples->shape.target_length;
    for (size_t row = n * length; row < (n + 1) * length; row++) {
        const bool counts = examples->loss == TASK_CROSS_ENTROPY
                                ? examples->labels[row] >= 0
                                : examples->counted == NULL || examples->counted[row] != 0;
        if (counts) {
            return true;
        }
    }
    return false;
}
