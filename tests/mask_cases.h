/* The test cases of mask_suite, one file each. */
#ifndef TESTS_MASK_CASES_H
#define TESTS_MASK_CASES_H

#include <check.h>

TCase *mask_refusals_case(void); /* what mha_mask_check refuses, and its texts */
TCase *sizes_case(void);         /* shapes, values, memory and size arithmetic */

#endif
