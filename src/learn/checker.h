/* The gradient checker from inside: what a check keeps, and its two ways to a derivative. */
#ifndef LEARN_CHECKER_H
#define LEARN_CHECKER_H

#include <mha/gradcheck.h>
#include <mha/rng.h>

#define checker_count_entries   mha_checker_count_entries
#define checker_check_arguments mha_checker_check_arguments
#define checker_record          mha_checker_record
#define keep_values             mha_checker_keep_values
#define values_changed          mha_checker_values_changed
#define check_invariants        mha_checker_check_invariants
#define checker_make_room       mha_checker_make_room
#define checker_free            mha_checker_free
#define moved_weight            mha_moved_weight
#define difference_along        mha_difference_along
#define complex_step_along      mha_complex_step_along

/* One output that counts. */
typedef struct term {
    size_t output, entry;
    const double *value;
    double r;
    double first; /* what forward wrote at x */
    double ahead; /* and at x + step */
} term;

/* What a check keeps beside the caller's arrays. */
typedef struct checker {
    const mha_gradcheck_case *subject;
    const mha_gradcheck_options *options;
    mha_rng rng;
    term *terms; /* of L */
    size_t term_count;
    double magnitude; /* sum of |r y| */
    double *kept;     /* (most entries that are moved at once): their values */
    double *moves;    /* likewise: the steps they are moved by */
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

/* Refuses what cannot be checked. *outputs: numbers in all of them; *moved: most entries that are moved at
 * once. */
mha_status checker_check_arguments(size_t *outputs, size_t *moved,
    const mha_gradcheck_report *reports, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error);

/* outputs: numbers in all of them. moved: most entries that are moved at once. On failure too
 * checker_free is to be called. */
mha_status checker_make_room(checker *check, size_t outputs, size_t moved, mha_error *error);
void checker_free(checker *check);

/* report->index of an entry. */
void checker_record(mha_gradcheck_report *report, const mha_gradcheck_block *block, size_t entry);

/* Keeps the values of all blocks; whether the function changed some since, which are then put back, and every
 * block is called INPUTS_CHANGED. */
void keep_values(const checker *check);
bool values_changed(mha_gradcheck_report *reports, const checker *check);

/* When all blocks have been checked: calls the function at the unmoved values again, and gives the verdicts
 * NOT_REPEATED, NOT_ADDED and NOT_LINEAR. Gradients are then what the first call made them. */
void check_invariants(mha_gradcheck_report *reports, checker *check);

/* The derivatives of L along check->moves, which belong to `count` entries of x from x[0] on, entry i counting
 * moved_weight(check, i, unit). */

/* After the difference: the distance that entry i really had, in units. */
double moved_weight(const checker *check, size_t i, double unit);

/* *change = L(x + moves) - L(x - moves); x is put back to the same bits. false: forward failed, and *change
 * says nothing. */
bool difference_along(double *change, double *x, size_t count, checker *check);

/* *derivative by the complex step, for entries first .. first + count - 1 of block b, each by its moved
 * weight. false: forward_complex failed. */
bool complex_step_along(
    double *derivative, size_t b, size_t first, size_t count, double unit, checker *check);

#endif
