/* Shared by `mha train TASK` and `mha train --resume`. */
#ifndef TRAIN_COMMANDS_TRAIN_RUN_H
#define TRAIN_COMMANDS_TRAIN_RUN_H

#include "session.h"
#include "train_options.h"

/* Makes the paths of the settings absolute, so that the run can go on and be scored from anywhere. A
 * path that does not exist stays: whoever reads it says what is wrong. False after a complaint; the
 * paths stay valid until the next call. */
bool resolve_paths(struct settings *settings);

/* Options that the task has no use for, and files that it needs. False after a complaint. */
bool check_files(const struct task *task, const struct settings *settings);

/* How the run in the folder ended, in words; returns the exit status. why says why it diverged. */
int print_result(const struct session_result *result, const struct trainer *trainer,
    const char *folder, const char *why);

/* Goes on with the run in arguments->session.folder; returns the exit status. */
int resume_run(struct train_arguments *arguments);

#endif
