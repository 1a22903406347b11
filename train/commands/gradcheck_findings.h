/* What `mha gradcheck --case` finds of claims, and how it says so. */
#ifndef TRAIN_COMMANDS_GRADCHECK_FINDINGS_H
#define TRAIN_COMMANDS_GRADCHECK_FINDINGS_H

#include "gradcheck_truth.h"

struct findings {
    struct diagnosis found[MOST_CLAIMS];
    bool untold
        [MOST_CLAIMS]; /* not wrong, but the largest entry is not known to a hundredth for rounding */
    double error[MOST_CLAIMS], largest[MOST_CLAIMS]; /* largest distance, and |truth| */
    size_t blurred
        [MOST_CLAIMS]; /* entries that rounding may change by far more than it does the largest */
    double share[MOST_CLAIMS]; /* largest distance in units of what is allowed that entry */
    struct explanations explanations;
    size_t count, wrong, told; /* told: neither wrong nor untold */
};

/* Compares claims whose truth and allowed distances are set. */
mha_status findings_make(struct findings *made, const struct claim_set *set,
    const struct truth *truth, mha_error *error);

void findings_print(
    const struct findings *findings, const struct claim_set *set, const struct truth *truth);

#endif
