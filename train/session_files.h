/* The files of a session: rows, saves, and what stands in the folder when it starts and ends. */
#ifndef TRAIN_SESSION_FILES_H
#define TRAIN_SESSION_FILES_H

#include "progress.h"
#include "session.h"

struct session {
    struct trainer *trainer;
    const struct session_options *options;
    struct session_result *result;
    int log;             /* descriptor of log.tsv, -1 when it is not open */
    const char *folder;  /* where files are written: the run's, or its staging folder */
    size_t weights_step; /* updates that weights.npz has seen */
    struct progress progress;
    double started, seconds_before; /* this session's clock, and what was trained before it */
    double saved, save_cost;        /* end and length of the last save, on that clock */
};

/* Seconds of training so far, in all sessions. */
double session_seconds(const struct session *session);

/* Evaluates after the newest update and writes the row; update is NULL before the first. */
mha_status session_evaluate(
    struct session *session, const struct step_result *update, mha_error *error);

/* The row of an update that was refused: what it was, and no evaluation. */
mha_status session_log_refused(
    const struct session *session, const struct step_result *update, mha_error *error);

/* The log is flushed, then checkpoint.npz, weights.npz and run.json with that status are replaced. */
mha_status session_save(struct session *session, const char *status, mha_error *error);

/* run.json alone. */
mha_status session_write_json(struct session *session, const char *status, mha_error *error);

/* The files that a run has from its first moment on, in the staging folder; the log is open then. */
mha_status session_stage(struct session *session, mha_error *error);

/* The files of a run that goes on; the log is open then. */
mha_status session_restart(struct session *session, mha_error *error);

/* The files of a run that has made all its steps; the checkpoint too when the run was shortened. */
mha_status session_remake(struct session *session, bool shortened, mha_error *error);

mha_status session_close_log(struct session *session, mha_error *error);

#endif
