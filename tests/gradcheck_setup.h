/* What the tests of the gradient checker share: one example at a time, ready to be checked. */
#ifndef TESTS_GRADCHECK_SETUP_H
#define TESTS_GRADCHECK_SETUP_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include <mha/gradcheck.h>

#include "count.h"
#include "gradcheck_functions.h"

enum { ROWS = 3, BLOCKS = 2 };

/* An example as the checker sees it. Blocks are x and, where the example has it, w. */
typedef struct setup {
    model m;
    const example *example;
    int calls, failing_call; /* forward and backward counted together, from 1; 0 for none */
    mha_gradcheck_block blocks[BLOCKS];
    mha_gradcheck_output output;
    mha_gradcheck_case subject;
    mha_gradcheck_options options;
    mha_gradcheck_report reports[BLOCKS]; /* of x and w */
} setup;

extern setup under_test; /* made anew by every test */

/* x is drawn from N(0,1) and scaled; unscaled it holds a negative zero. */
void prepare_check(const example *chosen, size_t rows, double scale);

/* Runs the check, after which every value must have its bits back. */
void run_check(void);

void assert_check_verdict(size_t block, mha_gradcheck_verdict expected);
void assert_check_index(size_t block, size_t entry);
void assert_check_passes(void); /* every block */

/* The tests of check_gradcheck_limits.c and its siblings. */
TCase *gradcheck_limits(void);
TCase *gradcheck_ladder(void);
TCase *gradcheck_noise(void);
TCase *gradcheck_fooled(void);
TCase *gradcheck_order(void);
TCase *gradcheck_observer(void);
TCase *gradcheck_taylor(void);
TCase *gradcheck_complex(void);
TCase *gradcheck_invariants(void);

#endif
