/* The folder of a run: made, locked, filled at once or left as it was.
 *
 * The first files of a run are written into the folder RUN_STAGING inside it, checkpoint.npz last, and
 * are then moved to their places, checkpoint.npz last again. So a staging folder with a checkpoint is
 * complete, and its publishing was cut short when it is met later: whoever locks the folder finishes it.
 * One without a checkpoint is litter, and nothing has been touched yet.
 *
 * The lock ends with the process. A file system without locks is used without. */
#ifndef TRAIN_RUN_FOLDER_H
#define TRAIN_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/status.h>

struct run_folder {
    const char *path;
    size_t made_from; /* length of the part of the path that had been there */
    int descriptor;   /* of the folder, which holds the lock; -1 when it is closed */
};

/* Makes the folder of a new run, with its missing parents, locks it and makes its staging folder. A
 * folder that exists is refused, unless force is set and it holds our run.json or nothing at all, and
 * so is one that another process trains in. The path does not end in a slash and stays alive. On
 * failure nothing is left, and there is nothing to close. */
mha_status run_folder_create(
    struct run_folder *folder, const char *path, bool force, mha_error *error);

/* Locks the folder of a run to go on with, and clears away what a killed process left in it: the
 * folder has a checkpoint then. On failure there is nothing to close. */
mha_status run_folder_open(struct run_folder *folder, const char *path, mha_error *error);

/* Moves the staged files to their places. A failure is made good by run_folder_open. */
mha_status run_folder_publish(const struct run_folder *folder, mha_error *error);

/* For a run that could not be staged: removes the staging folder and what run_folder_create made. */
void run_folder_abandon(struct run_folder *folder);

void run_folder_close(struct run_folder *folder);

/* MHA_ERROR_FORMAT when the publishing of a run in the folder was cut short; needs no lock. */
mha_status run_folder_check(const char *path, mha_error *error);

#endif
