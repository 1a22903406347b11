/* Routines that compute less exactly than their precision can, each in place of one stage of the layer.
 * Precision-free: numeric/float_faults.c defines them once for each precision. */
#ifndef TESTS_FLOAT_FAULTS_H
#define TESTS_FLOAT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/values.h>

typedef struct float_fault {
    const char *name;
    mha_value result;  /* of the stage that is exchanged */
    const char *fails; /* the arrays of that stage, alone, that are off; gradients with their d */
    bool in_layer;     /* seen in the results of the whole layer too */
} float_fault;

enum { FLOAT_FAULTS = 12 };

extern const float_fault mha_f32_float_faults[FLOAT_FAULTS], mha_f64_float_faults[FLOAT_FAULTS];

/* mha_stages with fault i in it; the table is overwritten by the next call. */
const void *mha_f32_float_fault_stages(size_t i);
const void *mha_f64_float_fault_stages(size_t i);

#endif
