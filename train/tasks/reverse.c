/* Reverse: answer t is the token of position T-1-t. */
#include "symbols.h"
#include "table.h"

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    return check_digits(&task_reverse, &settings->shape, 1, error);
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    size_t length = batch->shape.target_length;
    for (size_t b = 0; b < count; b++) {
        int32_t *labels = batch->labels + b * length;
        for (size_t t = 0; t < length; t++) {
            labels[length - 1 - t] = draw_token(batch, b, t, rng);
        }
    }
}

const struct task task_reverse = {
    .name = "reverse",
    .summary = "write the tokens backwards: every query finds the mirrored position",
    .form = {.loss = TASK_CROSS_ENTROPY, .answers = 1, .classes = DIGITS},
    .defaults = {.shape = {32, 16, 16, 32, 2},
        .steps = 300,
        .sgd = {.learning_rate = 0.3, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "100 % (accuracy)",
    .goal = 0.999,
    .open = open_task,
    .fill = fill,
    .label = label_digit,
};
