/* One training run in memory: a layer, its weights, and a task that feeds it. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include <mha/layouts.h>

#include "settings.h"
#include "tasks/task.h"

/* What evaluations on one stream of held-out examples have in common. */
struct held_out {
    uint64_t stream;            /* 0: nothing yet */
    struct task_batch examples; /* HELD_OUT_EXAMPLES, drawn; query is NULL when they are not kept */
    bool measured;
    double target_variance; /* when measured */
};

struct trainer {
    const struct task *task;
    struct task_form form;    /* of the examples: the task's, or that of its data */
    struct settings settings; /* with the sizes of the data */
    struct task_data *data;
    struct task_batch batch; /* the tape points to its mask */
    mha_layer *layer;
    mha_tape *tape;
    size_t weight_count; /* 4 D D */
    mha_real *weights;   /* (4,D,D): wq wk wv wo, drawn from default_rng(seed) at first */
    mha_real *gradients; /* (4,D,D) */
    mha_real *velocity;  /* (4,D,D) */
    mha_real *output;    /* (B,T,D) */
    mha_real *doutput;   /* (B,T,D) */
    struct held_out held_out;
};

/* Fills *trainer; task and what settings point to stay alive. On failure *trainer holds nothing. */
mha_status trainer_create(struct trainer *trainer, const struct task *task,
    const struct settings *settings, mha_error *error);
void trainer_destroy(struct trainer *trainer);

/* Puts a set of the same width in place of the drawn weights, rounded to float. */
void trainer_set_weights(struct trainer *trainer, const mha_weight_set *set);

/* The mask of the samples in the batch, NULL when there is none. */
const mha_mask *trainer_mask(const struct trainer *trainer);

/* What update n, counted from 1, did. */
struct step_result {
    double loss; /* NaN when no position of the batch counted */
    double learning_rate;
    double gradient_norm; /* before clipping */
};

/* Update n on its batch, which the task fills or draws from default_rng([seed, 1, n]). MHA_ERROR_NOT_FINITE when loss or gradient
 * norm are not finite, or a weight would be; the weights are then as before. */
mha_status trainer_step(
    struct step_result *result, struct trainer *trainer, size_t n, mha_error *error);

/* lr min(1, n/warmup) f(n), f of the schedule over schedule_steps, or steps; n from 1. */
double learning_rate_at(const struct settings *settings, size_t n);

/* A score over many examples; NaN where the loss has no such score. */
struct score {
    double loss;
    double accuracy;       /* cross-entropy: fraction of counted answers */
    double relative_error; /* mse / variance of the target */
};

/* default_rng([seed, stream]) of held-out examples. */
enum { STREAM_HELD_OUT = 2, STREAM_EVAL = 3, HELD_OUT_EXAMPLES = 512 };

/* The forward pass over the first `count` samples of the batch; its results are in output and tape. */
mha_status trainer_forward(struct trainer *trainer, size_t count, mha_error *error);

/* The loss of the first `count` samples of the batch, from their output; its gradient is added to
 * doutput (B,T,D), which may be NULL. classes has only a NaN loss for a task without classes. */
double trainer_loss(
    mha_class_score *classes, mha_real *doutput, const struct trainer *trainer, size_t count);

/* Held-out examples: how many there are, and a walk through them from the first. Those that are
 * drawn come one after the other, so each walk starts with held_out_begin. */
size_t held_out_count(const struct trainer *trainer);
mha_rng held_out_begin(const struct trainer *trainer, uint64_t stream);
/* Writes examples first .. first+count-1, which follow those of the last call, into the batch. */
void held_out_next(struct trainer *trainer, mha_rng *rng, size_t first, size_t count);

/* Draws the examples of a stream and keeps them, forgetting those of another; false where the task has
 * a fixed set, or they would take more than a few MB. held_out_show then points the batch to those from
 * `first` on; who calls it puts the batch back. */
bool held_out_keep(struct trainer *trainer, uint64_t stream);
void held_out_show(struct trainer *trainer, size_t first);
void held_out_forget(struct trainer *trainer);

/* Scores the weights on HELD_OUT_EXAMPLES examples of the stream, or on the whole held-out set of a
 * task that has a fixed one; NaN where that is empty. */
mha_status trainer_evaluate(
    struct score *result, struct trainer *trainer, uint64_t stream, mha_error *error);

#endif
