/* All suites, by floor. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

#define SUITES(X)                                                                                  \
    X(mask_suite)                                                                                  \
    X(isa_suite)                                                                                   \
    X(threads_suite)                                                                               \
    X(parity_suite)                                                                                \
    X(rng_suite)                                                                                   \
    X(legacy_rng_suite)                                                                            \
    X(npz_suite)                                                                                   \
    X(npy_suite)                                                                                   \
    X(safetensors_suite)                                                                           \
    X(layouts_suite)                                                                               \
    X(reports_npy_suite)                                                                           \
    X(reports_safetensors_suite)                                                                   \
    X(gradcheck_suite)                                                                             \
    X(reports_checker_suite)                                                                       \
    X(reports_training_suite)                                                                      \
    X(gradcheck_float_suite)                                                                       \
    X(planted_suite)                                                                               \
    X(tasks_suite)                                                                                 \
    X(task_values_suite)                                                                           \
    X(task_arrays_suite)                                                                           \
    X(words_suite)                                                                                 \
    X(letters_suite)                                                                               \
    X(trainer_suite)                                                                               \
    X(held_out_suite)                                                                              \
    X(train_arrays_suite)                                                                          \
    X(resume_suite)                                                                                \
    X(plot_suite)                                                                                  \
    X(bench_suite)                                                                                 \
    X(program_suite)                                                                               \
    X(init_suite)                                                                                  \
    X(convert_suite)                                                                               \
    X(claims_suite)                                                                                \
    X(case_suite)                                                                                  \
    X(apply_suite)                                                                                 \
    X(reports_layout_suite)

/* Suites of tests/numeric/, which exist once a precision. */
#define NUMERIC_SUITES(X)                                                                          \
    X(ops_suite)                                                                                   \
    X(layer_suite)                                                                                 \
    X(reports_suite)                                                                               \
    X(reports_masks_suite)                                                                         \
    X(reports_causal_suite)                                                                        \
    X(reports_numbers_suite)                                                                       \
    X(reports_backward_suite)                                                                      \
    X(reports_sizes_suite)                                                                         \
    X(reports_machine_suite)                                                                       \
    X(golden_suite)                                                                                \
    X(fused_suite)                                                                                 \
    X(learn_suite)                                                                                 \
    X(learn_sizes_suite)

#define SUITE_DECLARE(name)         Suite *name(void);
#define NUMERIC_SUITE_DECLARE(name) Suite *mha_f32_##name(void), *mha_f64_##name(void);
SUITES(SUITE_DECLARE)
NUMERIC_SUITES(NUMERIC_SUITE_DECLARE)

#define SUITE_ENTRY(name)         name,
#define NUMERIC_SUITE_ENTRY(name) mha_f32_##name, mha_f64_##name,

#endif
