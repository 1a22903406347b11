/* The layer in plain loops, forward and backward, in float and in double: what somebody else's program computes,
 * with mistakes where they are asked for. Shares nothing with the layer. */
#ifndef TESTS_NAIVE_PASS_H
#define TESTS_NAIVE_PASS_H

#include <stdbool.h>

#include <mha/shape.h>

enum { NAIVE_LEAVES = 6 }; /* query, source, wq, wk, wv, wo */

struct naive_pass {
    mha_shape shape;
    const double *leaf[NAIVE_LEAVES]; /* the source that of self-attention too */
    const double *grad_output;
    /* Which pairs are seen, (B,h,T,S): forward, by the softmax's backward, and by that of the values. */
    const unsigned char *seen, *seen_by_softmax, *seen_by_values;
    double scale, scale_back;
    bool without_row_term;
    bool exchanges_key_and_value;   /* dK and dV, before they are projected */
    double *gradient[NAIVE_LEAVES]; /* written */
};

void mha_f32_naive_pass(const struct naive_pass *pass);
void mha_f64_naive_pass(const struct naive_pass *pass);

#endif
