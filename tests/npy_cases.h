/* The test cases of npy_suite. */
#ifndef TESTS_NPY_CASES_H
#define TESTS_NPY_CASES_H

#include <check.h>

TCase *npy_convert_case(void); /* the dtypes of files become those in memory */
TCase *npy_order_case(void);   /* Fortran order becomes C order */
TCase *npy_cost_case(void);    /* broken files cost little time and memory */

#endif
