/* The arrays that flow through the layer: inputs, weights and activations, in one table that is
 * walked for sizing, carving, printing, zeroing and checking. Precision-free. */
#ifndef MHA_VALUES_H
#define MHA_VALUES_H

#include <stddef.h>

#include <mha/declare.h>
#include <mha/shape.h>

MHA_DECLARATIONS_BEGIN

typedef enum mha_value {
    /* leaves: what a gradient may be asked for */
    MHA_QUERY,  /* (B,T,D) */
    MHA_SOURCE, /* (B,S,D) */
    MHA_WQ,     /* (D,D), (in,out), as the other three */
    MHA_WK,
    MHA_WV,
    MHA_WO,
    /* activations, each written by one stage */
    MHA_Q,                 /* (B,T,D) */
    MHA_K,                 /* (B,S,D) */
    MHA_V,                 /* (B,S,D) */
    MHA_Q_HEADS,           /* (B,h,T,d) */
    MHA_K_HEADS,           /* (B,h,S,d) */
    MHA_V_HEADS,           /* (B,h,S,d) */
    MHA_SCORES,            /* (B,h,T,S) q.k */
    MHA_SCALED,            /* (B,h,T,S) q.k / sqrt(d) */
    MHA_MASKED,            /* (B,h,T,S) -infinity at blocked pairs */
    MHA_ATTENTION_WEIGHTS, /* (B,h,T,S) */
    MHA_ROW_MAXIMUM,       /* (B,h,T) largest allowed q.k; 0 where there is none */
    MHA_ROW_INVERSE_SUM,   /* (B,h,T) 1 / sum of exp((q.k - maximum) / sqrt(d)); 0 likewise */
    MHA_CONTEXT_HEADS,     /* (B,h,T,d) */
    MHA_CONTEXT,           /* (B,T,D) */
    MHA_OUTPUT,            /* (B,T,D) */
    MHA_VALUE_COUNT
} mha_value;

enum {
    MHA_WEIGHT_COUNT = 4,      /* wq wk wv wo */
    MHA_FIRST_WEIGHT = MHA_WQ, /* the four weights stand together */
    MHA_VALUE_RANK = 4,        /* most axes a value has */
    MHA_STAGE_COUNT = 13       /* of mha_stages, the readable wing */
};

typedef struct mha_value_shape {
    const char *name; /* "query", "wq", "q_heads", ... */
    size_t rank;
    size_t dims[MHA_VALUE_RANK];
    char axes[MHA_VALUE_RANK + 1]; /* the letters of the axes, such as "BhTS" */
    size_t count;                  /* product of dims */
} mha_value_shape;

/* Name and sizes of a value under a shape that passed mha_shape_check. */
mha_value_shape mha_value_shape_of(mha_value value, const mha_shape *shape);

/* Its count, or its name, alone. */
size_t mha_value_count(mha_value value, const mha_shape *shape);
const char *mha_value_name(mha_value value);

MHA_DECLARATIONS_END
#endif
