/* The files in the folder of a run. */
#ifndef TRAIN_RUN_PATHS_H
#define TRAIN_RUN_PATHS_H

#define RUN_CHECKPOINT "checkpoint.npz"
#define RUN_JSON       "run.json"
#define RUN_LOG        "log.tsv"
#define RUN_WEIGHTS    "weights.npz"
#define RUN_STAGING    ".new-run" /* a folder: folder.h */

/* "FOLDER/NAME" in memory of the caller's, NULL when there is none left. */
char *run_path(const char *folder, const char *name);

#endif
