/* Shared by `mha train TASK` and `mha train --resume`. */
#ifndef TRAIN_COMMANDS_TRAIN_RUN_H
#define TRAIN_COMMANDS_TRAIN_RUN_H

#include <limits.h>

#include "session.h"
#include "train_options.h"

/* Makes the paths of the settings absolute, so that the run can go on and be scored from anywhere: they
 * point into *resolved then. A path that does not exist stays, for whoever reads it to say what is
 * wrong, unless it must exist. False after a complaint. */
enum { RESOLVED_PATHS = 4 };
struct resolved_paths {
    char text[RESOLVED_PATHS][PATH_MAX];
};
bool resolve_paths(struct resolved_paths *resolved, struct settings *settings, bool must_exist);

/* Options that the task has no use for, and files that it needs. False after a complaint. */
bool check_files(const struct task *task, const struct settings *settings);

/* A schedule and its steps that do not go together. False after a complaint. */
bool check_schedule(const struct settings *settings);

/* How the run in the folder ended, in words; returns the exit status. why says why it diverged. */
int print_result(const struct session_result *result, const struct trainer *trainer,
    const char *folder, const char *why);

/* Goes on with the run in arguments->session.folder; returns the exit status. */
int resume_run(struct train_arguments *arguments);

#endif
