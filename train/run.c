/* Reading a run folder. */
#include "run.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "memory.h"
#include "run_json.h"

/* run.json as text; the whole of it, since jansson does not tell what could not be read. */
static mha_status load_json(json_t **root, const char *path, mha_error *error) {
    json_error_t problem;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
    }
    *root = json_loadf(file, JSON_REJECT_DUPLICATES, &problem);
    fclose(file);
    if (*root == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s:%d: %s", path, problem.line, problem.text);
    }
    return MHA_OK;
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

mha_status run_read(struct run *run, const char *folder, mha_error *error) {
    memset(run, 0, sizeof *run);
    mha_npz *npz = NULL;
    char *json_path = run_path(folder, "run.json");
    char *npz_path = run_path(folder, "weights.npz");
    run->folder = strdup(folder);
    mha_status status = MHA_OK;
    if (json_path == NULL || npz_path == NULL || run->folder == NULL) {
        status = no_memory(error);
    }
    if (status == MHA_OK) {
        status = read_settings(run, json_path, error);
    }
    if (status == MHA_OK) {
        status = mha_npz_read(&npz, npz_path, error);
    }
    if (status == MHA_OK) {
        status = take_weights(run, npz, npz_path, error);
    }
    mha_npz_free(npz);
    free(json_path);
    free(npz_path);
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

/* The next number of a line and the tab or end behind it. */
static bool read_field(double *number, char **at, bool last) {
    char *end;
    if (**at == '\t' || **at == '\0' || **at == ' ') {
        return false;
    }
    *number = strtod(*at, &end);
    if (end == *at || *end != (last ? '\0' : '\t')) {
        return false;
    }
    *at = last ? end : end + 1;
    return true;
}

static bool read_row(struct log_row *row, char *line) {
    double step = 0.0;
    char *at = line;
    double *const fields[] = {&step, &row->loss, &row->eval_loss, &row->eval_accuracy,
        &row->learning_rate, &row->gradient_norm, &row->seconds};
    enum { FIELDS = sizeof fields / sizeof *fields };
    for (size_t i = 0; i < FIELDS; i++) {
        if (!read_field(fields[i], &at, i + 1 == FIELDS)) {
            return false;
        }
    }
    if (!(step >= 0 && step <= 9007199254740992.0 && step == floor(step))) {
        return false;
    }
    row->step = (size_t)step;
    return true;
}

/* Appends a row, growing the array by doubling. */
static bool append_row(struct log_row **rows, size_t *count, const struct log_row *row) {
    if ((*count & (*count - 1)) == 0) { /* 0 and the powers of two are where it is full */
        struct log_row *grown = realloc(*rows, (*count == 0 ? 1 : 2 * *count) * sizeof **rows);
        if (grown == NULL) {
            return false;
        }
        *rows = grown;
    }
    (*rows)[(*count)++] = *row;
    return true;
}

static mha_status read_rows(
    struct log_row **rows, size_t *count, FILE *file, const char *path, mha_error *error) {
    char *line = NULL;
    size_t size = 0;
    mha_status status = MHA_OK;
    ssize_t length;
    size_t number = 0;
    while (status == MHA_OK && (length = getline(&line, &size, file)) >= 0) {
        struct log_row row;
        number++;
        const bool complete = length > 0 && line[length - 1] == '\n';
        if (complete) {
            line[length - 1] = '\0';
        }
        if (number == 1 && strcmp(line, LOG_HEADER) != 0) {
            status = mha_fail(error, MHA_ERROR_FORMAT, "%s:1: not the header of a log", path);
        } else if (number > 1 && (!complete || !read_row(&row, line))) {
            status =
                mha_fail(error, MHA_ERROR_FORMAT, "%s:%zu: not a row of 7 numbers", path, number);
        } else if (number > 1 && !append_row(rows, count, &row)) {
            status = no_memory(error);
        }
    }
    if (status == MHA_OK && ferror(file)) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
    } else if (status == MHA_OK && number == 0) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s is empty", path);
    }
    free(line);
    return status;
}

mha_status run_read_log(
    struct log_row **rows, size_t *count, const char *folder, mha_error *error) {
    *rows = NULL;
    *count = 0;
    char *path = run_path(folder, "log.tsv");
    if (path == NULL) {
        return no_memory(error);
    }
    FILE *file = fopen(path, "r");
    mha_status status = file == NULL
                            ? mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno))
                            : read_rows(rows, count, file, path, error);
    if (file != NULL) {
        fclose(file);
    }
    if (status != MHA_OK) {
        free(*rows);
        *rows = NULL;
        *count = 0;
    }
    free(path);
    return status;
}
