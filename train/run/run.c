/* Reading a run folder. */
#include "run/run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "files.h"
#include "memory.h"
#include "run/matrices.h"
#include "run/folder.h"
#include "run/json.h"

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
    if (program == NULL || strcmp(program, "mha") != 0) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s was not written by mha", path);
    } else {
        status = run_from_json(&run->task, &run->settings, root, path, error);
    }
    read_weights_step(run, root);
    json_decref(root);
    return status;
}

static mha_status take_weights(
    struct run *run, const mha_arrays *arrays, const char *path, mha_error *error) {
    const mha_shape *shape = &run->settings.shape;
    const mha_status status = run_check_heads(arrays, shape->heads, path, error);
    return status != MHA_OK ? status
                            : run_take_matrices(&run->weights, arrays, run_weight_names,
                                  shape->width, path, error);
}

mha_status run_read_settings(struct run *run, const char *folder, mha_error *error) {
    memset(run, 0, sizeof *run);
    char *path = run_path(folder, RUN_JSON);
    run->folder = strdup(folder);
    mha_status status =
        path == NULL || run->folder == NULL ? no_memory(error) : run_folder_check(folder, error);
    if (status == MHA_OK) {
        status = read_settings(run, path, error);
    }
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
    mha_arrays *arrays = NULL;
    char *path = run_path(folder, RUN_WEIGHTS);
    status = path == NULL ? no_memory(error) : mha_npz_read(&arrays, path, 0, error);
    if (status == MHA_OK) {
        status = take_weights(run, arrays, path, error);
    }
    mha_arrays_free(arrays);
    free(path);
    if (status != MHA_OK) {
        run_free(run);
    }
    return status;
}

void run_free(struct run *run) {
    free(run->folder);
    free(run->weights);
    settings_free(&run->settings);
    memset(run, 0, sizeof *run);
}
