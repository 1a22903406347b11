#include "symbols.h"

#include "memory.h"

void encode_token(mha_real *row, size_t width, const struct token_encoding *encoding,
    int32_t symbol, int32_t position) {
    for (size_t i = 0; i < width; i++) {
        row[i] = 0.0f;
    }
    if (symbol != NONE) {
        row[symbol] = TOKEN_GAIN;
    }
    if (position != NONE) {
        row[encoding->symbols + (size_t)position] = TOKEN_GAIN;
    }
    row[encoding->symbols + encoding->positions] = TOKEN_GAIN;
}

/* The one that is set, found without a branch on what the features hold. */
static int32_t hot_feature(const mha_real *features, size_t count) {
    int32_t hot = NONE;
    for (size_t i = 0; i < count; i++) {
        hot = features[i] > 0.0f ? (int32_t)i : hot;
    }
    return hot;
}

int32_t decode_symbol(const mha_real *row, const struct token_encoding *encoding) {
    return hot_feature(row, encoding->symbols);
}

int32_t decode_position(const mha_real *row, const struct token_encoding *encoding) {
    return hot_feature(row + encoding->symbols, encoding->positions);
}

const mha_real *token_row(const struct task_batch *batch, size_t b, size_t t, bool source) {
    const mha_shape *shape = &batch->shape;
    return source && batch->source != NULL
               ? batch->source + (b * shape->source_length + t) * shape->width
               : batch->query + (b * shape->target_length + t) * shape->width;
}

int32_t draw_token(struct task_batch *batch, size_t b, size_t t, mha_rng *rng) {
    const mha_shape *shape = &batch->shape;
    struct token_encoding encoding = {DIGITS, shape->target_length, "positions"};
    int32_t symbol = (int32_t)mha_rng_integers(rng, DIGITS);
    encode_token(batch->query + (b * shape->target_length + t) * shape->width, shape->width,
        &encoding, symbol, (int32_t)t);
    return symbol;
}

void label_digit(
    char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source) {
    struct token_encoding encoding = {DIGITS, 0, NULL};
    snprintf(text, size, "%d", (int)decode_symbol(token_row(batch, b, t, source), &encoding));
}

void draw_normals(mha_real *x, size_t count, mha_rng *rng) {
    for (size_t i = 0; i < count; i++) {
        x[i] = (mha_real)mha_rng_normal(rng);
    }
}

mha_status check_width(const struct task *task, const struct token_encoding *encoding,
    const mha_shape *shape, mha_error *error) {
    size_t rest = encoding->symbols + 1;
    size_t features = encoding->positions > SIZE_MAX - rest ? SIZE_MAX : encoding->positions + rest;
    if (shape->width < features) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "width %zu cannot hold the %zu features of task %s (%zu symbols, %zu %s and 1)",
            shape->width, features, task->name, encoding->symbols, encoding->positions,
            encoding->positions_name);
    }
    size_t logits = task->form.answers * task->form.classes;
    if (shape->width < logits) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "width %zu cannot hold the %zu logits of task %s (%zu answers of %zu classes)",
            shape->width, logits, task->name, task->form.answers, task->form.classes);
    }
    return MHA_OK;
}

mha_status check_lengths(
    const struct task *task, const mha_shape *shape, size_t least, mha_error *error) {
    if (shape->target_length < least) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "target length %zu is too short for task %s, which needs at least %zu",
            shape->target_length, task->name, least);
    }
    if (task->form.cross && shape->source_length < least) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "source length %zu is too short for task %s, which needs at least %zu",
            shape->source_length, task->name, least);
    }
    if (!task->form.cross && shape->target_length != shape->source_length) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "target length %zu and source length %zu must be equal: task %s is self-attention",
            shape->target_length, shape->source_length, task->name);
    }
    return MHA_OK;
}

mha_status check_digits(
    const struct task *task, const mha_shape *shape, size_t least, mha_error *error) {
    struct token_encoding encoding = {DIGITS, shape->target_length, "positions"};
    mha_status status = check_lengths(task, shape, least, error);
    return status == MHA_OK ? check_width(task, &encoding, shape, error) : status;
}
