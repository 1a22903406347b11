/* The test cases of ops_suite, one file each. Included after "base/real.h". */
#ifndef TESTS_NUMERIC_OPS_CASES_H
#define TESTS_NUMERIC_OPS_CASES_H

#include <check.h>

#define matmul_case    MHA_NAME(matmul_case)
#define operator_case  MHA_NAME(operator_case)
#define softmax_case   MHA_NAME(softmax_case)
#define attention_case MHA_NAME(attention_case)

TCase *matmul_case(void);   /* the three products */
TCase *operator_case(void); /* what all operators have in common */
TCase *softmax_case(void);
TCase *attention_case(void); /* the stages in a row */

#endif
