/* The suite of the fused wing: against the readable wing, and for what its tiles, runs and modes must
 * not show. Threads are tests/threads, other processors tests/bits. */
#include "base/real.h"

#include "fused_cases.h"

#define fused_suite MHA_NAME(fused_suite)

Suite *fused_suite(void);

Suite *fused_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "fused (float)" : "fused (double)");
    suite_add_tcase(suite, fused_agrees_case());
    suite_add_tcase(suite, fused_bits_case());
    suite_add_tcase(suite, fused_memory_case());
    suite_add_tcase(suite, fused_gradients_case());
    suite_add_tcase(suite, fused_numbers_case());
    suite_add_tcase(suite, fused_hidden_case());
    suite_add_tcase(suite, fused_exp_case());
    return suite;
}
