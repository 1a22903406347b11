/* The measurements of `mha bench`, in float on data of unit variance. */
#ifndef TRAIN_COMMANDS_BENCH_RUN_H
#define TRAIN_COMMANDS_BENCH_RUN_H

#include <stddef.h>

#include "bench_shape.h"

struct bench_plan {
    struct bench_shape shape;
    mha_mode mode;
    size_t threads;
};

/* Median seconds of the layer's forward pass, and of a training step: gradients zeroed, forward, mean
 * squared error, backward for the four weights, and the update, with the norm of the gradient. T = S
 * is self-attention. */
mha_status bench_layer(
    double *forward, double *step, const struct bench_plan *plan, mha_error *error);

/* Median seconds of attention alone, forward and backward for dq, dk and dv. */
mha_status bench_core(
    double *forward, double *backward, const struct bench_plan *plan, mha_error *error);

#endif
