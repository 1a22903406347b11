/* What `mha bench` measures: shapes, what is run at them, and how many operations that is. */
#ifndef TRAIN_COMMANDS_BENCH_SHAPE_H
#define TRAIN_COMMANDS_BENCH_SHAPE_H

#include <stdbool.h>

#include <mha/mode.h>
#include <mha/shape.h>
#include <mha/status.h>

struct bench_shape {
    mha_shape sizes;
    bool causal;
};

enum bench_what { BENCH_FORWARD, BENCH_STEP, BENCH_CORE_FORWARD, BENCH_CORE_BACKWARD, BENCH_WHATS };

/* "forward", "step", "core-forward", "core-backward"; from a name false when there is none like it. */
const char *bench_what_name(enum bench_what what);
bool bench_what_from_name(enum bench_what *what, const char *name);

/* Reads "B,T,S,D,h" or "B,T,S,D,h,causal", strictly. MHA_ERROR_ARGUMENT, _SHAPE, _SIZE or _MASK. */
mha_status bench_shape_parse(struct bench_shape *shape, const char *text, mha_error *error);

/* The same text again. */
enum { BENCH_SHAPE_SIZE = 128 };
void bench_shape_format(char text[BENCH_SHAPE_SIZE], const struct bench_shape *shape);

/* Floating-point operations, a multiply-add being 2, with P = B T S visible pairs (causal
 * B T (T+1) / 2):
 *   forward        4 B T D^2 + 4 B S D^2 + 4 P D
 *   step          10 B T D^2 + 8 B S D^2 + 12 P D  (backward for the four weights alone)
 *   core-forward   4 P D
 *   core-backward  8 P D stored, 10 P D tiled
 * Softmax, loss and update are not counted. */
double bench_operations(const struct bench_shape *shape, enum bench_what what, mha_mode mode);

#endif
