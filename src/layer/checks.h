/* What the layer's door checks before anything is computed. */
#ifndef LAYER_CHECKS_H
#define LAYER_CHECKS_H

#include "base/real.h"
#include "layer/tape.h"

#define check_options         MHA_NAME(check_options)
#define check_same_wing       MHA_NAME(check_same_wing)
#define check_handles         MHA_NAME(check_handles)
#define check_shape_fits      MHA_NAME(check_shape_fits)
#define check_tape_state      MHA_NAME(check_tape_state)
#define check_forward_arrays  MHA_NAME(check_forward_arrays)
#define check_backward_arrays MHA_NAME(check_backward_arrays)
#define is_self_attention     MHA_NAME(is_self_attention)

/* Kernel, mode and stages go together; NULL stands for the defaults. */
mha_status check_options(const mha_layer_options *options, mha_error *error);

/* The tape saves what a layer with these stages saves. */
mha_status check_same_wing(const mha_tape *tape, stage_list stages, mha_error *error);

/* None of the three is NULL. */
mha_status check_handles(
    const mha_tape *tape, const mha_layer *layer, const mha_shape *shape, mha_error *error);

/* shape is usable, has largest's width and heads and is nowhere larger; what names largest's owner. */
mha_status check_shape_fits(
    const mha_shape *shape, const mha_shape *largest, const char *what, mha_error *error);

/* The tape holds a pass of this layer and shape. */
mha_status check_tape_state(
    const mha_tape *tape, const mha_layer *layer, const mha_shape *shape, mha_error *error);

/* The source is the query's own stream. */
bool is_self_attention(const mha_pass *pass);

/* Nothing is missing, and what is written overlaps nothing else. */
mha_status check_forward_arrays(const mha_real *output, const mha_tape *tape, const mha_real *query,
    const mha_real *source, const mha_mask *mask, const mha_weights *weights,
    const mha_shape *shape, mha_error *error);
mha_status check_backward_arrays(const mha_real *dx_query, const mha_real *dx_source,
    const mha_weights *dweights, const mha_real *doutput, const mha_tape *tape, mha_error *error);

#endif
