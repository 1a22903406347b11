/* What the tests of pictures share. */
#ifndef TESTS_CHECK_PLOT_H
#define TESTS_CHECK_PLOT_H

#include <check.h>
#include <stddef.h>

#include "commands/plot_curves.h"
#include "commands/plot_maps.h"

TCase *plot_curves_case(void);
TCase *plot_kept_case(void);
TCase *plot_maps_case(void);
TCase *plot_text_case(void);

/* One curve whose held-out losses are given, at steps 0, 1, 2, ...; training loss is missing. Its
 * rows are to be freed. */
struct loss_curve make_curve(char *name, const double *losses, size_t count);

/* Draws into the file of the options, or on standard output. */
mha_status draw_curves(const struct loss_curve *curves, size_t count,
    const struct picture_options *options, mha_error *error);

/* Maps with the labels q0, q1, ... and k0, k1, ..., to be freed with free_maps. */
struct attention_maps make_maps(size_t heads, size_t queries, size_t keys, const mha_real *weights);
void free_maps(struct attention_maps *maps);

/* Checked fixture: the folder of folder.h; PATH and the current folder are put back afterwards. */
void plot_setup(void);
void plot_teardown(void);

/* A file of the folder as text, to be freed. */
char *read_text(const char *name);

/* How often a text stands in another. */
size_t count_of(const char *text, const char *wanted);

/* The status is an error, and its one line contains this part. */
void assert_error(mha_status status, const mha_error *error, const char *part);

#endif
