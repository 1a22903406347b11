/* `mha gradcheck --float`: float against double, in ulps of each entry's magnitude. */
#ifndef TRAIN_COMMANDS_GRADCHECK_FLOAT_H
#define TRAIN_COMMANDS_GRADCHECK_FLOAT_H

#include "gradcheck_sweep.h"

/* Counts over all lines. */
struct float_tally {
    size_t checks, failures, entries;
    double largest_share; /* of a bound */
};

void float_print_header(void);
/* A check of a sweep, whose context is a float_tally. */
bool float_check(const struct subject *subject, const struct check_plan *plan,
    bool along_directions, void *context);
/* The closing line; returns the exit status. */
int float_finish(const struct float_tally *tally);

#endif
