/* A task: where the examples of a training run come from and what counts as solved.
 * One file a task; tasks/table.c lists them. */
#ifndef TRAIN_TASKS_TASK_H
#define TRAIN_TASKS_TASK_H

#include <stdio.h>

#include "settings.h"

/* Memory for the examples of one batch, made by the trainer for shape.batch samples. */
struct task_batch {
    mha_shape shape;
    mha_real *query;  /* (B,T,D) */
    mha_real *source; /* (B,S,D); NULL when the task is self-attention */
    mha_real *target; /* (B,T,D); NULL unless the loss is TASK_MSE */
    int32_t *labels;  /* (B,T,answers), -1 does not count; NULL unless TASK_CROSS_ENTROPY */
    mha_mask mask;    /* of these samples: causal is the run's, arrays belong to the task */
    const unsigned char
        *counted; /* (B,T) of TASK_MSE, the task's: 1 where a position counts; or NULL */
};

/* What examples are made of. */
struct task_form {
    enum task_loss loss;
    bool cross;     /* examples have a source stream of their own */
    size_t answers; /* answers of a position, TASK_CROSS_ENTROPY */
    size_t classes; /* classes of an answer */
};

struct task_data; /* what one task keeps between batches; each file defines its own */

struct task {
    const char *name;
    const char *summary;      /* what it shows, one line */
    struct task_form form;    /* that of the task; adapt overrules it */
    struct settings defaults; /* which reach the goal */
    const char *goal_text;    /* best reachable score in words, for `mha tasks` */
    double goal; /* accuracy at least, relative error at most, or bits a letter at most */

    /* Checks that the sizes can hold the task's encoding and makes what fill needs. Errors name
     * both numbers. *data may stay NULL when there is nothing to keep. */
    mha_status (*open)(struct task_data **data, const struct settings *settings, mha_error *error);
    void (*close)(struct task_data *data);

    /* Tasks that read their examples from a file, whose open refuses settings that differ from it:
     * sets the sizes and the form that those have. NULL where settings and form say all before. */
    void (*adapt)(struct settings *settings, struct task_form *form, const struct task_data *data);

    /* A number that differs when the data do, never 0; NULL when the task draws all its data. */
    uint64_t (*fingerprint)(const struct task_data *data);
    /* The same for the file of settings.eval_data. */
    uint64_t (*eval_fingerprint)(const struct task_data *data);

    /* NULL where fill_step and fill_held_out do it all.
     * Writes `count` fresh examples into the first samples of batch, drawing sample by sample, so
     * that the examples do not depend on how they are cut into batches. */
    void (*fill)(
        struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data);

    /* Writes the whole batch of update n, counted from 1: a function of the seed and n alone.
     * NULL: it is drawn by fill from default_rng([seed, 1, n]). */
    void (*fill_step)(struct task_batch *batch, size_t n, struct task_data *data);

    /* Tasks with a fixed held-out set: its size, and a copy of examples first..first+count-1.
     * NULL in both: held-out examples are drawn by fill. */
    size_t (*held_out_count)(const struct task_data *data);
    void (*fill_held_out)(
        struct task_batch *batch, size_t first, size_t count, struct task_data *data);

    /* A short name for query t (source = false) or source position t (true) of sample b, such as
     * the token it holds, into text (at most size bytes, cut if longer). NULL: positions are
     * numbers. */
    void (*label)(
        char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source);

    /* Lines that set the score in relation, printed below the result; NULL for none.
     * loss is the held-out loss. */
    void (*compare)(FILE *out, double loss, const struct task_data *data);
};

extern const struct task *const task_table[]; /* ends with NULL */

const struct task *task_find(const char *name); /* NULL when there is none */

#endif
