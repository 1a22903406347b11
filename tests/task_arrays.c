#include "task_arrays.h"

#include <check.h>
#include <string.h>

#include "folder.h"

void examples_write(const char *file, const mha_array *arrays) {
    mha_array named[MOST_ARRAYS];
    size_t count = 0;
    for (size_t i = 0; i < MOST_ARRAYS; i++) {
        if (arrays[i].name != NULL) {
            named[count++] = arrays[i];
        }
    }
    mha_error error;
    ck_assert_msg(mha_arrays_write(folder_path(file), named, count, NULL, 0, &error) == MHA_OK,
        "%s", error.text);
}

struct settings arrays_settings(const char *file) {
    struct settings settings = task_find("arrays")->defaults;
    settings.data = folder_path(file);
    settings.seed = 3;
    return settings;
}

struct trainer arrays_trainer(const struct settings *settings) {
    struct trainer trainer;
    mha_error error;
    ck_assert_msg(trainer_create(&trainer, task_find("arrays"), settings, &error) == MHA_OK, "%s",
        error.text);
    return trainer;
}

void assert_arrays_refused(const struct settings *settings, mha_status status, const char *ending) {
    struct trainer trainer;
    mha_error error = {MHA_OK, ""};
    const mha_status found = trainer_create(&trainer, task_find("arrays"), settings, &error);
    ck_assert_msg(found != MHA_OK, "not refused: %s", ending);
    const char *text = error.text;
    const char *const paths[] = {settings->data, settings->eval_data};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = paths[i] != NULL ? strlen(paths[i]) : 0;
        if (length > 0 && strncmp(text, paths[i], length) == 0 &&
            (text[length] == ':' || text[length] == ' ')) {
            text += length;
            break;
        }
    }
    ck_assert_str_eq(text, ending);
    ck_assert_int_eq(found, status);
    ck_assert_ptr_null(strchr(error.text, '\n'));
}

void fill_normals(float *x, size_t count, uint64_t seed) {
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    for (size_t i = 0; i < count; i++) {
        x[i] = (float)mha_rng_normal(&rng);
    }
}

void make_averaging(struct trainer *trainer) {
    const size_t width = trainer->settings.shape.width;
    memset(trainer->weights, 0, trainer->weight_count * sizeof *trainer->weights);
    for (size_t i = 0; i < width; i++) {
        trainer->weights[2 * width * width + i * width + i] = 1.0f;
        trainer->weights[3 * width * width + i * width + i] = 1.0f;
    }
}

double loss_of_step(struct trainer *trainer, size_t n) {
    struct step_result result;
    mha_error error;
    ck_assert_msg(trainer_step(&result, trainer, n, &error) == MHA_OK, "%s", error.text);
    return result.loss;
}
