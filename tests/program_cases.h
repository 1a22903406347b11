/* Shared by the tests of the program. */
#ifndef TESTS_PROGRAM_CASES_H
#define TESTS_PROGRAM_CASES_H

#include <check.h>

#include "program.h"

/* A refusal: status 2, nothing on standard output, one line (argp adds its own on --help) that holds
 * the text, and an untouched folder. */
void assert_program_refuses(const char *const *words, const char *text);

/* Runs in the test's folder and must succeed. */
struct outcome run_well(const char *const *words);

/* A short run of the task reverse: 12 steps, logged at 0, 5, 10 and 12. */
struct outcome train_briefly(const char *folder, const char *seed);

void assert_json_holds(const char *name, const char *text);

TCase *program_gradcheck(void);
TCase *program_gradcheck_float(void);
TCase *program_runs(void);
TCase *program_kernels(void);
TCase *program_early_signals(void);
TCase *program_files(void);

#endif
