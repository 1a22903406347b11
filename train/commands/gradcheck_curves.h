/* What a gradient check of the layer sees, as curves: the layer of fault_plan, right and with a fault. */
#ifndef TRAIN_COMMANDS_GRADCHECK_CURVES_H
#define TRAIN_COMMANDS_GRADCHECK_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/gradcheck.h>
#include <mha/shape.h>

struct fault;

enum { CURVE_STEPS = 50 };

/* The derivative of L by one entry. */
struct curve_entry {
    double numeric, estimate, complex_step; /* as mha_gradcheck_derivatives has them */
    double right, wrong;                    /* by backward, and by backward with the fault */
    double largest;                         /* |numeric| of its block */
    bool caught; /* wrong is farther from numeric than a check lets pass, or not finite */
};

struct check_curves {
    mha_shape shape;
    bool self_attention;
    /* One central difference at h = max(1, |x|) 2^-1, 2^-2, ...: its distance to the complex step, relative
     * to that. Here and below the median over the entries of wq whose derivative is not zero. */
    size_t weights; /* how many these are */
    double step[CURVE_STEPS], error[CURVE_STEPS];
    size_t best; /* where error is least */
    double truncation,
        rounding;        /* error is about truncation h^2 on one side, rounding / h on the other */
    double extrapolated; /* the distance of the checker's numeric, */
    double estimate;     /* its own estimate of that, */
    double agreement;    /* and the distance of backward */
    mha_gradcheck_taylor right, wrong;
    /* The remainder is about right_factor h^2, and wrong_factor h, where the orders are read; NaN without. */
    double right_factor, wrong_factor;
    struct curve_entry *entries; /* of all blocks, one behind the other */
    size_t count, caught;
};

/* On failure there is nothing to free. */
mha_status curves_create(
    struct check_curves *made, const struct fault *fault, uint64_t seed, mha_error *error);
void curves_free(struct check_curves *curves);

#endif
