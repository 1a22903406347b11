/* The readable wing's stages walked forward and backward over arrays that stay: every value and every
 * gradient of one pass can be looked at. Of self-attention the source is a second stream, so that the gradient
 * of the query stage and those of key and value stand apart. */
#ifndef TRAIN_CHECKS_WALK_H
#define TRAIN_CHECKS_WALK_H

#include <mha/mha64.h>

struct walk {
    mha_pass pass;                       /* all values, and gradients */
    double *activation[MHA_VALUE_COUNT]; /* those of pass.value that are no leaves */
    const mha_stage *stages;
    double *numbers; /* of all activations and gradients, one behind the other */
};

/* What goes in. */
struct walk_leaves {
    const double *query, *source; /* source NULL: self-attention */
    const double *weights[MHA_WEIGHT_COUNT];
};

/* Takes memory; values and gradients are then walked by the two below. The leaves, the mask (or NULL) and the
 * stages stay the caller's. */
mha_status walk_create(struct walk *made, const struct walk_leaves *leaves, const mha_mask *mask,
    const mha_shape *shape, const mha_stage *stages, mha_error *error);
void walk_destroy(struct walk *made);

void walk_forward(struct walk *made);
/* That of the output is given, all others are zero: what a walk back begins with. */
void walk_begin_backward(struct walk *made, const double *grad_output);
/* Gradients from zero, by what the stages before left in the values. */
void walk_backward(struct walk *made, const double *grad_output);

#endif
