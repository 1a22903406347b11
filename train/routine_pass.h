/* One routine by itself, forward and backward, in float or double, on numbers handed over as doubles. */
#ifndef TRAIN_ROUTINE_PASS_H
#define TRAIN_ROUTINE_PASS_H

#include <stddef.h>
#include <stdint.h>

#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/shape.h>
#include <mha/status.h>
#include <mha/values.h>

enum routine {
    ROUTINE_STAGE, /* one of mha_stages */
    ROUTINE_ATTENTION, /* in the reference from heads apart, in the fused wing from heads side by side */
    ROUTINE_LAYER,
    ROUTINE_MSE,
    ROUTINE_CROSS_ENTROPY
};

/* Inputs are numbers of the precision that computes: they are converted without being asked. */
struct routine_arrays {
    enum routine routine;
    size_t stage;     /* of ROUTINE_STAGE, by its place */
    mha_value writes; /* the value that the result is; of a loss none */
    mha_kernel kernel;
    mha_mode mode;
    size_t threads;
    mha_shape shape;
    const mha_mask *mask;
    /* NULL, or a table of mha_stage of this precision in place of mha_stages: for stages, and for the
     * layer of the reference. */
    const void *stages;

    const double *value[MHA_VALUE_COUNT]; /* inputs; the others NULL */
    const double
        *read_back; /* what backward of a stage reads as its result; NULL: what forward wrote */
    const double *dresult;        /* NULL: forward alone. Losses take none */
    const double *target;         /* of mean squared error, (B,T,D) */
    const unsigned char *counted; /* (B,T) */
    const int32_t *labels;        /* of cross-entropy, (B,T,answers) */
    size_t answers, classes;

    double *result;                    /* one number of a loss */
    double *gradient[MHA_VALUE_COUNT]; /* of the inputs, written; the others NULL */
};

/* MHA_ERROR_MEMORY, or what workspaces and the layer refuse. */
mha_status routine_pass_f32(const struct routine_arrays *pass, mha_error *error);
mha_status routine_pass_f64(const struct routine_arrays *pass, mha_error *error);

#endif
