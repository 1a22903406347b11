/* All suites. A suite of tests/numeric/ exists once a precision. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

Suite *rng_suite(void);

#endif
