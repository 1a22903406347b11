/* What the tasks share: the encoding of symbols and positions, and the checks of sizes.
 *
 * A token is [one-hot symbol | one-hot position | 1 | zeros] times TOKEN_GAIN. With positions in
 * the input a score q.k can compare them; the constant lets it depend on one side alone. */
#ifndef TRAIN_TASKS_SYMBOLS_H
#define TRAIN_TASKS_SYMBOLS_H

#include "task.h"

enum {
    TOKEN_GAIN = 2,
    DIGITS = 10, /* symbols of all tasks but letters */
    NONE = -1    /* no symbol, or no position: its features are all zero */
};

struct token_encoding {
    size_t symbols;
    size_t positions;
    const char *positions_name; /* "positions", or what stands in their place */
};

/* Writes a token into row (width). */
void encode_token(mha_real *row, size_t width, const struct token_encoding *encoding,
    int32_t symbol, int32_t position);

/* The symbol or the position that a row was encoded from, or NONE. */
int32_t decode_symbol(const mha_real *row, const struct token_encoding *encoding);
int32_t decode_position(const mha_real *row, const struct token_encoding *encoding);

/* Row t of sample b: of the source stream when source is true and the batch has one. */
const mha_real *token_row(const struct task_batch *batch, size_t b, size_t t, bool source);

/* Draws one of ten symbols for query t of sample b, encodes it with its position and returns it. */
int32_t draw_token(struct task_batch *batch, size_t b, size_t t, mha_rng *rng);

/* A task's label() when each token holds a digit and its position. */
void label_digit(
    char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source);

/* Writes N(0,1) numbers, rounded from double, into x (count). */
void draw_normals(mha_real *x, size_t count, mha_rng *rng);

/* MHA_ERROR_SHAPE when the width cannot hold the encoding or the logits of the task. */
mha_status check_width(const struct task *task, const struct token_encoding *encoding,
    const mha_shape *shape, mha_error *error);

/* MHA_ERROR_SHAPE when T or S is below least or, in self-attention, T and S differ. */
mha_status check_lengths(
    const struct task *task, const mha_shape *shape, size_t least, mha_error *error);

/* Both checks for a self-attention task of digits with positions. */
mha_status check_digits(
    const struct task *task, const mha_shape *shape, size_t least, mha_error *error);

#endif
