/* One call of the fused wing's attention by itself, with all its arrays.
 * Included after "base/real.h" and "arrays.h"; arrays_release frees it all. */
#ifndef TESTS_NUMERIC_FUSED_CALL_H
#define TESTS_NUMERIC_FUSED_CALL_H

#define fused_call          MHA_NAME(fused_call)
#define fused_call_new      MHA_NAME(fused_call_new)
#define fused_call_again    MHA_NAME(fused_call_again)
#define fused_call_forward  MHA_NAME(fused_call_forward)
#define fused_call_backward MHA_NAME(fused_call_backward)
#define fused_call_run      MHA_NAME(fused_call_run)
#define fused_call_count    MHA_NAME(fused_call_count)
#define fused_call_row      MHA_NAME(fused_call_row)
#define assert_calls_same   MHA_NAME(assert_calls_same)

typedef struct fused_call {
    mha_shape shape;
    const mha_mask *mask;
    mha_mode mode;
    mha_fused *fused;               /* one thread */
    mha_real *q, *k, *v, *dcontext; /* N(0,1) */
    mha_real *context;              /* NaN */
    mha_fused_weights saved;        /* NaN; those of the mode */
    mha_real *dq, *dk, *dv;         /* 0 */
} fused_call;

fused_call fused_call_new(
    const mha_shape *shape, const mha_mask *mask, mha_mode mode, uint64_t seed);

/* The same inputs, copied, in that mode; results anew. */
fused_call fused_call_again(const fused_call *c, mha_mode mode);

void fused_call_forward(const fused_call *c);
void fused_call_backward(const fused_call *c);
void fused_call_run(const fused_call *c); /* both */

size_t fused_call_count(const fused_call *c, mha_value value);

/* Of a (B,length,D) array: the d numbers of head h in row i of sample b. */
static inline size_t fused_call_row(
    const mha_shape *s, size_t length, size_t b, size_t i, size_t h) {
    return (b * length + i) * s->width + h * mha_head_width(s);
}

/* Context and gradients have the same bits. */
void assert_calls_same(const fused_call *actual, const fused_call *expected);

#endif
