/* A layer with a tape, inputs, weights and gradients: what most tests of the layer start from.
 * Included after "base/real.h" and "arrays.h"; arrays_release frees it all. */
#ifndef TESTS_NUMERIC_TRIAL_H
#define TESTS_NUMERIC_TRIAL_H

#include "wing.h"

#define trial                   MHA_NAME(trial)
#define trial_new               MHA_NAME(trial_new)
#define trial_on                MHA_NAME(trial_on)
#define trial_layer             MHA_NAME(trial_layer)
#define trial_tape              MHA_NAME(trial_tape)
#define trial_clear             MHA_NAME(trial_clear)
#define trial_forward           MHA_NAME(trial_forward)
#define trial_backward          MHA_NAME(trial_backward)
#define trial_run               MHA_NAME(trial_run)
#define trial_attention         MHA_NAME(trial_attention)
#define trial_count             MHA_NAME(trial_count)
#define assert_forward_refused  MHA_NAME(assert_forward_refused)
#define assert_backward_refused MHA_NAME(assert_backward_refused)
#define assert_trials_same      MHA_NAME(assert_trials_same)
#define assert_gradients_same   MHA_NAME(assert_gradients_same)

typedef enum streams { CROSS_ATTENTION, SELF_ATTENTION } streams;

typedef struct trial {
    mha_layer_options options; /* of layer and tape: wing, mode and threads */
    mha_shape shape;
    const mha_mask *mask;
    mha_layer *layer;
    mha_tape *tape;
    mha_real *query, *source; /* source is NULL in self-attention */
    mha_real *block, *dblock; /* (4,D,D): the weights, their gradients */
    mha_weights weights, dweights;
    mha_real *output, *doutput;
    mha_real *dx_query, *dx_source; /* dx_source is NULL in self-attention */
} trial;

/* Query, source, doutput N(0,1) and weights N(0,1)/sqrt(D), all from the seed; the output is NaN,
 * gradients are 0. Layer and tape are made for that shape, and for the wing in use or these options. */
trial trial_new(const mha_shape *shape, streams kind, const mha_mask *mask, uint64_t seed);
trial trial_on(const mha_layer_options *options, const mha_shape *shape, streams kind,
    const mha_mask *mask, uint64_t seed);

/* Layers and tapes that arrays_release destroys. */
mha_layer *trial_layer(const mha_shape *largest, const mha_layer_options *options);
mha_tape *trial_tape(const mha_shape *largest, const mha_layer_options *options);

void trial_clear(trial *t);         /* gradients anew, all 0 */
void trial_forward(const trial *t); /* the test fails where the call does */
void trial_backward(const trial *t);
void trial_run(const trial *t); /* both */

/* Attention weights of the pass on the tape, which has to hold one. */
const mha_real *trial_attention(const trial *t);
size_t trial_count(const trial *t, mha_value value);

/* The call is refused with this status and text, has written nothing, and says the same without an
 * mha_error. */
void assert_forward_refused(const trial *t, mha_status status, const char *text);
void assert_backward_refused(const trial *t, mha_status status, const char *text);

/* Output, attention weights and every gradient have the same bits; or the gradients alone. */
void assert_trials_same(const trial *actual, const trial *expected);
void assert_gradients_same(const trial *actual, const trial *expected);

#endif
