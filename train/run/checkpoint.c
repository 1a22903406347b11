#include "run/checkpoint.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "hash.h"
#include "memory.h"
#include "run/matrices.h"
#include "run/json.h"

/* The numbers of a run's state, and where they stand. */
static const struct {
    const char *name;
    size_t offset;
} integers[] = {{"step", offsetof(struct run_state, step)},
    {"best_step", offsetof(struct run_state, best_step)}},
  numbers[] = {{"loss", offsetof(struct run_state, score.loss)},
      {"accuracy", offsetof(struct run_state, score.accuracy)},
      {"relative_error", offsetof(struct run_state, score.relative_error)},
      {"best_loss", offsetof(struct run_state, best_loss)},
      {"seconds", offsetof(struct run_state, seconds)}};

enum {
    INTEGERS = sizeof integers / sizeof *integers,
    NUMBERS = sizeof numbers / sizeof *numbers,
    ARRAYS = 2 * MHA_WEIGHT_COUNT + 1 + INTEGERS + NUMBERS + 2
};

/* In memory of the caller's; NULL when there is none left. */
static char *settings_text(const struct task *task, const struct settings *settings) {
    json_t *root =
        json_pack("{s:s, s:o}", "task", task->name, "settings", settings_to_json(settings));
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(root);
    return text;
}

/* What is written, in the order of the file; scalars stand in the struct itself. */
struct content {
    mha_array arrays[ARRAYS];
    size_t count;
    int64_t heads, settings_hash, integers[INTEGERS];
    double numbers[NUMBERS];
};

static void add_scalar(struct content *content, const char *name, mha_dtype dtype, const void *at) {
    content->arrays[content->count++] = (mha_array){.name = name, .dtype = dtype, .data = at};
}

static void describe(struct content *content, const struct trainer *trainer,
    const struct run_state *state, const char *text) {
    const size_t width = trainer->settings.shape.width;
    const uint64_t hash = hash_bytes(HASH_START, text, strlen(text));
    run_describe_matrices(content->arrays, run_weight_names, trainer->weights, width);
    run_describe_matrices(
        content->arrays + MHA_WEIGHT_COUNT, run_velocity_names, trainer->velocity, width);
    content->count = 2 * (size_t)MHA_WEIGHT_COUNT;
    content->heads = (int64_t)trainer->settings.shape.heads;
    add_scalar(content, "heads", MHA_INT64, &content->heads);
    for (size_t i = 0; i < INTEGERS; i++) {
        const size_t *at = (const void *)((const char *)state + integers[i].offset);
        content->integers[i] = (int64_t)*at;
        add_scalar(content, integers[i].name, MHA_INT64, &content->integers[i]);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        const double *at = (const void *)((const char *)state + numbers[i].offset);
        content->numbers[i] = isnan(*at) ? (double)NAN : *at; /* of which there is one here */
        add_scalar(content, numbers[i].name, MHA_FLOAT64, &content->numbers[i]);
    }
    content->arrays[content->count++] = (mha_array){
        .name = "settings", .dtype = MHA_UINT8, .rank = 1, .dims = {strlen(text)}, .data = text};
    memcpy(&content->settings_hash, &hash, sizeof hash);
    add_scalar(content, "settings_hash", MHA_INT64, &content->settings_hash);
}

mha_status checkpoint_write(const char *folder, const struct trainer *trainer,
    const struct run_state *state, mha_error *error) {
    char *text = settings_text(trainer->task, &trainer->settings);
    char *path = run_path(folder, RUN_CHECKPOINT);
    mha_status status = MHA_OK;
    if (text == NULL || path == NULL) {
        status = no_memory(error);
    } else {
        struct content content = {.count = 0};
        describe(&content, trainer, state, text);
        status = mha_npz_write(path, content.arrays, content.count, error);
    }
    free(text);
    free(path);
    return status;
}

