/* The tape from inside: what the layer carves and fills. */
#ifndef LAYER_TAPE_H
#define LAYER_TAPE_H

#include "base/real.h"

#define value_is_saved MHA_NAME(value_is_saved)
#define values_carve   MHA_NAME(values_carve)

struct mha_tape {
    mha_shape largest;
    mha_real *block;
    size_t bytes;                     /* of the block */
    mha_real *value[MHA_VALUE_COUNT]; /* the saved activations in the block, NULL for all else */
    const mha_layer *layer;           /* whose pass it holds; NULL when it holds none */
    mha_pass pass;                    /* that pass: shape, mask, leaves, saved activations */
};

/* Whether the value is an activation that some stage's backward reads. */
bool value_is_saved(mha_value value);

/* Allocates one block of *bytes bytes for the values whose bit is set, each aligned, and points
 * into it: value[i] of the others is NULL. The block is for the caller to free. Checks every sum of
 * sizes before. */
mha_status values_carve(mha_real **block, size_t *bytes, mha_real *value[MHA_VALUE_COUNT],
    unsigned long which, const mha_shape *shape, const char *what, mha_error *error);

#endif
