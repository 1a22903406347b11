/* Runs every suite; the exit status is 0 only when all passed. */
#include <stdlib.h>

#include "suites.h"

int main(void) {
    Suite *(*const suites[])(void) = {SUITES(SUITE_ENTRY) NUMERIC_SUITES(NUMERIC_SUITE_ENTRY)};
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        srunner_add_suite(runner, suites[i]());
    }
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
