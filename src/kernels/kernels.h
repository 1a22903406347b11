/* The inner loops, compiled from one source for each instruction set that the library knows, and
 * picked when it runs. Everything in src/kernels/ but select.c is compiled once for each precision
 * and instruction set; MHA_KERNEL names the set (baseline, v3, v4) and is part of every symbol. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/real.h"
#include "base/wide_sum.h"

#define kernels          MHA_NAME(kernels)
#define kernels_get      MHA_NAME(kernels_get)
#define kernels_for      MHA_NAME(kernels_for)
#define kernels_baseline MHA_NAME(kernels_baseline)
#define kernels_v3       MHA_NAME(kernels_v3)
#define kernels_v4       MHA_NAME(kernels_v4)

#define operand         MHA_NAME(operand)
#define product         MHA_NAME(product)
#define product_start   MHA_NAME(product_start)
#define attend_head     MHA_NAME(attend_head)
#define attend_forward  MHA_NAME(attend_forward)
#define attend_backward MHA_NAME(attend_backward)
#define sgd_factors     MHA_NAME(sgd_factors)
#define sgd_entry       MHA_NAME(sgd_entry)
#define sgd_updated     MHA_NAME(sgd_updated)

/* Names of what is compiled for each instruction set. */
#define KERNEL_JOIN(set, name) MHA_NAME(set##_##name)
#define KERNEL_SET(set, name)  KERNEL_JOIN(set, name)
#define KERNEL_NAME(name)      KERNEL_SET(MHA_KERNEL, name)

/* Entry (r,c) of an operand stands at at[r * row_step + c * column_step]; one of the steps is 1. */
typedef struct operand {
    const mha_real *at;
    size_t row_step, column_step;
} operand;

/* How a product treats what C holds. */
typedef enum product_start {
    PRODUCT_OVERWRITE, /* C = A B */
    PRODUCT_CONTINUE,  /* C += A B: each sum starts from C and runs through k in ascending order */
    PRODUCT_ADD /* C += A B: chunks of PRODUCT_CHUNK k are summed by themselves and added in turn:
                          a long sum loses less this way */
} product_start;

enum {
    PRODUCT_CHUNK = 128,
    PACKED_COLUMNS = 128, /* columns of B that a chunk of A^T B packs at a time */
    COPIED_ROWS = 48,     /* and rows of C for which A^T is copied: nearly in the first cache */
    MOST_PANEL = 64       /* the widest panel */
};

/* C (M,N), row-major with rows ldc apart, of A (M,K) and B (K,N). The steps of A and of B: one of
 * the two is 1, and for A^T, where the row step of A is, the column step of B is 1 too. */
typedef struct product {
    mha_real *c;
    size_t ldc;
    operand a, b;
    size_t M, N, K;
    product_start start;
    mha_real *scratch; /* product_scratch numbers for A^T, else not used */
} product;

static inline size_t product_scratch(size_t N, size_t K) {
    const size_t columns = (N + MOST_PANEL - 1) / MOST_PANEL * MOST_PANEL;
    return (K < PRODUCT_CHUNK ? K : PRODUCT_CHUNK) *
           ((columns < PACKED_COLUMNS ? columns : PACKED_COLUMNS) + COPIED_ROWS);
}

/* One head h of one sample b. Row t of q, k, v starts `stride` numbers behind row t - 1. */
typedef struct attend_head {
    const mha_real *q, *k, *v;
    size_t stride;
    const mha_mask *mask;
    const mha_shape *shape;
    size_t b, h;
} attend_head;

enum {
    ATTEND_ROWS = 48,  /* queries of a tile: a multiple of every TILE_ROWS */
    ATTEND_KEYS = 64,  /* keys of a tile of backward: a multiple of every TILE_COLUMNS */
    ATTEND_VECTOR = 16 /* the most numbers of a vector */
};

/* From one row of scores to the next: whole tiles, off the multiples of 4 KiB. */
static inline size_t attend_score_stride(size_t S) {
    return (S + 63) / 64 * 64 + 16;
}

