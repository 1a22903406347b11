/* Reading a run folder. */
#include "run.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "files.h"
#include "memory.h"
#include "run_json.h"

/* run.json as text; the whole of it, since jansson does not tell what could not be read. */
static mha_status load_json(json_t **root, const char *path, mha_error *error) {
    json_error_t problem;
    FILE *file;
    const mha_status status = open_stream(&file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    *root = json_loadf(file, JSON_REJECT_DUPLICATES, &problem);
    fclose(file);
    if (*root == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s:%d: %s", path, problem.line, problem.text);
    }
    return MHA_OK;
}

static void read_weights_step(struct run *run, const json_t *root) {
    const json_t *step = json_object_get(json_object_get(root, "result"), "weights_step");
    run->weights_step = json_is_integer(step) && json_integer_value(step) >= 0
                            ? (size_t)json_integer_value(step)
                            : 0;
}

static mha_status read_settings(struct run *run, const char *path, mha_error *error) {
    json_t *root = NULL;
    mha_status status = load_json(&root, path, error);
    if (status != MHA_OK) {
        return status;
    }
    const char *program = json_string_value(json_object_get(root, "program"));
    const char *task_name = json_string_value(json_object_get(root, "task"));
    const char *wrong = NULL;
    if (program == NULL || strcmp(program, "mha") != 0 || task_name == NULL) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s was not written by mha", path);
    } else if ((run->task = task_find(task_name)) == NULL) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s: unknown task '%s'", path, task_name);
    } else if (!settings_from_json(&run->settings, json_object_get(root, "settings"), &wrong)) {
        status = mha_fail(
            error, MHA_ERROR_FORMAT, "%s: setting '%s' is missing or unusable", path, wrong);
    }
    if (status == MHA_OK) {
        read_weights_step(run, root);
    }
    json_decref(root);
    if (status == MHA_OK) {
        mha_error shape_error;
        status = mha_shape_check(&run->settings.shape, &shape_error);
        if (status != MHA_OK) {
            mha_fail(error, status, "%s: %s", path, shape_error.text);
        }
    }
    return status;
}

static mha_status take_weights(
    struct run *run, const mha_npz *npz, const char *path, mha_error *error) {
    const mha_shape *shape = &run->settings.shape;
    const size_t width = shape->width, entries = width * width;
    const mha_array *heads = mha_npz_find(npz, "heads");
    if (heads == NULL || heads->dtype != MHA_INT64 || heads->rank != 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: 'heads' is missing or not one integer", path);
    }
    if (*(const int64_t *)heads->data != (int64_t)shape->heads) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: heads is %lld, run.json says %zu", path,
            (long long)*(const int64_t *)heads->data, shape->heads);
    }
    run->weights = allocate_zeroed(MHA_WEIGHT_COUNT * entries, sizeof *run->weights);
    if (run->weights == NULL) {
        return no_memory(error);
    }
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        const char *name = mha_value_shape_of((mha_value)(MHA_FIRST_WEIGHT + i), shape).name;
        const mha_array *array = mha_npz_find(npz, name);
        if (array == NULL || array->dtype != MHA_FLOAT32) {
            return mha_fail(
                error, MHA_ERROR_FORMAT, "%s: '%s' is missing or not float32", path, name);
        }
        if (array->rank != 2 || array->dims[0] != width || array->dims[1] != width) {
            return mha_fail(error, MHA_ERROR_FORMAT,
                "%s: '%s' holds %zu numbers, width %zu needs (%zu, %zu)", path, name,
                mha_array_count(array), width, width, width);
        }
        memcpy(run->weights + i * entries, array->data, entries * sizeof *run->weights);
    }
    return MHA_OK;
}

mha_status run_read_settings(struct run *run, const char *folder, mha_error *error) {
    memset(run, 0, sizeof *run);
    char *path = run_path(folder, "run.json");
    run->folder = strdup(folder);
    mha_status status =
        path == NULL || run->folder == NULL ? no_memory(error) : read_settings(run, path, error);
    free(path);
    if (status != MHA_OK) {
        run_free(run);
    }
    return status;
}

mha_status run_read(struct run *run, const char *folder, mha_error *error) {
    mha_status status = run_read_settings(run, folder, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_npz *npz = NULL;
    char *path = run_path(folder, "weights.npz");
    status = path == NULL ? no_memory(error) : mha_npz_read(&npz, path, error);
    if (status == MHA_OK) {
        status = take_weights(run, npz, path, error);
    }
    mha_npz_free(npz);
    free(path);
    if (status != MHA_OK) {
        run_free(run);
    }
    return status;
}

void run_free(struct run *run) {
    free(run->folder);
    free(run->weights);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): takes the const off a copy of our own */
    free((void *)(uintptr_t)run->settings.words);
    memset(run, 0, sizeof *run);
}
