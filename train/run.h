/* A run folder: run.json, log.tsv, weights.npz. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include <stddef.h>

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
 * MHA_ERROR_FILE or _FORMAT with a text that names the file. On failure *run holds nothing. */
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

/* How a run stands, for run.json; NaN is written as null. */
struct run_result {
    const char *status;  /* "running", "done", "interrupted", "diverged", "failed" */
    size_t step;         /* updates made */
    size_t weights_step; /* updates that weights.npz has seen */
    double loss, accuracy, relative_error, seconds;
};

/* The folder of a new run, made with its missing parents, and in it the folder RUN_STAGING. A folder
 * that exists is refused, unless force is set and it holds our run.json or nothing at all.
 * A run writes its first files into RUN_STAGING, and run_publish moves them to their places, so that
 * a run which cannot start leaves what was there. *made_from is for run_abandon: the length of the
 * part of the path that had been there. The folder's name does not end in a slash. */
#define RUN_STAGING ".new-run"
mha_status run_create_folder(size_t *made_from, const char *folder, bool force, mha_error *error);
mha_status run_publish(const char *folder, mha_error *error);

/* Removes RUN_STAGING and the folders that were made for a run that could not start. */
void run_abandon(const char *folder, size_t made_from);

mha_status run_write_json(const char *folder, const struct task *task,
    const struct settings *settings, const struct run_result *result, mha_error *error);
mha_status run_write_weights(
    const char *folder, const struct settings *settings, const mha_real *weights, mha_error *error);

/* log.tsv, opened with its header. A row that cannot be written whole is taken back. */
mha_status run_open_log(int *log, const char *folder, mha_error *error);
mha_status run_write_row(int log, const struct log_row *row, const char *folder, mha_error *error);
mha_status run_close_log(int log, const char *folder, mha_error *error);

/* "FOLDER/NAME" in memory of the caller's, NULL when there is none left. */
char *run_path(const char *folder, const char *name);

#endif
