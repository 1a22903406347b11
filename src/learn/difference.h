/* Differences of L along a direction, and their noise. */
#ifndef LEARN_DIFFERENCE_H
#define LEARN_DIFFERENCE_H

#include "learn/checker.h"

#define direction_slope mha_direction_slope
#define can_move        mha_direction_can_move
#define difference_at   mha_difference_at
#define measure_noise   mha_measure_noise

/* Entries of a block that move together, entry i by weights[i] times the step. */
typedef struct direction {
    double *x;
    const double *gradient, *weights;
    size_t count;
} direction;

/* A central difference, how much of it may be rounding, and the sum of |r y| over the outputs that moved, where they
 * were and at x. */
typedef struct difference {
    double value, rounding, magnitude, magnitude_here;
} difference;

/* What the gradient says of the derivative. */
double direction_slope(const direction *along);

/* Whether a step moves an entry, or of several nearly as far as it should. */
bool can_move(const direction *along, double step);

/* false: forward failed. x is put back. */
bool difference_at(difference *found, const direction *along, double step, const checker *check);

/* *noise, the standard deviation of L's own errors near x + offset, or 0 where L is not finite: from its sixth
 * differences at nine points about `spacing` apart, which of a smooth function are far below it (Hamming; Moré and
 * Wild, "Estimating computational noise", SIAM Journal on Scientific Computing 33(3), 2011). *size: sum of |r y|
 * there over the outputs that move; 0: none does. false: forward failed. x is put back. */
bool measure_noise(double *noise, double *size, const direction *along, double offset,
    double spacing, const checker *check);

#endif
