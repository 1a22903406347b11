/* The sizes, masks and threads that `mha gradcheck` checks a routine under. */
#ifndef TRAIN_COMMANDS_GRADCHECK_SWEEP_H
#define TRAIN_COMMANDS_GRADCHECK_SWEEP_H

#include "checks/subjects.h"
#include "options.h"

struct sweep {
    const struct shape_options *given; /* narrow what is swept over */
    size_t threads;                    /* 0: not given */
    /* Carries out one check; false ends the sweep. along_directions: there are too many numbers to move
     * each by itself. */
    bool (*check)(const struct subject *subject, const struct check_plan *plan,
        bool along_directions, void *context);
    void *context;
};

/* The sizes of a check, before the sweep sets its lengths and heads. */
mha_shape sweep_base_shape(const struct shape_options *given);

/* False when a check said so. */
bool sweep_over(const struct subject *subject, const struct sweep *sweep);

/* The left columns of a line that shows a check, without what it has found, and their heading: 65 characters. */
void print_check_heading(void);
void print_check(const struct subject *subject, const struct check_plan *plan);

#endif
