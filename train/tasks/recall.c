/* Recall: the source shows S values, each under a key of its own; each query is one of the keys
 * shown, and the answer is its value. Drawn are the keys (the start of a shuffle of all of them),
 * then the values, then which key each query asks for. */
#include "symbols.h"
#include "memory.h"
#include "table.h"

enum { KEYS = 16 };

static const struct token_encoding recall_encoding = {DIGITS, KEYS, "keys"};

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    const mha_shape *shape = &settings->shape;
    if (shape->source_length > KEYS) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "source length %zu is more than the %d keys of task recall, which must all differ",
            shape->source_length, KEYS);
    }
    mha_status status = check_lengths(&task_recall, shape, 1, error);
    return status == MHA_OK ? check_width(&task_recall, &recall_encoding, shape, error) : status;
}

/* The first `shown` entries of keys become distinct random keys. */
static void draw_keys(int32_t keys[KEYS], size_t shown, mha_rng *rng) {
    for (int32_t key = 0; key < KEYS; key++) {
        keys[key] = key;
    }
    for (size_t i = 0; i < shown; i++) {
        size_t j = i + mha_rng_integers(rng, (uint32_t)(KEYS - i));
        int32_t key = keys[j];
        keys[j] = keys[i];
        keys[i] = key;
    }
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    const mha_shape *shape = &batch->shape;
    size_t queries = shape->target_length, shown = shape->source_length;
    for (size_t b = 0; b < count; b++) {
        int32_t keys[KEYS], values[KEYS] = {0};
        draw_keys(keys, shown, rng);
        for (size_t s = 0; s < shown; s++) {
            values[s] = (int32_t)mha_rng_integers(rng, DIGITS);
            encode_token(batch->source + (b * shown + s) * shape->width, shape->width,
                &recall_encoding, values[s], keys[s]);
        }
        for (size_t t = 0; t < queries; t++) {
            uint32_t asked = mha_rng_integers(rng, (uint32_t)shown);
            encode_token(batch->query + (b * queries + t) * shape->width, shape->width,
                &recall_encoding, NONE, keys[asked]);
            batch->labels[b * queries + t] = values[asked];
        }
    }
}

static void label(
    char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source) {
    const mha_real *row = token_row(batch, b, t, source);
    int key = decode_position(row, &recall_encoding);
    if (source) {
        snprintf(text, size, "k%d=%d", key, (int)decode_symbol(row, &recall_encoding));
    } else {
        snprintf(text, size, "k%d", key);
    }
}

const struct task task_recall = {
    .name = "recall",
    .summary = "give the value of a key: every query finds the pair with its key",
    .form = {.loss = TASK_CROSS_ENTROPY, .cross = true, .answers = 1, .classes = DIGITS},
    .defaults = {.shape = {32, 8, 8, 32, 2},
        .steps = 300,
        .sgd = {.learning_rate = 0.3, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "100 % (accuracy)",
    .goal = 0.999,
    .open = open_task,
    .fill = fill,
    .label = label,
};
