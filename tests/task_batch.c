#include "task_batch.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sample_bytes batch_sample_bytes(const struct task *task, const mha_shape *shape) {
    size_t targets = shape->target_length * shape->width * sizeof(mha_real);
    size_t sources = shape->source_length * shape->width * sizeof(mha_real);
    return (struct sample_bytes){
        .query = targets,
        .source = task->form.cross ? sources : 0,
        .target = task->form.loss == TASK_MSE ? targets : 0,
        .labels = task->form.loss == TASK_CROSS_ENTROPY
                      ? shape->target_length * task->form.answers * sizeof(int32_t)
                      : 0,
    };
}

static mha_real *numbers(size_t bytes) {
    mha_real *array = bytes == 0 ? NULL : malloc(bytes);
    for (size_t i = 0; i < bytes / sizeof *array; i++) {
        array[i] = NAN;
    }
    return array;
}

struct task_batch batch_make(const struct task *task, const mha_shape *shape) {
    struct sample_bytes bytes = batch_sample_bytes(task, shape);
    size_t batch = shape->batch, labels = batch * bytes.labels;
    struct task_batch made = {.shape = *shape,
        .query = numbers(batch * bytes.query),
        .source = numbers(batch * bytes.source),
        .target = numbers(batch * bytes.target),
        .labels = labels == 0 ? NULL : malloc(labels)};
    if (labels != 0) {
        memset(made.labels, 0x7f, labels);
    }
    return made;
}

void batch_free(struct task_batch *batch) {
    free(batch->query);
    free(batch->source);
    free(batch->target);
    free(batch->labels);
}

mha_rng batch_stream(uint64_t seed, uint64_t n) {
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){seed, 1, n}, 3);
    return rng;
}

struct task_data *task_opened(const struct task *task, const struct settings *settings) {
    struct task_data *data = NULL;
    mha_error error = {0};
    mha_status status = task->open(&data, settings, &error);
    ck_assert_msg(status == MHA_OK, "%s: %s", task->name, error.text);
    return data;
}

void task_closed(const struct task *task, struct task_data *data) {
    if (task->close != NULL) {
        task->close(data);
    }
}

void assert_refused(
    const struct task *task, const struct settings *settings, mha_status status, const char *text) {
    struct task_data *data = (struct task_data *)&data;
    mha_error error = {0};
    ck_assert_int_eq(task->open(&data, settings, &error), status);
    ck_assert_int_eq(error.status, status);
    ck_assert_str_eq(error.text, text);
    ck_assert_ptr_null(data);
    ck_assert_int_eq(task->open(&data, settings, NULL), status);
}
