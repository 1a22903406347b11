/* Writing a run folder. */
#include "run.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mha/io.h>

#include "memory.h"
#include "run_json.h"

static const char *const run_files[] = {"run.json", "log.tsv", "weights.npz"};
enum { RUN_FILE_COUNT = sizeof run_files / sizeof *run_files };

char *run_path(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", folder, name);
    }
    return path;
}

static void remove_files(const char *folder) {
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        char *path = run_path(folder, run_files[i]);
        if (path != NULL) {
            unlink(path);
        }
        free(path);
    }
}

/* The length of the path without its last component: 0 when there is no other. */
static size_t parent_length(const char *path, size_t length) {
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Removes the folders of the path that are longer than made_from, as far as they are empty. */
static void remove_folders(const char *folder, size_t made_from) {
    char *path = strdup(folder);
    for (size_t length = strlen(folder); path != NULL && length > made_from;
         length = parent_length(path, length)) {
        path[length] = '\0';
        rmdir(path);
    }
    free(path);
}

void run_remove(const char *folder, size_t made_from) {
    remove_files(folder);
    remove_folders(folder, made_from);
}

/* Makes one folder; *made_from becomes the length of the path above the first that was missing. */
static bool make_folder(size_t *made_from, const char *path) {
    if (mkdir(path, 0777) != 0) {
        return false;
    }
    const size_t above = parent_length(path, strlen(path));
    *made_from = above < *made_from ? above : *made_from;
    return true;
}

/* Makes the folders above the last one. */
static mha_status create_parents(size_t *made_from, const char *folder, mha_error *error) {
    char *path = strdup(folder);
    if (path == NULL) {
        return no_memory(error);
    }
    mha_status status = MHA_OK;
    for (char *slash = strchr(path + 1, '/'); slash != NULL && status == MHA_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!make_folder(made_from, path) && errno != EEXIST) {
            status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
        }
        *slash = '/';
    }
    free(path);
    return status;
}

/* Whether the folder holds a run.json that this program wrote. */
static bool holds_our_run(const char *folder) {
    char *path = run_path(folder, "run.json");
    json_t *root = path == NULL ? NULL : json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *program = json_string_value(json_object_get(root, "program"));
    const bool ours = program != NULL && strcmp(program, "mha") == 0;
    json_decref(root);
    free(path);
    return ours;
}

mha_status run_create_folder(size_t *made_from, const char *folder, bool force, mha_error *error) {
    *made_from = strlen(folder);
    if (folder[0] == '\0') {
        return mha_fail(error, MHA_ERROR_FILE, "the name of the run's folder is empty");
    }
    mha_status status = create_parents(made_from, folder, error);
    if (status == MHA_OK && make_folder(made_from, folder)) {
        return MHA_OK;
    }
    if (status == MHA_OK && errno != EEXIST) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", folder, strerror(errno));
    } else if (status == MHA_OK && !force) {
        status = mha_fail(error, MHA_ERROR_FILE,
            "%s exists; choose another folder with -o, or replace a run with --force", folder);
    } else if (status == MHA_OK && !holds_our_run(folder)) {
        status = mha_fail(error, MHA_ERROR_FILE,
            "%s exists and holds no run.json of mha; --force does not replace it", folder);
    }
    if (status == MHA_OK) {
        remove_files(folder);
    } else {
        remove_folders(folder, *made_from);
    }
    return status;
}

/* null for NaN and infinity, which JSON has not. */
static json_t *number_or_null(double number) {
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *run_to_json(
    const struct task *task, const struct settings *settings, const struct run_result *result) {
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "program", "mha", "version", mha_version(),
        "task", task->name, "settings", settings_to_json(settings), "result",
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "status", result->status, "step",
            (json_int_t)result->step, "eval_loss", number_or_null(result->loss), "eval_accuracy",
            number_or_null(result->accuracy), "eval_relative_error",
            number_or_null(result->relative_error), "seconds", number_or_null(result->seconds)));
}

mha_status run_write_json(const char *folder, const struct task *task,
    const struct settings *settings, const struct run_result *result, mha_error *error) {
    json_t *root = run_to_json(task, settings, result);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    char *path = run_path(folder, "run.json");
    char *line = NULL;
    size_t length = text == NULL ? 0 : strlen(text);
    if (text != NULL && path != NULL) {
        line = realloc(text, length + 2);
    }
    if (line == NULL) {
        free(text);
        free(path);
        return no_memory(error);
    }
    line[length++] = '\n';
    const mha_status status = mha_file_replace(path, line, length, error);
    free(line);
    free(path);
    return status;
}

mha_status run_write_weights(const char *folder, const struct settings *settings,
    const mha_real *weights, mha_error *error) {
    const size_t width = settings->shape.width;
    const int64_t heads = (int64_t)settings->shape.heads;
    mha_array arrays[MHA_WEIGHT_COUNT + 1];
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        const mha_value value = (mha_value)(MHA_FIRST_WEIGHT + i);
        arrays[i] = (mha_array){.name = mha_value_shape_of(value, &settings->shape).name,
            .dtype = MHA_FLOAT32,
            .rank = 2,
            .dims = {width, width},
            .data = weights + i * width * width};
    }
    arrays[MHA_WEIGHT_COUNT] = (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads};
    char *path = run_path(folder, "weights.npz");
    if (path == NULL) {
        return no_memory(error);
    }
    const mha_status status = mha_npz_write(path, arrays, MHA_WEIGHT_COUNT + 1, error);
    free(path);
    return status;
}

/* The reason of the write that just failed on folder/log.tsv. */
static mha_status log_failed(const char *folder, mha_error *error) {
    return mha_fail(error, MHA_ERROR_FILE, "%s/log.tsv: %s", folder, strerror(errno));
}

mha_status run_open_log(FILE **log, const char *folder, mha_error *error) {
    char *path = run_path(folder, "log.tsv");
    if (path == NULL) {
        return no_memory(error);
    }
    *log = fopen(path, "w");
    free(path);
    if (*log == NULL) {
        return log_failed(folder, error);
    }
    if (fputs(LOG_HEADER "\n", *log) == EOF || fflush(*log) != 0) {
        const mha_status status = log_failed(folder, error);
        fclose(*log);
        *log = NULL;
        return status;
    }
    return MHA_OK;
}

/* The shortest of 15 to 17 digits that reads back as the same number; "nan" whatever its sign. */
static void format_exact(char text[32], double number) {
    if (isnan(number)) {
        snprintf(text, 32, "nan");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            return;
        }
    }
}

mha_status run_write_row(
    FILE *log, const struct log_row *row, const char *folder, mha_error *error) {
    const double numbers[] = {
        row->loss, row->eval_loss, row->eval_accuracy, row->learning_rate, row->gradient_norm};
    int written = fprintf(log, "%zu", row->step);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && written >= 0; i++) {
        char text[32];
        format_exact(text, numbers[i]);
        written = fprintf(log, "\t%s", text);
    }
    if (written < 0 || fprintf(log, "\t%.6f\n", row->seconds) < 0 || fflush(log) != 0) {
        return log_failed(folder, error);
    }
    return MHA_OK;
}

mha_status run_close_log(FILE *log, const char *folder, mha_error *error) {
    return fclose(log) == 0 ? MHA_OK : log_failed(folder, error);
}
