/* The tests of mha gradcheck --case. */
#ifndef TESTS_CASE_CASES_H
#define TESTS_CASE_CASES_H

#include <check.h>

TCase *case_right(void);
TCase *case_wrong(void);
TCase *case_wrong_stages(void);
TCase *case_wrong_passes(void);
TCase *case_refusals(void);
TCase *case_told(void);

#endif
