/* Sums over many numbers, wide: WIDE_LANES partial sums in ascending order, and then one fixed tree. So
 * the order depends on the sizes alone. */
#ifndef BASE_WIDE_SUM_H
#define BASE_WIDE_SUM_H

#include "base/real.h"

enum { WIDE_LANES = 8 };

typedef struct wide_sum {
    wide lane[WIDE_LANES];
} wide_sum;

static inline wide wide_sum_total(const wide_sum *sum) {
    const wide *lane = sum->lane;
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

#endif
