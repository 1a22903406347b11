/* A training run from start to end: updates, held-out evaluation, log, files, a clean stop. */
#ifndef TRAIN_SESSION_H
#define TRAIN_SESSION_H

#include "run/folder.h"
#include "run/write.h"
#include "settings.h"
#include "tasks/task.h"
#include "trainer.h"

struct session_options {
    const char *folder;
    bool force; /* replace a folder that holds our run.json */
    bool quiet;
    bool shortened; /* of a run that goes on: it has fewer steps to make than its checkpoint says */
};

/* What came out. */
struct session_result {
    struct run_state state;
    size_t saved_step; /* updates that the checkpoint has seen */
    int stopped_by;    /* SIGINT, SIGTERM or SIGHUP, 0 when none */
    bool diverged;     /* update state.step + 1 was refused */
};

/* Trains in options->folder. The trainer is new. SIGINT, SIGTERM and SIGHUP end the run after the update in
 * hand, and what there is is saved; a second one ends the program at once.
 * A run that cannot start leaves the folder as it was. An update that is not finite is refused: the
 * last log row shows it and the checkpoint stays as it was saved last. So it does when a file cannot be
 * written later on.
 * Returns MHA_OK when the run ended in one of these ways, with *error saying why it diverged; or
 * the status of a file that could not be written. */
mha_status session_run(struct session_result *result, struct trainer *trainer,
    const struct session_options *options, mha_error *error);

/* The same for a run that goes on from `state`, in its folder, which run_folder_open has locked. The
 * trainer holds the weights and the velocity of that state. The bits of what comes out do not depend on
 * where a run was stopped. One that is complete gets back those of its files that are missing, stale
 * or broken, but for its log, and stays as it is. */
mha_status session_resume(struct session_result *result, struct trainer *trainer,
    const struct run_state *state, const struct session_options *options, mha_error *error);

#endif
