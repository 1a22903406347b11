/* Every setting of a training run: the defaults of its task, overruled by options, kept in
 * run.json. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/mha32.h>

enum schedule { SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE };

struct settings {
    mha_shape shape; /* of one training batch */
    mha_causal causal;
    uint64_t seed;
    size_t steps;
    mha_sgd_options sgd; /* learning_rate is the highest rate of the schedule */
    enum schedule schedule;
    size_t warmup;
    size_t eval_every;
    const char *words;    /* path of the word list of `letters`; NULL elsewhere */
    uint64_t fingerprint; /* of the task's data, so that a run never meets other words; 0 unknown */
};

#endif
