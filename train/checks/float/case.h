/* Cases of float against double: a routine in float and, from the same inputs, the readable wing in double,
 * entry by entry in ulps of the entry's magnitude (float_magnitudes.h). */
#ifndef TRAIN_CHECKS_FLOAT_CASE_H
#define TRAIN_CHECKS_FLOAT_CASE_H

#include "checks/float/magnitudes.h"
#include "checks/subjects.h"
#include "routine_pass.h"

/* The result, and the gradients of all blocks. */
enum { FLOAT_REPORTS = 1 + CASE_BLOCKS, FLOAT_ARRAYS = 128 };

struct float_case {
    struct check_case inputs;     /* blocks and the result's gradient, rounded to float */
    struct routine_arrays call;   /* its result and gradients are what is judged */
    struct bounded_pass pass;     /* of the reference */
    struct bounded result;        /* as forward left it */
    double *arrays[FLOAT_ARRAYS]; /* owned */
    size_t array_count;
    bool out_of_memory;
};

/* The case with its reference; on failure nothing is left to destroy. */
mha_status float_case_create(struct float_case *made, const struct subject *subject,
    const struct check_plan *plan, mha_error *error);
void float_case_destroy(struct float_case *made);

/* One array. The entry is the worst, by how many times the bound it is off. */
struct float_report {
    const char *name; /* of the value, in a gradient without its d */
    bool is_gradient;
    size_t rank, index[MHA_VALUE_RANK];
    double error,
        bound; /* in ulps; a bound of 0 asks for the same number, infinity says that it is another */
    size_t entries;
    bool passed;
};

/* Judges what call.result and the gradients hold: one report for the result and one for each block. Returns
 * how many. */
size_t float_case_judge(struct float_report reports[FLOAT_REPORTS], const struct float_case *made);

/* Of several reports the one to show: the farthest off, by how many times the bound. */
size_t float_worst_report(const struct float_report *reports, size_t count);

/* For float_case.c: the reference of a loss, and its magnitudes. */
mha_status float_loss_reference(struct float_case *made, mha_error *error);

/* Zeros that the case owns; NULL sets out_of_memory. */
double *float_case_array(struct float_case *made, size_t count);

#endif
