/* A block of entries, each of which has an output of its own: y_i = value(x_i). */
#ifndef TESTS_GRADCHECK_ENTRIES_H
#define TESTS_GRADCHECK_ENTRIES_H

#include <mha/gradcheck.h>

enum { ENTRIES_MOST = 5000 };

struct entries {
    double (*value)(double x);
    double (*slope)(double x); /* as backward has it */
    size_t count;
    double constant; /* one more output */
    double most;     /* what backward clips gradients of outputs to; 0: not */
    double x[ENTRIES_MOST], dx[ENTRIES_MOST], y[ENTRIES_MOST + 1], dy[ENTRIES_MOST + 1];
};

extern struct entries f;

mha_gradcheck_report check_entries(bool zero_expected, size_t entry_limit, uint64_t seed);

#endif
