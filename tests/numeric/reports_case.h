/* One call of the layer with all its arrays, for tests on inputs that have gone wrong in practice.
 * Included after "base/real.h". */
#ifndef TESTS_NUMERIC_REPORTS_CASE_H
#define TESTS_NUMERIC_REPORTS_CASE_H

#include <check.h>

#include <mha/gradcheck.h>

#include "count.h"
#include "wing.h"

#define layer_case          MHA_NAME(layer_case)
#define leaf                MHA_NAME(leaf)
#define open_case           MHA_NAME(open_case)
#define close_case          MHA_NAME(close_case)
#define set_identity        MHA_NAME(set_identity)
#define set_uniform         MHA_NAME(set_uniform)
#define set_numbers         MHA_NAME(set_numbers)
#define draw_case           MHA_NAME(draw_case)
#define case_weights        MHA_NAME(case_weights)
#define try_forward         MHA_NAME(try_forward)
#define try_backward        MHA_NAME(try_backward)
#define run_forward         MHA_NAME(run_forward)
#define run_backward        MHA_NAME(run_backward)
#define leaves_of           MHA_NAME(leaves_of)
#define clear_gradients     MHA_NAME(clear_gradients)
#define attention_of        MHA_NAME(attention_of)
#define assert_numbers      MHA_NAME(assert_numbers)
#define assert_near         MHA_NAME(assert_near)
#define assert_zeros        MHA_NAME(assert_zeros)
#define assert_same_bits    MHA_NAME(assert_same_bits)
#define assert_same_results MHA_NAME(assert_same_results)
#define assert_reference    MHA_NAME(assert_reference)
#define assert_refused      MHA_NAME(assert_refused)
#define check_gradients     MHA_NAME(check_gradients)
#define assert_gradients    MHA_NAME(assert_gradients)

/* Of a result against the reference, relative to the norm of its block. */
#define CASE_TOLERANCE (MHA_PRECISION == 32 ? 2e-5 : 1e-12)

typedef struct layer_case {
    mha_shape shape;
    const mha_mask *mask; /* NULL without one */
    mha_real *query;      /* (B,T,D) */
    mha_real *source;     /* (B,S,D); NULL: self-attention */
    mha_real *weights;    /* (4,D,D) */
    mha_real *output, *doutput, *dx_query;
    mha_real *dx_source; /* NULL: self-attention */
    mha_real *dweights;  /* (4,D,D) */
    mha_layer *layer;    /* of the wing in use */
    mha_tape *tape;
    mha_real *computed; /* (B,h,T,S): attention weights that the tape does not hold */
    mha_error error;    /* of the last try */
} layer_case;

/* Inputs are 0, the output is NaN, doutput is 1 (the loss is the sum of all outputs), gradients are
 * 0. Every array is allocated by itself, as long as it has to be. */
void open_case(layer_case *c, mha_shape shape, bool self_attention);
void close_case(layer_case *c);

void set_identity(layer_case *c); /* all four matrices */
void set_uniform(layer_case *c);  /* Wq = Wk = 0, Wv = Wo = identity: plain means */
void set_numbers(mha_real *to, const wide *from, size_t count);
void draw_case(
    layer_case *c, uint64_t seed); /* inputs and doutput N(0,1), weights N(0,1)/sqrt(D) */
mha_weights case_weights(const layer_case *c);

mha_status try_forward(layer_case *c);
mha_status try_backward(layer_case *c);
void run_forward(layer_case *c);  /* has to succeed */
void run_backward(layer_case *c); /* likewise */
void clear_gradients(layer_case *c);

/* What gradients may be asked for: query, source (not in self-attention), wq, wk, wv, wo. */
enum { CASE_LEAVES = 6 };
typedef struct leaf {
    mha_value_shape shape;
    mha_real *values, *gradient;
} leaf;
size_t leaves_of(leaf leaves[CASE_LEAVES], const layer_case *c);

const mha_real *attention_of(const layer_case *c); /* (B,h,T,S); NULL before a pass */

/* expected holds numbers that are right to within rounding, an absolute error; that of the
 * precision is added. */
void assert_numbers(
    const char *name, const mha_real *x, const wide *expected, size_t count, wide rounding);
/* |x - expected| <= tolerance * norm of expected */
void assert_near(
    const char *name, const mha_real *x, const wide *expected, size_t count, wide tolerance);
void assert_zeros(const char *name, const mha_real *x, size_t count); /* exactly 0 */
void assert_same_bits(const char *name, const mha_real *a, const mha_real *b, size_t count);
/* Output, attention weights and gradients of two cases of one shape. */
void assert_same_results(const layer_case *a, const layer_case *b);

/* Output, attention weights and gradients (of one backward pass) against the reference. */
void assert_reference(const layer_case *c);

/* What was tried returned this status and a text that contains this one, on one line. */
void assert_refused(const layer_case *c, mha_status returned, mha_status status, const char *text);

#if MHA_PRECISION == 64
/* Finite differences of all leaves; bit i of zero_expected declares the gradient of leaf i zero.
 * Returns the number of leaves. */
size_t check_gradients(mha_gradcheck_report reports[CASE_LEAVES], layer_case *c,
    unsigned zero_expected, const mha_gradcheck_options *options);
#endif

/* Forward and backward against the reference and, in double, against finite differences. */
void assert_gradients(layer_case *c, unsigned zero_expected);

#endif
