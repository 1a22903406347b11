/* What claims are held against: this program's own gradients of the same arrays, in double. */
#ifndef TRAIN_COMMANDS_GRADCHECK_TRUTH_H
#define TRAIN_COMMANDS_GRADCHECK_TRUTH_H

#include "checks/marks/paths.h"
#include "gradcheck_claims.h"

struct truth {
    struct walk_leaves leaves;
    struct walk walk; /* forward, and backward from the file's grad_output */
    struct paths paths;
    const double *grad_output;
    bool self_attention;
    double *query; /* the gradient by the query, in self-attention of both streams */
    double
        output_error; /* of the file's output, relative to its largest; NaN: it holds none of that shape */
    bool context_is_query;
};

/* The input's arrays are double and stay alive. truth_destroy is to be called on failure too. */
mha_status truth_create(struct truth *made, const struct apply_input *input, mha_error *error);
void truth_destroy(struct truth *made);

/* Checks the backward pass on these very arrays, along directions: how far it is from differences, in units of
 * their error bars, and from the complex step. MHA_ERROR_NOT_FINITE, naming path and verdict, when that is too far,
 * as for numbers that overflow. */
mha_status truth_vouch(double *by_differences, double *by_complex, const struct truth *truth,
    const char *path, mha_error *error);

/* The gradient by the query of a walk, of both streams in self-attention. */
void join_streams(double *query, const struct walk *walk, bool self_attention);

/* A walk's gradient by the value; query is what join_streams made. */
const double *truth_gradient(const struct walk *walk, const double *query, mha_value value);

#endif
