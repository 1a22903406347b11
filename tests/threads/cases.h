/* The test cases, one file each, and how they start a process of its own. */
#ifndef TESTS_THREADS_CASES_H
#define TESTS_THREADS_CASES_H

#include <check.h>

TCase *fork_case(void);
TCase *host_case(void);
TCase *nested_case(void); /* with the tag "nested" */
TCase *count_case(void);

/* Runs this program again with the name of a function of alone.h and the variables "NAME=value" in
 * its environment, which NULL ends, and none of OpenMP's besides. Fails the test unless the exit
 * status is 0. */
void run_alone(const char *name, const char *const *variables);

#define VARIABLES(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
