/* All suites, by floor. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

#define SUITES(X)                                                                                  \
    X(mask_suite)                                                                                  \
    X(rng_suite)                                                                                   \
    X(npz_suite)                                                                                   \
    X(gradcheck_suite)                                                                             \
    X(planted_suite)                                                                               \
    X(tasks_suite)                                                                                 \
    X(task_values_suite)                                                                           \
    X(words_suite)                                                                                 \
    X(letters_suite)                                                                               \
    X(trainer_suite)                                                                               \
    X(plot_suite)                                                                                  \
    X(program_suite)

/* Suites of tests/numeric/, which exist once a precision. */
#define NUMERIC_SUITES(X) X(learn_suite)

#define SUITE_DECLARE(name)         Suite *name(void);
#define NUMERIC_SUITE_DECLARE(name) Suite *mha_f32_##name(void), *mha_f64_##name(void);
SUITES(SUITE_DECLARE)
NUMERIC_SUITES(NUMERIC_SUITE_DECLARE)

#define SUITE_ENTRY(name)         name,
#define NUMERIC_SUITE_ENTRY(name) mha_f32_##name, mha_f64_##name,

#endif
