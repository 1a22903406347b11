/* Shift: answer t is the token before, of position t-1; the first position does not count. */
#include "symbols.h"
#include "table.h"

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    return check_digits(&task_shift, &settings->shape, 2, error);
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    size_t length = batch->shape.target_length;
    for (size_t b = 0; b < count; b++) {
        int32_t *labels = batch->labels + b * length;
        labels[0] = -1;
        for (size_t t = 0; t < length; t++) {
            int32_t symbol = draw_token(batch, b, t, rng);
            if (t + 1 < length) {
                labels[t + 1] = symbol;
            }
        }
    }
}

const struct task task_shift = {
    .name = "shift",
    .summary = "name the token before: every query finds the previous position",
    .form = {.loss = TASK_CROSS_ENTROPY, .answers = 1, .classes = DIGITS},
    .defaults = {.shape = {32, 16, 16, 32, 2},
        .causal = MHA_CAUSAL_SQUARE,
        .steps = 300,
        .sgd = {.learning_rate = 0.3, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "100 % (accuracy)",
    .goal = 0.999,
    .open = open_task,
    .fill = fill,
    .label = label_digit,
};
