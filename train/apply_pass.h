/* One pass of the layer over given arrays, in float or double. */
#ifndef TRAIN_APPLY_PASS_H
#define TRAIN_APPLY_PASS_H

#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/shape.h>
#include <mha/status.h>
#include <mha/values.h>

/* All of one precision, row-major. What is written holds zeros before. */
struct pass_arrays {
    mha_shape shape;
    const mha_mask *mask;
    mha_kernel kernel;
    mha_mode mode;
    size_t threads; /* 0: mha_default_threads() */

    const void *query;       /* (B,T,D) */
    const void *context;     /* (B,S,D); NULL is self-attention */
    void *weights;           /* (4,D,D): wq wk wv wo; only read */
    const void *grad_output; /* (B,T,D); NULL: no gradients */

    void *output;                         /* (B,T,D) */
    void *attention;                      /* (B,h,T,S); NULL in mode tiled */
    void *grad_query;                     /* (B,T,D) */
    void *grad_context;                   /* (B,S,D); NULL in self-attention */
    void *grad_weights[MHA_WEIGHT_COUNT]; /* (D,D) each: of wq wk wv wo */
};

/* MHA_ERROR_MEMORY naming the bytes, or what the layer refuses. */
mha_status apply_pass_f32(const struct pass_arrays *arrays, mha_error *error);
mha_status apply_pass_f64(const struct pass_arrays *arrays, mha_error *error);

#endif
