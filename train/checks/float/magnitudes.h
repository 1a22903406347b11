/* What float may be off by, to first order: for each entry of each array a magnitude, carried along with
 * the exact values from stage to stage.
 *
 * With u = 2^-24, half an ulp, a sum of n products is off by at most n u sum |a||b|. An operand that is
 * itself off by up to c u R(a) adds c u R(a)|b|. So the magnitude of a product is
 *     R(sum a b) = sum (R(a)|b| + |a|R(b) + |a||b|),
 * with R = 0 for inputs, which are exact: then it is the sum of magnitudes, sum |a||b|. Every other stage
 * has a rule of the same kind, beside its code. Each rounding is counted once, at the magnitude at which
 * it happens; so an entry is off by at most the largest bound of any stage on the way, in ulps of 2^-23 R.
 * A copy adds nothing to R: copies of inputs are exact, with a bound of 0. */
#ifndef TRAIN_CHECKS_FLOAT_MAGNITUDES_H
#define TRAIN_CHECKS_FLOAT_MAGNITUDES_H

#include <mha/mha64.h>

/* One array: exact values, their magnitudes R, and the bound in ulps, the largest of any stage on the way.
 * terms counts what a gradient that several stages add to is a sum of. */
struct bounded {
    double *x, *magnitude, bound;
    size_t terms;
};

/* A run of stages under way. Arrays that no stage of the run reads or writes are NULL. */
struct bounded_pass {
    const mha_shape *shape;
    const mha_mask *mask;
    /* The fused wing's dP - delta has delta = sum dC C in place of sum P dP. */
    bool fused;
    struct bounded value[MHA_VALUE_COUNT], gradient[MHA_VALUE_COUNT];
};

/* The magnitudes of a stage's result, and those it adds to the gradients of its inputs. Values and
 * gradients have been computed. */
void float_forward_magnitudes(struct bounded_pass *pass, const mha_stage *stage);
void float_backward_magnitudes(struct bounded_pass *pass, const mha_stage *stage);

/* Bounds in ulps of n roundings, which are n/2 ulps in the worst case. They point both ways, so that many
 * of them come to sqrt(n) up to a factor (Higham and Mary, "A new approach to probabilistic rounding
 * error analysis", 2019), and to a constant where the terms do too, as partial sums are then short
 * (the same, "Sharper probabilistic backward error analysis for basic linear algebra kernels with random
 * data", 2020). Measured in the sweep over seeds 0 to 50, and at 400 terms over one or two:
 *     float_sum_bound       min(n/2, sqrt(n), 4)        terms of both signs; 1.6 for 6, 2.7 for 400
 *     float_softmax_bound   min(n/2, 2 + sqrt(n)/4)     of one sign, as a softmax has them; 1.0 and 2.9
 * Roundings that are fewer than five have their worst case. */
double float_sum_bound(size_t n);
double float_softmax_bound(size_t n);

#endif
