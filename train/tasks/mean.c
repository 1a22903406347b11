/* Mean: inputs are N(0,1) and every target is the mean over the T inputs of its sample. Exact with
 * Wq = 0 (even attention) and Wv Wo = 1. */
#include "symbols.h"
#include "table.h"

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    return check_lengths(&task_mean, &settings->shape, 1, error);
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    size_t length = batch->shape.target_length, width = batch->shape.width;
    for (size_t b = 0; b < count; b++) {
        mha_real *x = batch->query + b * length * width;
        mha_real *target = batch->target + b * length * width;
        draw_normals(x, length * width, rng);
        for (size_t i = 0; i < width; i++) {
            double sum = 0.0;
            for (size_t t = 0; t < length; t++) {
                sum += (double)x[t * width + i];
            }
            for (size_t t = 0; t < length; t++) {
                target[t * width + i] = (mha_real)(sum / (double)length);
            }
        }
    }
}

const struct task task_mean = {
    .name = "mean",
    .summary = "average all inputs: attention becomes even, the values pass unchanged",
    .form = {.loss = TASK_MSE},
    .defaults = {.shape = {32, 16, 16, 16, 4},
        .steps = 1000,
        .sgd = {.learning_rate = 1.0, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "0 (relative error); the defaults come below 1e-4",
    .goal = 1e-4,
    .open = open_task,
    .fill = fill,
};
