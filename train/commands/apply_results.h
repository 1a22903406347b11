/* What `mha apply` writes. */
#ifndef TRAIN_COMMANDS_APPLY_RESULTS_H
#define TRAIN_COMMANDS_APPLY_RESULTS_H

#include <mha/values.h>

#include "apply_input.h"

enum {
    RESULT_OUTPUT,
    RESULT_ATTENTION, /* not in mode tiled */
    RESULT_GRAD_QUERY,
    RESULT_GRAD_CONTEXT,
    RESULT_GRAD_WEIGHTS, /* the first of four */
    RESULT_COUNT = RESULT_GRAD_WEIGHTS + MHA_WEIGHT_COUNT
};

struct apply_results {
    void *data[RESULT_COUNT]; /* of the input's dtype; NULL is not wanted */
};

/* Zeroed memory for what is wanted, once it is clear that the machine can hold the whole pass. On
 * failure *results holds nothing. */
mha_status apply_results_create(struct apply_results *results, const struct apply_input *input,
    const struct compute_options *compute, mha_error *error);
void apply_results_free(struct apply_results *results);

/* Writes the file; a result that is not finite, of inputs that all are, has overflowed: it is written,
 * and told on standard error. */
mha_status apply_results_write(const struct apply_results *results, const struct apply_input *input,
    const char *path, mha_error *error);

#endif
