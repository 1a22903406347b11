/* What a training session writes into its folder, beside the checkpoint. */
#ifndef TRAIN_RUN_WRITE_H
#define TRAIN_RUN_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run.h"
#include "trainer.h"

/* Where a run stands. */
struct run_state {
    size_t step;        /* updates made */
    struct score score; /* held-out, of the newest row */
    /* The lowest held-out loss of the rows at multiples of --eval-every, and its row; NaN and 0 where
     * there is none. Rows elsewhere do not count, so that a stop leaves no trace; run.json counts the
     * last row of a run that is done. */
    double best_loss;
    size_t best_step;
    double seconds; /* trained so far, in all sessions */
};

/* For run.json; NaN is written as null. */
struct run_result {
    const char *status;  /* "running", "done", "interrupted", "diverged", "failed" */
    size_t weights_step; /* updates that weights.npz has seen */
    struct run_state state;
};

mha_status run_write_json(const char *folder, const struct task *task,
    const struct settings *settings, const struct run_result *result, mha_error *error);
mha_status run_write_weights(
    const char *folder, const struct settings *settings, const mha_real *weights, mha_error *error);

/* log.tsv, made anew with its header, or opened to be gone on with. *log is -1 on failure. */
mha_status run_create_log(int *log, const char *folder, mha_error *error);
mha_status run_open_log(int *log, const char *folder, mha_error *error);
/* A row that cannot be written whole is taken back. */
mha_status run_write_row(int log, const struct log_row *row, const char *folder, mha_error *error);
/* Flushes the rows to disk. */
mha_status run_flush_log(int log, const char *folder, mha_error *error);
/* Flushes and closes; the log is closed also on failure. */
mha_status run_close_log(int log, const char *folder, mha_error *error);

/* The part of log.tsv that stays when a run goes on from a checkpoint. */
struct kept_log {
    char *text;
    size_t size;
    bool whole; /* it is all that the file holds */
};

/* Reads log.tsv and keeps, byte for byte, the header and the rows at multiples of eval_every up to
 * step; with last_row also the row of step itself. MHA_ERROR_FORMAT naming the first of them that is
 * missing: a log cannot be made again. A row at its end that is cut short is as good as missing. */
mha_status run_keep_log(struct kept_log *kept, const char *folder, size_t step, size_t eval_every,
    bool last_row, mha_error *error);
/* Cuts log.tsv back to it. */
mha_status run_cut_log(const struct kept_log *kept, const char *folder, mha_error *error);
void run_kept_log_free(struct kept_log *kept);

#endif
