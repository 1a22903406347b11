/* The test cases of fused_suite, one file each. Included after "base/real.h". */
#ifndef TESTS_NUMERIC_FUSED_CASES_H
#define TESTS_NUMERIC_FUSED_CASES_H

#include <check.h>

#define fused_agrees_case    MHA_NAME(fused_agrees_case)
#define fused_bits_case      MHA_NAME(fused_bits_case)
#define fused_memory_case    MHA_NAME(fused_memory_case)
#define fused_gradients_case MHA_NAME(fused_gradients_case)
#define fused_numbers_case   MHA_NAME(fused_numbers_case)
#define fused_hidden_case    MHA_NAME(fused_hidden_case)
#define fused_exp_case       MHA_NAME(fused_exp_case)

TCase *fused_agrees_case(void);    /* with the readable wing, and stored with tiled */
TCase *fused_bits_case(void);      /* modes, long rows, samples: the same bits */
TCase *fused_memory_case(void);    /* what memory held before, shapes that shrink and grow */
TCase *fused_gradients_case(void); /* adding, NULL, and attention by itself */
TCase *fused_numbers_case(void);   /* scores up to the largest number */
TCase *fused_hidden_case(void);    /* infinity and NaN, seen by some and blocked for others */
TCase *fused_exp_case(void);       /* the exponential, by the weights */

#endif
