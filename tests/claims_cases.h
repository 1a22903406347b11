/* The tests of claims about gradients: their marks, where they are wrong, and what rounding may do. */
#ifndef TESTS_CLAIMS_CASES_H
#define TESTS_CLAIMS_CASES_H

#include <check.h>

TCase *claims_places(void);
TCase *claims_suspects(void);
TCase *claims_located(void);
TCase *claims_rounding(void);

#endif