/* Forward of queries first .. first + rows - 1 of one head. */
typedef struct attend_forward {
    attend_head head;
    size_t first, rows;
    mha_real *context;                       /* (T) rows, stride apart */
    mha_real *weights;                       /* (T,S) or NULL */
    mha_real *row_maximum, *row_inverse_sum; /* (T), or NULL */
    mha_real *scratch;                       /* attend_forward_scratch numbers */
} attend_forward;

/* Backward through keys first .. first + keys - 1 of one head, a multiple of ATTEND_KEYS but for the
 * last. Rows of all are stride apart; NULL is not wanted. */
typedef struct attend_backward {
    attend_head head;
    size_t first, keys;
    mha_real *dq, *dk, *dv;                        /* (T), (S), (S): added to, */
    bool fresh_queries, fresh_keys;                /* or written: dq, and dk and dv */
    const mha_real *dcontext, *context;            /* (T) */
    const mha_real *weights;                       /* (T,S), or NULL and then the two below */
    const mha_real *row_maximum, *row_inverse_sum; /* (T) */
    mha_real *scratch;                             /* attend_backward_scratch numbers */
} attend_backward;

/* A row of a head in whole vectors. */
static inline size_t attend_padded_width(size_t d) {
    return (d + ATTEND_VECTOR - 1) / ATTEND_VECTOR * ATTEND_VECTOR;
}

static inline size_t attend_forward_scratch(size_t S, size_t d) {
    return (ATTEND_ROWS + d) * attend_score_stride(S) +
           (S + (size_t)2 * ATTEND_ROWS) * attend_padded_width(d);
}

static inline size_t attend_backward_scratch(size_t T, size_t d) {
    return T + ATTEND_VECTOR + 3 * (T + ATTEND_KEYS) * attend_padded_width(d) +
           (size_t)2 * ATTEND_KEYS * (d + ATTEND_ROWS);
}

/* The options of a step of gradient descent in the precision of the weights. */
typedef struct sgd_factors {
    mha_real clip; /* k = min(1, clip / norm) */
    mha_real decay, momentum, rate;
    bool nesterov;
} sgd_factors;

typedef struct sgd_entry {
    mha_real weight, velocity;
} sgd_entry;

/* g = k dw + decay w;   v = momentum v + g;   w -= lr (nesterov ? g + momentum v : v) */
static inline sgd_entry sgd_updated(
    mha_real weight, mha_real velocity, mha_real gradient, const sgd_factors *f) {
    const mha_real g = f->clip * gradient + f->decay * weight;
    const mha_real v = f->momentum * velocity + g;
    const mha_real w = weight - f->rate * (f->nesterov ? g + f->momentum * v : v);
    return (sgd_entry){w, v};
}

typedef struct kernels {
    void (*multiply)(const product *p);
    void (*transpose)(mha_real *y, const mha_real *x, size_t rows, size_t columns);
    void (*attend_forward)(const attend_forward *task);
    void (*attend_backward)(const attend_backward *task);
    void (*add_squares)(wide_sum *sum, const mha_real *x, size_t count); /* sum += x^2 */
    /* sum += (x - y)^2, dx += factor (x - y) unless dx is NULL, of the rows that count: counted (rows) is
     * not 0 there, or NULL for all */
    void (*add_errors)(wide_sum *sum, mha_real *dx, const mha_real *x, const mha_real *y,
        mha_real factor, const unsigned char *counted, size_t rows, size_t features);
    /* Whether no weight and no velocity would become NaN or infinite, and the update of all. */
    bool (*sgd_stays_finite)(const mha_real *weights, const mha_real *velocity,
        const mha_real *gradients, size_t count, const sgd_factors *factors);
    void (*sgd_update)(mha_real *weights, mha_real *velocity, const mha_real *gradients,
        size_t count, const sgd_factors *factors);
    mha_real (*fma_burst)(double *operations, size_t rounds);
} kernels;

extern const kernels kernels_baseline, kernels_v3, kernels_v4;

/* Those for this processor, or the ones that MHA_ISA forces. */
const kernels *kernels_get(void);

/* Those for a layer of a width: rows of no more than a vector or two of v4 go faster by v3, which gives
 * the same bits; but where MHA_ISA forces v4. */
const kernels *kernels_for(size_t width);

#endif
