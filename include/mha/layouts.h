/* The four weight matrices in files, in the orders that different programs use (libmha_io).
 *
 *   lesson        wq wk wv wo                      each (D,D), (in,out): q = x @ wq. This library's own
 *   torch         in_proj_weight, out_proj.weight  (3D,D) with the rows of q, k, v in turn, and (D,D),
 *                 both (out,in): the state of torch.nn.MultiheadAttention(D, h, bias=False)
 *   torch-linear  q_proj.weight k_proj.weight v_proj.weight out_proj.weight  each (D,D), (out,in), as
 *                 torch.nn.Linear keeps them; o_proj.weight in place of out_proj.weight is read too
 *   combined      w_qkv, w_o                       (D,3D) with the columns of q, k, v in turn, and
 *                 (D,D), both (in,out)
 *
 * Names tell the layout. In torch and torch-linear a prefix such as "encoder.attention." may stand
 * before all names. A .safetensors file says layout and heads again in its metadata ("layout",
 * "heads"); a .npz file holds the number of heads as an integer `heads`, but for the torch layouts, whose
 * arrays must be those of the module alone.
 * Four square matrices under other common names (Wq, w_q, W_q, W_Q, q, wq.weight and the like) are
 * found too, but such names do not tell (in,out) from (out,in): the layout must then be named.
 *
 * This layer has no biases: one that stands beside the weights, behind the same prefix (in_proj_bias,
 * q_proj.bias, bq, b_q, bias_q, q_bias, q.bias, b_qkv and the like), is left out when it is all zero
 * and refused otherwise. */
#ifndef MHA_LAYOUTS_H
#define MHA_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/declare.h>
#include <mha/io.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

typedef enum mha_layout {
    MHA_LAYOUT_UNKNOWN, /* to be told by the names */
    MHA_LAYOUT_LESSON,
    MHA_LAYOUT_TORCH,
    MHA_LAYOUT_TORCH_LINEAR,
    MHA_LAYOUT_COMBINED,
    MHA_LAYOUT_COUNT
} mha_layout;

/* "lesson", "torch", "torch-linear", "combined"; "unknown" */
const char *mha_layout_name(mha_layout layout);
/* False when no layout has that name. */
bool mha_layout_from_name(mha_layout *layout, const char *name);

/* The four matrices, in the lesson's order whatever the file had. */
typedef struct mha_weight_set {
    mha_dtype dtype;           /* MHA_FLOAT32, or MHA_FLOAT64 when any of the weights is double */
    size_t width;              /* D */
    size_t heads;              /* 0 when the file does not say */
    mha_layout layout;         /* of the file */
    char *prefix;              /* before the names in the file, "" when there is none */
    void *matrices;            /* (4,D,D): wq wk wv wo, (in,out) */
    const mha_array *taken[4]; /* the arrays of the file that held them, NULL behind the last */
} mha_weight_set;

/* What mha_weight_set_take is told; zero-initialised is nothing. */
typedef struct mha_layout_hint {
    mha_layout layout;  /* MHA_LAYOUT_UNKNOWN: the names tell */
    const char *prefix; /* NULL: found in the names */
    size_t heads;       /* 0: the file tells. Refused when the file says another number */
} mha_layout_hint;

/* Copies the weights out of arrays, which were read from the file at path (for messages). Refused
 * with MHA_ERROR_FORMAT are a layout that the names do not tell or tell twice (asking for one), one
 * that the metadata contradict, several prefixes (listing them), missing matrices, shapes that are
 * not square or do not fit together, numbers that are not floating, and biases that are not zero;
 * MHA_ERROR_SHAPE when width is not divisible by the heads. On failure *set holds nothing. */
mha_status mha_weight_set_take(mha_weight_set *set, const mha_arrays *arrays, const char *path,
    const mha_layout_hint *hint, mha_error *error);
void mha_weight_set_free(mha_weight_set *set);

/* Whether the array is one of those that held the weights; the arrays of the file are still there. */
bool mha_weight_set_holds(const mha_weight_set *set, const mha_array *array);

/* Writes the four matrices to path, .npz or .safetensors as it ends, in a layout, with prefix (NULL
 * or "" for none; MHA_ERROR_ARGUMENT where the layout has no prefixes) before each name. heads is
 * needed (MHA_ERROR_ARGUMENT when it is 0) but for the two torch layouts. No bit of a number changes. */
mha_status mha_weight_set_write(const char *path, const mha_weight_set *set, mha_layout layout,
    const char *prefix, mha_error *error);

MHA_DECLARATIONS_END
#endif
