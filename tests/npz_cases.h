/* The test cases of npz_suite, and one of reports_npy_suite. */
#ifndef TESTS_NPZ_CASES_H
#define TESTS_NPZ_CASES_H

#include <check.h>

TCase *npz_header_case(void);    /* headers of .npy members */
TCase *npz_refusal_case(void);   /* broken .npz files */
TCase *npz_directory_case(void); /* what their directories claim */
TCase *npz_limit_case(void);     /* how long and how many */
TCase *replace_case(void);       /* replacement of a file */
TCase *reports_npz_case(void);   /* names of members */

#endif
