/* Every setting of a training run: the defaults of its task, overruled by options, kept in
 * run.json. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/mha32.h>

/* Bounds that options and run.json share. */
enum { STEPS_MOST = 1000000000 };
#define MOMENTUM_MOST   0x1.fffffffffffffp-1 /* the number below 1 */
#define VALIDATION_MOST 0x1.fffffffffffffp-1

enum task_loss { TASK_MSE, TASK_CROSS_ENTROPY };

enum schedule { SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE };

struct settings {
    mha_shape shape; /* of one training batch */
    mha_causal causal;
    uint64_t seed;
    size_t steps;
    size_t schedule_steps; /* over which the schedule falls; 0 for steps */
    mha_sgd_options sgd;   /* learning_rate is the highest rate of the schedule */
    enum schedule schedule;
    size_t warmup;
    size_t eval_every;
    enum task_loss loss;   /* as the task or its data say */
    const char *words;     /* path of the word list of `letters`; NULL elsewhere */
    const char *data;      /* path of the examples of `arrays`; NULL elsewhere */
    const char *eval_data; /* path of held-out examples of `arrays`, or NULL */
    double validation;     /* share of `data` that is held out where there is no eval_data */
    size_t max_bytes;      /* largest array that is read; 0 for the default of <mha/io.h> */
    const char *weights;   /* path of the file that training started from; NULL for drawn weights */
    uint64_t eval_fingerprint; /* of eval_data; 0 unknown, as when another file is named */
    uint64_t fingerprint; /* of the task's data, so that a run never meets other data; 0 unknown */
    mha_kernel kernel;    /* the two differ in last bits */
    mha_mode mode;
    size_t threads; /* 0: mha_default_threads(). Not in run.json: no bit depends on it */
};

/* How the layers of a run compute. */
mha_layer_options settings_layer_options(const struct settings *settings);

/* What options, run.json and messages call them; from a name false when there is none like it. */
const char *schedule_name(enum schedule schedule); /* "constant", "linear", "cosine" */
bool schedule_from_name(enum schedule *schedule, const char *name);
const char *task_loss_name(enum task_loss loss); /* "mse", "cross-entropy" */
bool task_loss_from_name(enum task_loss *loss, const char *name);
const char *causal_name(mha_causal causal); /* "off", "square", "top-left", "bottom-right" */
bool causal_from_name(mha_causal *causal, const char *name);

#endif
