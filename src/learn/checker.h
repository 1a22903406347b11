/* The gradient checker from inside: what a check keeps, and its two ways to a derivative. */
#ifndef LEARN_CHECKER_H
#define LEARN_CHECKER_H

#include <mha/gradcheck.h>
#include <mha/rng.h>

#define checker_count_entries    mha_checker_count_entries
#define checker_check_arguments  mha_checker_check_arguments
#define checker_begin            mha_checker_begin
#define checker_evaluate         mha_checker_evaluate
#define checker_record           mha_checker_record
#define checker_record_numbers   mha_checker_record_numbers
#define checker_judge            mha_checker_judge
#define checker_zero             mha_checker_zero
#define keep_values              mha_checker_keep_values
#define put_values_back          mha_checker_put_values_back
#define values_changed           mha_checker_values_changed
#define keep_output_gradients    mha_checker_keep_output_gradients
#define output_gradients_changed mha_checker_output_gradients_changed
#define check_invariants         mha_checker_check_invariants
#define checker_free             mha_checker_free
#define extrapolate_difference   mha_extrapolate_difference
#define complex_step_along       mha_complex_step_along

/* One output that counts. */
typedef struct term {
    size_t output, entry;
    const double *value;
    double r;
    double first; /* what forward wrote at x */
    double ahead; /* and at x + step */
} term;

/* What a check needs room for. */
typedef struct checker_room {
    size_t outputs;  /* numbers in all of them */
    size_t moved;    /* most entries that are moved at once */
    size_t compared; /* most derivatives of a block */
} checker_room;

/* What a check keeps beside the caller's arrays. */
typedef struct checker {
    const mha_gradcheck_case *subject;
    const mha_gradcheck_options *options;
    mha_rng rng;
    term *terms; /* of L */
    size_t term_count;
    double magnitude; /* sum of |r y| */
    double *kept;     /* (most entries that are moved at once): their values */
    double *weights;  /* likewise: how far they move, in units of the step */
    /* (most derivatives of a block) */
    double *analytic, *numeric, *estimate, *complex_step;
    double *magnitude_moved; /* sum of |r y| over the outputs that moved */
    /* Of all blocks, one behind the other: their values, and what backward left on zeros. */
    double *values, *gradients;
    double *output_gradients; /* of all outputs */
    /* With forward_complex: its arguments, in one block of memory that blocks[0] begins. */
    mha_complex **complex_blocks, **complex_outputs;
    mha_complex *complex_numbers;
} checker;

/* Product of the dims; false when it does not fit. */
bool checker_count_entries(size_t *count, const mha_gradcheck_block *block);

/* The same, of a block that passed checker_check_arguments. */
static inline size_t checker_entries(const mha_gradcheck_block *block) {
    size_t count = 0;
    checker_count_entries(&count, block);
    return count;
}

/* Refuses what cannot be checked. */
mha_status checker_check_arguments(checker_room *room, const void *reports,
    const mha_gradcheck_case *subject, const mha_gradcheck_options *options, mha_error *error);

/* Takes memory and seeds the generator. On failure too checker_free is to be called. */
mha_status checker_begin(checker *check, const checker_room *room, mha_error *error);
void checker_free(checker *check);

/* Calls forward, draws r, gathers the terms of L, and calls backward on gradients of zero. Anything but
 * PASS holds for every block. */
mha_gradcheck_verdict checker_evaluate(checker *check);

/* report->index of an entry. */
void checker_record(mha_gradcheck_report *report, const mha_gradcheck_block *block, size_t entry);

/* Of a sum of magnitudes, what may be the rounding of a long computation. */
#define CHECKER_ROUNDING 0x1p-40

/* The same, and its derivative by each way. */
void checker_record_numbers(mha_gradcheck_report *report, const mha_gradcheck_block *block,
    size_t entry, double analytic, double numeric, double complex_step);

/* The verdict on block b, whose report->checked derivatives are all finite. */
void checker_judge(mha_gradcheck_report *report, const checker *check, size_t b);

/* The largest derivative by x that is rounding alone, of whatever the outputs are made of. */
double checker_zero(const checker *check, double x);

/* Keeps the values of all blocks; whether the function changed some since, which are then put back, and every
 * block is called INPUTS_CHANGED. */
void keep_values(const checker *check);
void put_values_back(const checker *check);
bool values_changed(mha_gradcheck_report *reports, const checker *check);

/* Keeps the gradients of the outputs; whether they are others since, which are then put back. */
void keep_output_gradients(const checker *check);
bool output_gradients_changed(const checker *check);

/* When all blocks have been checked: calls the function at the unmoved values again, and gives the verdicts
 * NOT_REPEATED, NOT_ADDED and NOT_LINEAR. Gradients are then what the first call made them. */
void check_invariants(mha_gradcheck_report *reports, checker *check);

/* The derivatives of L along check->weights, which belong to entries first .. first + count - 1 of block b. */

/* By differences: the estimate is of the value's error, the magnitude the sum of |r y| at x over outputs that moved
 * at some step. */
typedef struct derivative {
    double value, estimate, magnitude;
} derivative;

typedef enum derivative_status {
    DERIVATIVE_FOUND,
    DERIVATIVE_NOT_FINITE,
    DERIVATIVE_CALL_FAILED
} derivative_status;

/* *numeric by differences on a ladder of steps from 2^-4 * scale down, and *estimate of its error; an estimate
 * of at most `enough` of what agrees with the gradient ends the ladder. x is put back to the same bits. */
derivative_status extrapolate_difference(derivative *numeric, size_t b, size_t first, size_t count,
    double scale, double enough, checker *check);

/* *found by the complex step. */
derivative_status complex_step_along(
    double *found, size_t b, size_t first, size_t count, checker *check);

#endif
