/* Every operator of <mha/ops.h> behind one form, so that what they have in common is tested once.
 * Included after "base/real.h". */
#ifndef TESTS_NUMERIC_OPERATORS_H
#define TESTS_NUMERIC_OPERATORS_H

#include <stdbool.h>

#define operator MHA_NAME(test_operator)
#define operators MHA_NAME(test_operators)

enum { OPERATORS = 9, OPERATOR_INPUTS = 3 };

/* The values give the sizes. */
typedef struct operator{
    const char *name;
    mha_value result;
    size_t inputs;
    mha_value input[OPERATOR_INPUTS];
    bool exact; /* on whole numbers the gradients are added without rounding */
    void (*forward)(
        mha_real * y, const mha_real *const x[], const mha_mask *mask, const mha_shape *shape);
    /* y is what forward wrote. */
    void (*backward)(mha_real *const dx[], const mha_real *dy, const mha_real *y,
        const mha_real *const x[], const mha_mask *mask, const mha_shape *shape);
}
operator;

extern const operator operators[OPERATORS];

#endif
