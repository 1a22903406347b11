/* The fused wing: scaled dot-product attention of all heads in one sweep of tiles, on several
 * threads. Reached through <mha/mha32.h> or <mha/mha64.h>.
 *
 * The same contract as mha_attention_forward and mha_attention_backward (ops.h), but heads stay
 * side by side: q (B,T,D), k and v (B,S,D), head r in columns r*d to (r+1)*d of each row. Results
 * have the same bits for any number of threads, with or without weights, and for a sample whatever
 * else is in its batch. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

/* Scratch memory and the number of threads; serves one call at a time. */
typedef struct mha_fused mha_fused;

/* For every shape that is, axis by axis, no larger than largest and has its width and heads.
 * threads 0 is mha_default_threads(). The scratch grows with D D, B T D and, for each thread, with d
 * times the longer of T and S; never with T S. MHA_ERROR_SHAPE, _SIZE, _MEMORY, _ARGUMENT (as mha_isa), and *fused is NULL then. */
mha_status mha_fused_create(
    mha_fused **fused, const mha_shape *largest, size_t threads, mha_error *error);
void mha_fused_destroy(mha_fused *fused); /* NULL is allowed */

/* What backward needs of the attention weights P, by mode:
 *   stored  weights (B,h,T,S), and the other two NULL
 *   tiled   weights NULL; row_maximum (B,h,T): the largest allowed q.k of each row, unscaled;
 *           row_inverse_sum (B,h,T): 1 / sum of exp((q.k - row_maximum) / sqrt(d)) over allowed
 *           keys. Both are 0 for a row without an allowed key. */
typedef struct mha_fused_weights {
    mha_real *weights;
    mha_real *row_maximum, *row_inverse_sum;
} mha_fused_weights;

/* context (B,T,D) = P V is written, and so is what saved points to. */
void mha_fused_forward(mha_real *context, const mha_fused_weights *saved, const mha_real *q,
    const mha_real *k, const mha_real *v, const mha_mask *mask, const mha_shape *shape,
    mha_fused *fused);

/* dq (B,T,D), dk and dv (B,S,D) are added to; NULL is not wanted. context and saved are forward's.
 *   delta = rowsum(dcontext * context), dP = dcontext V^T, dS = P (dP - delta) / sqrt(d),
 *   dq += dS K, dk += dS^T Q, dv += P^T dcontext
 * (Dao, "FlashAttention-2", 2023, algorithm 2, which also computes P again by tiles). */
void mha_fused_backward(mha_real *dq, mha_real *dk, mha_real *dv, const mha_real *dcontext,
    const mha_real *context, const mha_fused_weights *saved, const mha_real *q, const mha_real *k,
    const mha_real *v, const mha_mask *mask, const mha_shape *shape, mha_fused *fused);

/* Runs fused multiply-adds on registers alone, with the instructions that mha_isa names, as fast as
 * they go: the measure of how fast anything here could be. *operations is how many floating-point
 * operations that were (a multiply-add is 2). Returns a number that depends on all of them. */
mha_real mha_fma_burst(double *operations, size_t rounds);