/* The text of the settings, after a look at its hash; NULL when they are not usable. */
static const mha_array *find_settings(
    const mha_arrays *arrays, const char *path, mha_error *error) {
    const mha_array *text = mha_arrays_find(arrays, "settings");
    const mha_array *hash = mha_arrays_find(arrays, "settings_hash");
    if (text == NULL || text->dtype != MHA_UINT8 || text->rank != 1) {
        mha_fail(error, MHA_ERROR_FORMAT, "%s: 'settings' is missing or not a row of uint8", path);
        return NULL;
    }
    if (hash == NULL || hash->dtype != MHA_INT64 || hash->rank != 0) {
        mha_fail(
            error, MHA_ERROR_FORMAT, "%s: 'settings_hash' is missing or not one integer", path);
        return NULL;
    }
    uint64_t kept;
    memcpy(&kept, hash->data, sizeof kept);
    const uint64_t computed = hash_bytes(HASH_START, text->data, text->dims[0]);
    if (kept != computed) {
        mha_fail(error, MHA_ERROR_FORMAT,
            "%s is damaged: the hash of its settings is %016" PRIx64
            ", settings_hash is %016" PRIx64,
            path, computed, kept);
        return NULL;
    }
    return text;
}

static mha_status take_settings(
    struct checkpoint *checkpoint, const mha_arrays *arrays, const char *path, mha_error *error) {
    const mha_array *text = find_settings(arrays, path, error);
    if (text == NULL) {
        return MHA_ERROR_FORMAT;
    }
    json_error_t problem;
    json_t *root = json_loadb(text->data, text->dims[0], JSON_REJECT_DUPLICATES, &problem);
    const mha_status status =
        root == NULL ? mha_fail(error, MHA_ERROR_FORMAT, "%s: settings: %s", path, problem.text)
                     : run_from_json(&checkpoint->task, &checkpoint->settings, root, path, error);
    json_decref(root);
    return status;
}

static mha_status take_state(
    struct checkpoint *checkpoint, const mha_arrays *arrays, const char *path, mha_error *error) {
    struct run_state *state = &checkpoint->state;
    mha_status status = MHA_OK;
    for (size_t i = 0; i < INTEGERS && status == MHA_OK; i++) {
        size_t *at = (void *)((char *)state + integers[i].offset);
        status =
            run_take_integer(at, arrays, integers[i].name, checkpoint->settings.steps, path, error);
    }
    for (size_t i = 0; i < NUMBERS && status == MHA_OK; i++) {
        double *at = (void *)((char *)state + numbers[i].offset);
        status = run_take_number(at, arrays, numbers[i].name, path, error);
    }
    if (status == MHA_OK && state->best_step > state->step) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s: best_step is %zu, step is %zu", path,
            state->best_step, state->step);
    }
    if (status == MHA_OK && !(state->seconds >= 0.0 && isfinite(state->seconds))) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s: seconds is %g", path, state->seconds);
    }
    return status;
}

mha_status checkpoint_read(struct checkpoint *checkpoint, const char *folder, mha_error *error) {
    memset(checkpoint, 0, sizeof *checkpoint);
    mha_arrays *arrays = NULL;
    char *path = run_path(folder, RUN_CHECKPOINT);
    mha_status status = path == NULL ? no_memory(error) : mha_npz_read(&arrays, path, 0, error);
    if (status == MHA_OK) {
        status = take_settings(checkpoint, arrays, path, error);
    }
    const mha_shape *shape = &checkpoint->settings.shape;
    if (status == MHA_OK) {
        status = take_state(checkpoint, arrays, path, error);
    }
    if (status == MHA_OK) {
        status = run_check_heads(arrays, shape->heads, path, error);
    }
    if (status == MHA_OK) {
        status = run_take_matrices(
            &checkpoint->weights, arrays, run_weight_names, shape->width, path, error);
    }
    if (status == MHA_OK) {
        status = run_take_matrices(
            &checkpoint->velocity, arrays, run_velocity_names, shape->width, path, error);
    }
    mha_arrays_free(arrays);
    free(path);
    if (status != MHA_OK) {
        checkpoint_free(checkpoint);
    }
    return status;
}

void checkpoint_free(struct checkpoint *checkpoint) {
    free(checkpoint->weights);
    free(checkpoint->velocity);
    settings_free(&checkpoint->settings);
    memset(checkpoint, 0, sizeof *checkpoint);
}

mha_status checkpoint_restore(
    struct trainer *trainer, const struct checkpoint *checkpoint, mha_error *error) {
    const size_t width = checkpoint->settings.shape.width;
    if (trainer->settings.shape.width != width) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "the weights of the run have width %zu, its data %zu", width,
            trainer->settings.shape.width);
    }
    const size_t bytes = trainer->weight_count * sizeof *trainer->weights;
    memcpy(trainer->weights, checkpoint->weights, bytes);
    memcpy(trainer->velocity, checkpoint->velocity, bytes);
    return MHA_OK;
}
