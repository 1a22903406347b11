/* Run folders of the test's folder, held against each other and looked at. */
#ifndef TESTS_RUN_COMPARE_H
#define TESTS_RUN_COMPARE_H

#include <stddef.h>

/* `mha train -o FOLDER --quiet WORD...` must succeed; the words end with NULL. */
void train_in(const char *folder, const char *const *words);

/* `mha train --resume -o FOLDER --quiet WORD...` must end with that status. */
void resume_in(const char *folder, const char *const *words, int status);

/* Both runs came out the same, bit for bit: checkpoint, weights, log and run.json, but for the times. */
void assert_same_run(const char *run, const char *other);

/* What must be true of a run's folder at any moment once it holds a checkpoint: all its files are there
 * and can be read. One whose start was cut short must say so. 0 when there is no checkpoint yet. */
int assert_run_is_whole(const char *run);

/* The folder holds the files of a run and nothing else. */
void assert_no_litter(const char *run);

/* The updates that the checkpoint of a run has seen. */
size_t checkpoint_step(const char *run);

/* "RUN/NAME"; the last eight answers stay valid. */
const char *run_file(const char *run, const char *name);

#endif
