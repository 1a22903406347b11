/* What the tests of losses and of descent share. Included after "base/real.h". */
#ifndef TESTS_NUMERIC_LEARN_CASES_H
#define TESTS_NUMERIC_LEARN_CASES_H

#include <check.h>

#define sgd_case MHA_NAME(sgd_case)

TCase *sgd_case(void);

static const mha_real not_a_number = (mha_real)NAN;

/* Relative to the larger of 1 and the expected value. */
static inline void assert_close(wide value, wide expected, size_t index) {
    const wide tolerance = (MHA_PRECISION == 32 ? 1e-6 : 1e-14) * fmax(1, fabs(expected));
    ck_assert_msg(fabs(value - expected) <= tolerance, "entry %zu is %.17g, not %.17g", index,
        value, expected);
}

#endif
