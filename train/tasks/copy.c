/* Copy: answer t is the token of position t. */
#include "symbols.h"
#include "table.h"

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    return check_digits(&task_copy, &settings->shape, 1, error);
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    size_t length = batch->shape.target_length;
    for (size_t b = 0; b < count; b++) {
        int32_t *labels = batch->labels + b * length;
        for (size_t t = 0; t < length; t++) {
            labels[t] = draw_token(batch, b, t, rng);
        }
    }
}

const struct task task_copy = {
    .name = "copy",
    .summary = "repeat each token: every query finds its own position",
    .form = {.loss = TASK_CROSS_ENTROPY, .answers = 1, .classes = DIGITS},
    .defaults = {.shape = {32, 16, 16, 32, 2},
        .steps = 300,
        .sgd = {.learning_rate = 0.5, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "100 % (accuracy)",
    .goal = 0.999,
    .open = open_task,
    .fill = fill,
    .label = label_digit,
};
