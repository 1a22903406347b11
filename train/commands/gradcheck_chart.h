/* The curves of a gradient check as variables of gradcheck.gp and gradcheck_text.gp. */
#ifndef TRAIN_COMMANDS_GRADCHECK_CHART_H
#define TRAIN_COMMANDS_GRADCHECK_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "gradcheck_curves.h"
#include "plot_picture.h"

/* Writes all variables and data, and the size that the picture needs; a terminal keeps its width, but for
 * 64 columns at least. */
void gradcheck_chart_variables(FILE *stream, struct picture_size *size,
    const struct check_curves *curves, const char *fault, uint64_t seed, bool in_terminal);

#endif
