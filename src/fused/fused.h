/* The fused wing from inside: its workspace, and the products between which attention stands. */
#ifndef FUSED_FUSED_H
#define FUSED_FUSED_H

#include "base/real.h"
#include "kernels/kernels.h"

#define fused_projection_forward  MHA_NAME(fused_projection_forward)
#define fused_projection_backward MHA_NAME(fused_projection_backward)
#define fused_attention_backward  MHA_NAME(fused_attention_backward)
#define fused_threads             MHA_NAME(fused_threads)
#define fused_key_groups          MHA_NAME(fused_key_groups)

struct mha_fused {
    mha_shape largest;
    size_t threads;
    const kernels *kernels;    /* for this width */
    mha_real *block;           /* all of what follows */
    mha_real *transposed;      /* (D,D): a weight matrix the other way round */
    mha_real *partial_queries; /* (groups - 1,B,T,D): dq of all groups of keys but the first */
    mha_real *scratch;         /* (threads, scratch_each) */
    size_t scratch_each;
};

static inline mha_real *fused_scratch(const mha_fused *fused, size_t thread) {
    return fused->scratch + thread * fused->scratch_each;
}

/* Into how many groups backward cuts S keys; each has its own sum of dq. By S alone, so that how many
 * threads there are, or samples, shows in no result. */
size_t fused_key_groups(size_t source_length);

/* The threads that are worth waking for so many floating-point operations. */
size_t fused_threads(const mha_fused *fused, double operations);

/* mha_fused_backward, and where `fresh` the gradients are written instead of added to. */
void fused_attention_backward(mha_real *dq, mha_real *dk, mha_real *dv, bool fresh,
    const mha_real *dcontext, const mha_real *context, const mha_fused_weights *saved,
    const mha_real *q, const mha_real *k, const mha_real *v, const mha_mask *mask,
    const mha_shape *shape, mha_fused *fused);

/* y (rows,out) = x (rows,in) w (in,out). */
void fused_projection_forward(mha_real *y, const mha_real *x, const mha_real *w, size_t rows,
    size_t in, size_t out, const mha_fused *fused);
/* dx += dy w^T, or = where `fresh`, and dw += x^T dy; NULL is not wanted. in and out are at most D. */
void fused_projection_backward(mha_real *dx, bool fresh, mha_real *dw, const mha_real *dy,
    const mha_real *x, const mha_real *w, size_t rows, size_t in, size_t out,
    const mha_fused *fused);

#endif
