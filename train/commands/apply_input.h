/* What `mha apply` reads: the arrays of one pass, checked against each other. */
#ifndef TRAIN_COMMANDS_APPLY_INPUT_H
#define TRAIN_COMMANDS_APPLY_INPUT_H

#include <stdbool.h>

#include <mha/layouts.h>

#include "arrays.h"
#include "compute.h"

struct apply_request {
    const char *input;    /* file of the arrays */
    const char *output;   /* file to write */
    const char *weights;  /* file of the weights; NULL: the input holds them */
    mha_layout_hint hint; /* what the options say about the weights */
    mha_causal causal;
    struct compute_options compute;
    size_t max_bytes;
    bool in_double; /* widen all arrays, whatever they are */
};

struct apply_input {
    mha_shape shape;
    mha_dtype dtype;   /* of every array below: MHA_FLOAT64 when any was double, else MHA_FLOAT32 */
    mha_array query;   /* (B,T,D) */
    mha_array context; /* (B,S,D) */
    mha_array grad_output; /* (B,T,D) */
    bool has_context, has_gradient;
    bool own_weights; /* they stand in the same file */
    mha_weight_set weights;
    struct array_mask mask;
    mha_arrays *arrays;
    void *converted[3]; /* data of query, context and grad_output that are not the file's own */
};

/* Reads and checks. On failure *input holds nothing. */
mha_status apply_input_read(
    struct apply_input *input, const struct apply_request *request, mha_error *error);
void apply_input_free(struct apply_input *input);

/* Whether the input, which context is, was read from that array of the file. */
bool apply_input_reads(const void *context, const mha_array *array);

/* One line on standard error that names the arrays of the input file that nothing was read from. */
void apply_input_tell_left_out(
    const struct apply_input *input, const struct apply_request *request);

#endif
