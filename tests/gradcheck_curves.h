/* Functions of one number that are hard to differentiate by differences, and their exact slopes: blocks of
 * CURVE_ENTRIES random entries are checked by one of them. */
#ifndef TESTS_GRADCHECK_CURVES_H
#define TESTS_GRADCHECK_CURVES_H

#include <stddef.h>
#include <stdint.h>

#include <mha/gradcheck.h>

enum { CURVE_ENTRIES = 25 };

typedef struct curve {
    const char *name;
    double (*value)(double x);
    long double (*slope)(long double x);
    double (*draw)(double normal);   /* x, from N(0,1) */
    double fault;                    /* of the largest entry, relative, that must be seen */
    double (*wrong_slope)(double x); /* what backward has instead of slope; or NULL */
} curve;

/* Smooth, steep and kinked ones, computed in double precision. */
extern const curve curves[];
extern const size_t curve_count;

/* Ones with noise of their own, above that of double precision. */
extern const curve noisy_curves[];
extern const size_t noisy_curve_count;

/* What a check found. */
typedef struct curve_result {
    mha_gradcheck_report report;
    size_t largest;  /* entry of the gradient */
    double worst;    /* largest true error of a derivative, in units of what the checker allows */
    size_t calls;    /* of forward */
    size_t observed; /* blocks */
} curve_result;

/* Fails where a block of the curve, whose backward has wrong_slope, passes, or the error of a derivative is more than
 * what is allowed it. */
void assert_slope_fails(const curve *wrong, uint64_t seeds);

/* Checks one block, entry by entry, its largest gradient being off by a factor of 1 + fault. */
curve_result check_curve(const curve *of, uint64_t seed, double fault);

#endif
