/* Files of examples for the task `arrays`, and trainers on them. */
#ifndef TESTS_TASK_ARRAYS_H
#define TESTS_TASK_ARRAYS_H

#include <mha/io.h>

#include "array_assert.h"
#include "trainer.h"

/* Arrays without a name are left out. */
enum { MOST_ARRAYS = 8 };

/* Writes the named ones of MOST_ARRAYS arrays to a file of the test's folder, as its name ends. */
void examples_write(const char *file, const mha_array *arrays);

/* Training on NAME.npz of the folder with seed 3: all sizes from the data, one head. The path stays
 * valid for the next seven paths of the folder. */
struct settings arrays_settings(const char *file);

/* A trainer that must, or must not, come to be. The text that refuses is "PATH" and ending where the
 * text starts with the path of the file, else all of it. */
struct trainer arrays_trainer(const struct settings *settings);
void assert_arrays_refused(const struct settings *settings, mha_status status, const char *ending);

/* N(0,1) numbers from default_rng(seed). */
void fill_normals(float *x, size_t count, uint64_t seed);

/* Wq = 0, so that attention is even, and Wv = Wo = 1: the output is the mean of the seen rows. */
void make_averaging(struct trainer *trainer);

/* The loss of update n, which is the one before it. */
double loss_of_step(struct trainer *trainer, size_t n);

#endif
