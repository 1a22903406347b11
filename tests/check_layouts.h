/* Arrays as a reader would have found them in a file, made in memory. */
#ifndef TESTS_CHECK_LAYOUTS_H
#define TESTS_CHECK_LAYOUTS_H

#include <check.h>

#include <mha/layouts.h>

/* The arrays of the test at hand, which is a fixture of its TCase. */
extern mha_arrays *layouts_made;
void layouts_begin(void);
void layouts_end(void);

/* A float64 array (rows, columns) whose entry (r,c) is first + 10 r + c. */
void layouts_add(const char *name, size_t rows, size_t columns, double first);
/* The same four times, (width, width), beginning with 100, 200, 300 and 400. */
void layouts_add_four(const char *q, const char *k, const char *v, const char *o, size_t width);
/* An array of numbers of a kind; rank 0 is a scalar. */
void layouts_add_numbers(
    const char *name, mha_dtype dtype, size_t rank, const size_t *dims, const double *numbers);
void layouts_add_number(const char *name, mha_dtype dtype, double number);
void layouts_add_metadata(const char *key, const char *value);

/* Takes the weights; the first must succeed. Files are called "made.npz" in messages. */
mha_weight_set layouts_take(mha_layout_hint hint);
/* ... and this must be refused with one line that names the file and holds the words. */
void layouts_refuse(mha_layout_hint hint, mha_status status, const char *words);

/* Entry (i,j), (in,out), of matrix 0 to 3. */
double layouts_entry(const mha_weight_set *set, size_t matrix, size_t i, size_t j);

TCase *layouts_refusals(void);
TCase *layouts_files(void);

#endif
