/* Loss curves: from the rows of logs to the variables of loss.gp. */
#ifndef TRAIN_COMMANDS_PLOT_CURVES_H
#define TRAIN_COMMANDS_PLOT_CURVES_H

#include <stdbool.h>
#include <stddef.h>

#include "plot_picture.h"
#include "run/run.h"

struct loss_curve {
    char *name;
    struct log_row *rows;
    size_t count;
    enum task_loss loss;
};

struct loss_axes {
    double x_low, x_high, y_low, y_high;
    bool log_axis; /* the positive losses span a decade or more, and most losses are positive */
    bool training_loss;  /* some run has one that is finite */
    bool accuracy;       /* some run has one */
    size_t not_positive; /* losses that a logarithmic axis cannot show */
    size_t infinite;     /* losses that are infinite or beyond 1e100 */
};

/* MHA_ERROR_SIZE for more than 100 runs; MHA_ERROR_ARGUMENT when runs measure different losses;
 * MHA_ERROR_FORMAT when no run has a row or no loss is finite. */
mha_status loss_axes_of(
    struct loss_axes *axes, const struct loss_curve *curves, size_t count, mha_error *error);

/* The loss, or NaN where the axes cannot show it. */
double shown_loss(const struct loss_axes *axes, double loss);

/* Whether a curve has a loss that the axes can show. */
bool loss_curve_is_visible(const struct loss_axes *axes, const struct loss_curve *curve);

/* Writes all variables and data, and fits the size: a picture gets as high as its legend needs, a
 * terminal stays as it is, but for 40 columns and 12 lines at least. */
void loss_variables(FILE *stream, struct picture_size *size, const struct loss_axes *axes,
    const struct loss_curve *curves, size_t count, bool in_terminal);

#endif
