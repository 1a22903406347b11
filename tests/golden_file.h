/* The golden arrays of tests/golden/, which make.py there describes. Whatever is missing or does
 * not fit ends the test. */
#ifndef TESTS_GOLDEN_FILE_H
#define TESTS_GOLDEN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/io.h>
#include <mha/mask.h>
#include <mha/values.h>

typedef struct golden_file {
    const char *name;
    mha_arrays *arrays;
    mha_shape shape;
    mha_mask mask; /* its arrays belong to the file */
    double *drawn; /* (4,D,D): wq wk wv wo, where the file holds their seed; else NULL */
} golden_file;

/* Opens NAME.npz in the folder that the environment variable MHA_GOLDEN names. */
void golden_open(golden_file *file, const char *name);
void golden_close(golden_file *file);

/* How many files NAME.npz stand in that folder, and whether all are among the `count` names; else
 * *unknown (a copy for free) is the first that is not. */
size_t golden_files(char **unknown, const char *const *names, size_t count);

bool golden_has(const golden_file *file, const char *name);

/* Numbers of an array that has the shape of this value of the layer. */
const double *golden_numbers(const golden_file *file, const char *name, mha_value value);

/* One of wq, wk, wv, wo (D,D), whether the file holds it or its seed. */
const double *golden_matrix(const golden_file *file, mha_value value);

#endif
