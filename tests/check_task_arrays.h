/* The parts of the suite of the task arrays. */
#ifndef TESTS_CHECK_TASK_ARRAYS_H
#define TESTS_CHECK_TASK_ARRAYS_H

#include <check.h>

TCase *task_arrays_masks(void);
TCase *task_arrays_order(void);
TCase *task_arrays_files(void);
TCase *task_arrays_refusals(void);

#endif
