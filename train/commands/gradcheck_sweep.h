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

/* A check as its line names it: "layer cross, lengths"; and how it computes: "fused tiled", or "-". */
void format_check(
    char *text, size_t size, const struct subject *subject, const struct check_plan *plan);
void format_kernel(char *text, size_t size, const struct subject *subject);

#endif
