/* The tape from inside: what the layer carves and fills. */
#ifndef LAYER_TAPE_H
#define LAYER_TAPE_H

#include "base/real.h"

#define value_is_saved MHA_NAME(value_is_saved)
#define stage_list     MHA_NAME(stage_list)
#define stages_for     MHA_NAME(stages_for)
#define values_carve   MHA_NAME(values_carve)

/* The stages of a wing and mode. */
typedef struct stage_list {
    const mha_stage *at;
    size_t count;
} stage_list;

/* Of options that check_options accepts, NULL included; custom stages are not looked at, since they save what
 * the layer's own save. */
stage_list stages_for(const mha_layer_options *options);

struct mha_tape {
    mha_shape largest;
    stage_list stages; /* whose activations it saves */
    mha_real *block;
    size_t bytes;                     /* of the block */
    mha_real *value[MHA_VALUE_COUNT]; /* the saved activations in the block, NULL for all else */
    const mha_layer *layer;           /* whose pass it holds; NULL when it holds none */
    mha_pass pass;                    /* that pass: shape, mask, leaves, saved activations */
};

/* Whether the value is an activation that some stage's backward reads. */
bool value_is_saved(mha_value value, stage_list stages);

/* Allocates one block of *bytes bytes for the values whose bit is set, each aligned, and points
 * into it: value[i] of the others is NULL. The block is for the caller to free. Checks every sum of
 * sizes before. */
mha_status values_carve(mha_real **block, size_t *bytes, mha_real *value[MHA_VALUE_COUNT],
    unsigned long which, const mha_shape *shape, const char *what, mha_error *error);

#endif
