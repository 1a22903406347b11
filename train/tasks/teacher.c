/* Teacher: inputs are N(0,1) and targets the output of another layer of the same sizes and mask,
 * whose weights are drawn from default_rng([seed, 4]). */
#include "symbols.h"
#include "memory.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>

struct task_data {
    mha_shape largest; /* of one call of the layer */
    mha_mask mask;
    mha_weights weights;
    mha_real *block; /* (4,D,D) */
    mha_layer *layer;
    mha_tape *tape;
};

static void close_task(struct task_data *data) {
    if (data == NULL) {
        return;
    }
    mha_tape_destroy(data->tape);
    mha_layer_destroy(data->layer);
    free(data->block);
    free(data);
}

static mha_status make_layer(
    struct task_data *data, const struct settings *settings, mha_error *error) {
    const mha_layer_options options = settings_layer_options(settings);
    mha_status status = mha_layer_create(&data->layer, &data->largest, &options, error);
    if (status == MHA_OK) {
        status = mha_tape_create(&data->tape, &data->largest, &options, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    size_t width = data->largest.width;
    /* The layer was made, so that the bytes of a (D,D) matrix are known to fit a size_t. */
    data->block = allocate_zeroed(MHA_WEIGHT_COUNT, width * width * sizeof *data->block);
    if (data->block == NULL) {
        return no_memory(error);
    }
    data->weights = mha_weights_view(data->block, width);
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){settings->seed, 4}, 2);
    mha_weights_draw(&data->weights, &rng, width);
    return MHA_OK;
}

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    mha_status status = check_lengths(&task_teacher, &settings->shape, 1, error);
    if (status != MHA_OK) {
        return status;
    }
    struct task_data *made = allocate_zeroed(1, sizeof *made);
    if (made == NULL) {
        return no_memory(error);
    }
    made->largest = settings->shape;
    if (made->largest.batch == 0) {
        made->largest.batch = 1;
    }
    made->mask.causal = settings->causal;
    status = mha_mask_check(&made->mask, &made->largest, error);
    if (status == MHA_OK) {
        status = make_layer(made, settings, error);
    }
    if (status != MHA_OK) {
        close_task(made);
        return status;
    }
    *data = made;
    return MHA_OK;
}

/* The teacher's answer to samples first .. first+shape.batch-1. Sizes have been checked, so that
 * the layer cannot refuse; should it, the targets are NaN and the loss shows it. */
static void answer(
    struct task_batch *batch, size_t first, const mha_shape *shape, const struct task_data *data) {
    size_t offset = first * shape->target_length * shape->width;
    size_t count = shape->batch * shape->target_length * shape->width;
    if (mha_forward(batch->target + offset, data->tape, batch->query + offset, NULL, &data->mask,
            &data->weights, data->layer, shape, NULL) != MHA_OK) {
        for (size_t i = 0; i < count; i++) {
            batch->target[offset + i] = NAN;
        }
    }
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    mha_shape shape = batch->shape;
    draw_normals(batch->query, count * shape.target_length * shape.width, rng);
    for (size_t b = 0; b < count; b += shape.batch) {
        shape.batch = count - b < data->largest.batch ? count - b : data->largest.batch;
        answer(batch, b, &shape, data);
    }
}

const struct task task_teacher = {
    .name = "teacher",
    .summary = "imitate a random layer of the same sizes",
    .form = {.loss = TASK_MSE},
    .defaults = {.shape = {32, 8, 8, 16, 4},
        .steps = 1000,
        .sgd = {.learning_rate = 1.5, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "0 (relative error); the defaults come below 1e-9",
    .goal = 1e-4,
    .open = open_task,
    .close = close_task,
    .fill = fill,
};
