/* What `mha gradcheck` says below a check that failed: where it is wrong, and why. */
#ifndef TRAIN_COMMANDS_GRADCHECK_EXPLAIN_H
#define TRAIN_COMMANDS_GRADCHECK_EXPLAIN_H

#include "checks/subjects.h"

/* Checks every stage by itself, of a subject that is one stage that stage alone, and prints a line. Losses, which
 * are no stages, have none. */
mha_status explain_failure(const struct subject *subject, const struct check_plan *plan,
    const mha_gradcheck_options *options, mha_error *error);

#endif
