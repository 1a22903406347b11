/* A training run from start to end: updates, held-out evaluation, log, files, a clean stop. */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "settings.h"
#include "tasks/task.h"
#include "trainer.h"

struct session_options {
    const char *folder;
    bool force; /* replace a folder that holds our run.json */
    bool quiet;
};

/* What came out. */
struct session_result {
    size_t step;        /* updates made */
    size_t saved_step;  /* updates that weights.npz has seen */
    struct score score; /* held-out, after them */
    double seconds;
    int stopped_by; /* SIGINT or SIGTERM, 0 when none */
    bool diverged;  /* update step + 1 was refused */
};

/* Trains in options->folder. The trainer is new. SIGINT and SIGTERM end the run after the update in
 * hand, and what there is is saved; a second one ends the program at once.
 * A run that cannot start leaves the folder as it was. An update that is not
 * finite is refused: the last log row shows it and weights.npz stays as it was saved last.
 * Returns MHA_OK when the run ended in one of these ways, with *error saying why it diverged; or
 * the status of a file that could not be written. */
mha_status session_run(struct session_result *result, struct trainer *trainer,
    const struct session_options *options, mha_error *error);

#endif
