/* The whole layer on arrays that are given: a case for the checker, as those of random numbers are. */
#ifndef TRAIN_CHECKS_GIVEN_H
#define TRAIN_CHECKS_GIVEN_H

#include "checks/case.h"
#include "checks/walk.h"

/* The leaves are copied, the mask (or NULL) stays the caller's. On failure nothing is left to destroy. */
mha_status check_given_create(struct check_case *made, const struct walk_leaves *leaves,
    const mha_mask *mask, const mha_shape *shape, mha_error *error);

#endif
