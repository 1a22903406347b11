/* A run folder, as it is read back: run.json, log.tsv, weights.npz. What a training session writes is
 * in write.h, checkpoint.h and folder.h. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include <stddef.h>

#include "run/paths.h"
#include "settings.h"
#include "tasks/task.h"

/* A finished or interrupted run, as read back. */
struct run {
    char *folder;
    const struct task *task;
    struct settings settings; /* settings.words, if any, belongs to the run */
    mha_real *weights;        /* (4,D,D): wq wk wv wo */
    size_t weights_step;      /* the updates that they have seen */
};

/* Reads run.json of a folder, without the weights.
 * MHA_ERROR_FILE or _FORMAT with a text that names the file; here and below also for a folder in which
 * the start of a run was cut short, as its files may not belong together. On failure *run holds
 * nothing. */
mha_status run_read_settings(struct run *run, const char *folder, mha_error *error);

/* Reads run.json and weights.npz of a folder and checks them against each other.
 * MHA_ERROR_FILE or _FORMAT with a text that names the file. On failure *run holds nothing. */
mha_status run_read(struct run *run, const char *folder, mha_error *error);
void run_free(struct run *run);

/* One line of log.tsv; NaN where there is nothing. */
struct log_row {
    size_t step;
    double loss, eval_loss, eval_accuracy, learning_rate, gradient_norm, seconds;
};

#define LOG_HEADER "step\tloss\teval_loss\teval_accuracy\tlr\tgrad_norm\tseconds"

/* All rows of folder/log.tsv, in memory of the caller's (free). A missing or wrong header, a row
 * that is cut short or holds no number where one belongs is MHA_ERROR_FORMAT naming file and line. */
mha_status run_read_log(struct log_row **rows, size_t *count, const char *folder, mha_error *error);

#endif
