/* The operators of multi-head attention, each with its forward and its backward routine.
 * Reached through <mha/mha32.h> or <mha/mha64.h>.
 *
 * For all of them:
 *   - outputs come first, then inputs, then sizes; arrays are row-major and belong to the caller;
 *   - forward WRITES its whole result, which may hold anything before, NaN included;
 *   - backward ADDS to the gradients it is given; a NULL gradient is not wanted and costs nothing;
 *   - outputs overlap nothing else; gradients of different inputs may be the same buffer;
 *   - nothing is allocated, printed or checked: sizes and masks have passed mha_shape_check and
 *     mha_mask_check. A mask may be NULL. A size of 0 is an empty loop.
 * A gradient is named by its forward name with d in front; d(loss)/d(y) of a result y is dy. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

/* y (rows,out) = x (rows,in) w (in,out).
 * dx += dy w^T and dw += x^T dy. */
void mha_projection_forward(
    mha_real *y, const mha_real *x, const mha_real *w, size_t rows, size_t in, size_t out);
void mha_projection_backward(mha_real *dx, mha_real *dw, const mha_real *dy, const mha_real *x,
    const mha_real *w, size_t rows, size_t in, size_t out);

/* heads_out (B,h,L,d) = x (B,L,h*d), head r taken from columns r*d to (r+1)*d of each row.
 * The routine is a permutation of entries, so backward is its inverse: dx += dy moved back. */
void mha_split_heads_forward(mha_real *heads_out, const mha_real *x, size_t batch, size_t length,
    size_t heads, size_t head_width);
void mha_split_heads_backward(mha_real *dx, const mha_real *dheads_out, size_t batch, size_t length,
    size_t heads, size_t head_width);

/* y (B,L,h*d) = heads_in (B,h,L,d): the heads side by side again, the inverse of split. */
void mha_combine_heads_forward(mha_real *y, const mha_real *heads_in, size_t batch, size_t length,
    size_t heads, size_t head_width);
void mha_combine_heads_backward(mha_real *dheads_in, const mha_real *dy, size_t batch,
    size_t length, size_t heads, size_t head_width);

/* scores (B,h,T,S): scores[t,s] = q[t] . k[s], unscaled, of q (B,h,T,d) and k (B,h,S,d).
 * dq[t] += sum_s dscores[t,s] k[s] and dk[s] += sum_t dscores[t,s] q[t] over the
 * pairs that the mask allows; dscores must be 0 at the others. */
void mha_scores_forward(
    mha_real *scores, const mha_real *q, const mha_real *k, const mha_shape *shape);
void mha_scores_backward(mha_real *dq, mha_real *dk, const mha_real *dscores, const mha_real *q,
    const mha_real *k, const mha_mask *mask, const mha_shape *shape);

/* scaled (B,h,T,S) = scores / sqrt(d); dscores += dscaled / sqrt(d). */
void mha_scale_forward(mha_real *scaled, const mha_real *scores, const mha_shape *shape);
void mha_scale_backward(mha_real *dscores, const mha_real *dscaled, const mha_shape *shape);

/* masked (B,h,T,S) = scaled where the mask allows, -infinity where it blocks: a selection, so that
 * what stands at a blocked pair reaches neither the result nor, backward, the gradient. */
void mha_mask_forward(
    mha_real *masked, const mha_real *scaled, const mha_mask *mask, const mha_shape *shape);
void mha_mask_backward(
    mha_real *dscaled, const mha_real *dmasked, const mha_mask *mask, const mha_shape *shape);

/* weights (B,h,T,S): each row is exp(x - m) * (1 / sum of exp(x - m)) over the keys that the mask
 * allows, m their maximum, and exactly 0 elsewhere. A row without an allowed key is 0 throughout,
 * by the mask and whatever the values are. exp below the smallest normal number counts as 0.
 * dmasked[s] += w[s] (dw[s] - sum_r w[r] dw[r]) at allowed keys; blocked keys are not touched.
 * Shifted form: Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax
 * functions", IMA J. Numer. Anal. 41 (2021). */
void mha_softmax_forward(
    mha_real *weights, const mha_real *masked, const mha_mask *mask, const mha_shape *shape);
void mha_softmax_backward(mha_real *dmasked, const mha_real *dweights, const mha_real *weights,
    const mha_mask *mask, const mha_shape *shape);

/* context (B,h,T,d): context[t] = sum_s weights[t,s] v[s] over the keys that the mask allows,
 * v (B,h,S,d); weights must be 0 at blocked pairs.
 * dweights[t,s] += dcontext[t] . v[s] and dv[s] += sum_t weights[t,s] dcontext[t] over the
 * queries that may see key s. */
void mha_context_forward(mha_real *context, const mha_real *weights, const mha_real *v,
    const mha_mask *mask, const mha_shape *shape);
void mha_context_backward(mha_real *dweights, mha_real *dv, const mha_real *dcontext,
    const mha_real *weights, const mha_real *v, const mha_mask *mask, const mha_shape *shape);

/* Scaled dot-product attention: scores, scale, mask, softmax and context in a row (Vaswani et al.,
 * "Attention is all you need", 2017, equation 1), for all heads.
 *   context (B,h,T,d)  written
 *   weights (B,h,T,S)  written; backward reads them
 *   q (B,h,T,d), k and v (B,h,S,d)
 *   scratch (2,B,h,T,S)  overwritten, forward and backward
 * dq, dk, dv are added to; backward also reads what forward was given. */
void mha_attention_forward(mha_real *context, mha_real *weights, mha_real *scratch,
    const mha_real *q, const mha_real *k, const mha_real *v, const mha_mask *mask,
    const mha_shape *shape);
void mha_attention_backward(mha_real *dq, mha_real *dk, mha_real *dv, mha_real *scratch,
    const mha_real *dcontext, const mha_real *weights, const mha_real *q, const mha_real *k,
    const mha_real *v, const mha_mask *mask, const mha_shape *shape);
