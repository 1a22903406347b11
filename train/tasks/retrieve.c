/* Retrieve: each query is a random position of the source, and the answer is the token there. The
 * source tokens are drawn first, then the positions asked for. */
#include "symbols.h"
#include "table.h"

static struct token_encoding encoding_of(const mha_shape *shape) {
    return (struct token_encoding){DIGITS, shape->source_length, "source positions"};
}

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    struct token_encoding encoding = encoding_of(&settings->shape);
    mha_status status = check_lengths(&task_retrieve, &settings->shape, 1, error);
    return status == MHA_OK ? check_width(&task_retrieve, &encoding, &settings->shape, error)
                            : status;
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    (void)data;
    const mha_shape *shape = &batch->shape;
    size_t queries = shape->target_length, positions = shape->source_length;
    struct token_encoding encoding = encoding_of(shape);
    for (size_t b = 0; b < count; b++) {
        mha_real *source = batch->source + b * positions * shape->width;
        for (size_t s = 0; s < positions; s++) {
            int32_t symbol = (int32_t)mha_rng_integers(rng, DIGITS);
            encode_token(source + s * shape->width, shape->width, &encoding, symbol, (int32_t)s);
        }
        for (size_t t = 0; t < queries; t++) {
            uint32_t asked = mha_rng_integers(rng, (uint32_t)positions);
            encode_token(batch->query + (b * queries + t) * shape->width, shape->width, &encoding,
                NONE, (int32_t)asked);
            batch->labels[b * queries + t] =
                decode_symbol(source + asked * shape->width, &encoding);
        }
    }
}

static void label(
    char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source) {
    struct token_encoding encoding = encoding_of(&batch->shape);
    const mha_real *row = token_row(batch, b, t, source);
    if (source) {
        snprintf(text, size, "%d", (int)decode_symbol(row, &encoding));
    } else {
        snprintf(text, size, "@%d", (int)decode_position(row, &encoding));
    }
}

const struct task task_retrieve = {
    .name = "retrieve",
    .summary = "read the token at the position asked for, in another sequence",
    .form = {.loss = TASK_CROSS_ENTROPY, .cross = true, .answers = 1, .classes = DIGITS},
    .defaults = {.shape = {32, 16, 16, 32, 2},
        .steps = 300,
        .sgd = {.learning_rate = 0.3, .momentum = 0.9},
        .eval_every = 10},
    .goal_text = "100 % (accuracy)",
    .goal = 0.999,
    .open = open_task,
    .fill = fill,
    .label = label,
};
