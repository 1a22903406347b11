/* Multi-head attention with four trainable matrices and no biases.
 * Reached through <mha/mha32.h> or <mha/mha64.h>.
 *
 *   Q = X_q Wq, K = X_s Wk, V = X_s Wv, each read as h heads of width d = D/h side by side;
 *   per head P = softmax(mask(Q K^T / sqrt(d))), context C = P V;
 *   the contexts side by side again: Y = C Wo.
 * (Vaswani et al., "Attention is all you need", 2017, section 3.2.2, without biases.)
 *
 * Order of work: create a layer and a tape, then forward, backward, update, as often as wanted.
 * Forward and backward allocate nothing. One layer or tape serves one thread at a time. */
#ifndef MHA_NAME
#error "include <mha/mha32.h> (float) or <mha/mha64.h> (double)"
#endif

/* The four matrices, or their gradients: matrix[i] is (D,D) row-major, (in,out) order (q = x Wq),
 * i in the order wq wk wv wo. The memory belongs to the caller. A NULL gradient is not wanted. */
typedef struct mha_weights {
    mha_real *matrix[MHA_WEIGHT_COUNT];
} mha_weights;

/* The four matrices of one block (4,D,D): wq, wk, wv, wo, one behind the other. NULL gives NULLs. */
mha_weights mha_weights_view(mha_real *block, size_t width);

/* Writes N(0,1)/sqrt(D) into all four matrices, drawn in the order wq wk wv wo, row by row, in
 * double and then rounded: with default_rng(seed) the numbers of
 * default_rng(seed).normal(size=(D,D)) / numpy.sqrt(D), four times. */
void mha_weights_draw(const mha_weights *weights, mha_rng *rng, size_t width);

/* The same with numpy.random.seed(seed), in the handbook's way: the numbers of
 *   wqkv = numpy.random.randn(D, 3 * D) * numpy.sqrt(2 / D)
 *   wo = numpy.random.randn(D, D) * numpy.sqrt(2 / D)
 * where the columns of wqkv are those of wq, wk and wv in turn. */
void mha_weights_draw_handbook(const mha_weights *weights, mha_legacy_rng *rng, size_t width);

/* How a layer computes. All zeros, or NULL in its place: fused, stored, default threads. */
typedef struct mha_layer_options {
    mha_kernel kernel;
    mha_mode mode;
    size_t threads; /* 0: mha_default_threads() */
    /* NULL for the layer itself, or a table that replaces mha_stages (stages.h), which the caller
     * keeps alive: so a test exchanges one stage for another. For MHA_KERNEL_REFERENCE only. */
    const mha_stage *stages;
} mha_layer_options;

/* A layer: a table of stages and the scratch memory that forward and backward need. */
typedef struct mha_layer mha_layer;

/* Makes a layer for every shape that is, axis by axis, no larger than largest and has its width and
 * heads. On failure *layer is NULL: MHA_ERROR_SHAPE, _SIZE, _MEMORY, or _ARGUMENT for options that
 * do not go together, a table that does not have the order of mha_stages, or an MHA_ISA that cannot
 * be (mode.h). Destroying a layer ends the passes that tapes hold of it. */
mha_status mha_layer_create(mha_layer **layer, const mha_shape *largest,
    const mha_layer_options *options, mha_error *error);
void mha_layer_destroy(mha_layer *layer); /* NULL is allowed */

/* A tape: the activations that one forward pass saves for backward, in one block. kernel and mode of
 * the options say which, and must be those of the layers that it serves. MHA_ERROR_SHAPE, _SIZE,
 * _MEMORY or _ARGUMENT, and *tape is NULL then. */
typedef struct mha_tape mha_tape;

mha_status mha_tape_create(
    mha_tape **tape, const mha_shape *largest, const mha_layer_options *options, mha_error *error);
void mha_tape_destroy(mha_tape *tape); /* NULL is allowed */

/* The bytes of the saved activations of one pass, without allocating them: the sum of the entries
 * below. (A tape's block also holds up to 63 bytes of alignment for each.) MHA_ERROR_SHAPE, _SIZE,
 * _ARGUMENT. */
mha_status mha_tape_bytes(
    size_t *bytes, const mha_shape *shape, const mha_layer_options *options, mha_error *error);

/* The entries of a tape, by index from 0; beyond the last an entry of no bytes and no name. shape
 * must have passed mha_shape_check, and mha_layer_create or mha_tape_bytes the options. */
typedef struct mha_tape_entry {
    mha_value value;
    mha_value_shape shape;
    size_t bytes;
    unsigned long read_back_by; /* bit i: stage i of mha_stages_of reads it in backward */
} mha_tape_entry;

size_t mha_tape_entry_count(const mha_layer_options *options);
mha_tape_entry mha_tape_entry_at(
    size_t index, const mha_shape *shape, const mha_layer_options *options);

/* A saved activation of the pass on the tape, such as MHA_ATTENTION_WEIGHTS (B,h,T,S); it belongs
 * to the tape. NULL when the tape holds no pass or does not save that value. */
const mha_real *mha_tape_value(const mha_tape *tape, mha_value value);

/* output (B,T,D) is written, and the tape with it; both may hold anything before.
 *   query (B,T,D)   every row must be finite
 *   source (B,S,D)  NULL, or the query's own pointer with S = T: self-attention. Rows that no query
 *                   may see are never read and may hold anything, NaN included. (NULL with T != S is
 *                   a source without rows, where B S = 0.)
 *   mask            NULL allows every pair
 * Inputs may overlap each other, but not what is written.
 * The tape keeps the pointers query, source, mask (and its arrays) and the weights: all of them stay
 * alive and unchanged until the last backward. A refused call writes nothing, and what the tape
 * held stays. MHA_ERROR_SHAPE, _SIZE, _MASK, _STATE for a tape of another kernel or mode, or
 * _ARGUMENT for a missing or overlapping array. */
mha_status mha_forward(mha_real *output, mha_tape *tape, const mha_real *query,
    const mha_real *source, const mha_mask *mask, const mha_weights *weights, mha_layer *layer,
    const mha_shape *shape, mha_error *error);

/* ADDS the gradients of the pass on the tape; zeroing them is the caller's. The tape is only read,
 * so backward may be called again.
 *   dx_query (B,T,D), dx_source (B,S,D)  NULL is not wanted. In self-attention dx_query receives the
 *                   query, key and value paths, and dx_source is NULL or the same pointer. Two
 *                   streams may share one buffer when S = T; it then receives both.
 *   dweights        NULL, or a table whose NULL members are not wanted
 *   doutput (B,T,D) d(loss)/d(output); must be finite
 * MHA_ERROR_STATE when the tape holds no pass of this layer and shape, MHA_ERROR_ARGUMENT for a
 * missing or overlapping array. */
mha_status mha_backward(mha_real *dx_query, mha_real *dx_source, const mha_weights *dweights,
    const mha_real *doutput, const mha_tape *tape, mha_layer *layer, const mha_shape *shape,
    mha_error *error);
