/* What a process that was killed leaves in the folder of a run. */
#ifndef TRAIN_RUN_LITTER_H
#define TRAIN_RUN_LITTER_H

#include <stdbool.h>

/* The files of a run, in the order in which they move from the staging folder: the checkpoint, which
 * says that the others are there, is the last. */
enum { RUN_FILE_COUNT = 4 };
extern const char *const run_files[RUN_FILE_COUNT];

/* Whether the folder holds an entry of that name. */
bool folder_has(const char *folder, const char *name);

/* Whether the folder holds nothing but what a run leaves that was ended while it started. */
bool folder_is_free(const char *folder);

/* Removes temporary names of the run's files, those that begin with a dot and end in ".tmp". */
void folder_remove_temporaries(const char *folder);

/* Removes the staging folder. */
void folder_remove_staging(const char *folder);

#endif
