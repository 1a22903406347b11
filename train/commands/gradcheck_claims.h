/* The gradients of a user's own program: arrays grad_... of a file beside those that `mha apply` reads. */
#ifndef TRAIN_COMMANDS_GRADCHECK_CLAIMS_H
#define TRAIN_COMMANDS_GRADCHECK_CLAIMS_H

#include "apply_input.h"
#include "checks/faults/mistakes.h"

struct claim_set {
    struct claim claims[MOST_CLAIMS]; /* claimed in double; truth and allowed are not set */
    mha_dtype dtype[MOST_CLAIMS];     /* in the file */
    size_t count;
    void *converted[MOST_CLAIMS];
    double *allowed; /* of all entries, set with their truth; or NULL */
};

/* Takes the claims out of the input's arrays and checks their shapes and dtypes. MHA_ERROR_FORMAT when there is
 * none, for a name grad_... that means nothing, or a dtype that is neither float nor double. On failure nothing
 * is left to free. */
mha_status claim_set_take(
    struct claim_set *made, const struct apply_input *input, const char *path, mha_error *error);
void claim_set_free(struct claim_set *made);

#endif
