/* What the tests of pictures share. */
#ifndef TESTS_CHECK_PLOT_H
#define TESTS_CHECK_PLOT_H

#include <check.h>
#include <stddef.h>

#include "commands/plot_curves.h"
#include "commands/plot_maps.h"

TCase *plot_process_case(void);
TCase *plot_signals_case(void);
TCase *plot_curves_case(void);
TCase *plot_axes_case(void);
TCase *plot_kept_case(void);
TCase *plot_maps_case(void);
TCase *plot_text_case(void);

/* One curve whose held-out losses are given, at steps 0, 1, 2, ...; training loss is missing. Its
 * rows are to be freed. */
struct loss_curve make_curve(char *name, const double *losses, size_t count);

/* Draws into the file of the options, or on standard output. */
mha_status draw_curves(const struct loss_curve *curves, size_t count,
    const struct picture_options *options, mha_error *error);

/* Draws a curve of these held-out losses; the picture as text, to be freed. */
char *draw_losses(char *name, const double *losses, size_t count);

/* Marks of the first run in the loss panel, then in that of accuracy: their places in pixels from the
 * left and the top. */
size_t find_marks(double (*places)[2], size_t most, const char *svg);

/* Maps with the labels q0, q1, ... and k0, k1, ..., to be freed with free_maps. */
struct attention_maps make_maps(size_t heads, size_t queries, size_t keys, const mha_real *weights);
void free_maps(struct attention_maps *maps);

/* Checked fixture: the folder of folder.h; PATH and the current folder are put back afterwards. */
void plot_setup(void);
void plot_teardown(void);

/* Runs gnuplot on a text. */
mha_status run_text(char **bytes, size_t *size, const char *text, mha_error *error);

/* A program named gnuplot in the folder, found before the real one. */
void fake_gnuplot(const char *text);

/* A file of the folder as text, to be freed. */
char *read_text(const char *name);

/* How often a text stands in another. */
size_t count_of(const char *text, const char *wanted);

/* The status is an error, and its one line contains this part. */
void assert_error(mha_status status, const mha_error *error, const char *part);

#endif
