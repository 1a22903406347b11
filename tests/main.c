/* Runs every suite; the exit status is 0 only when all passed. */
#include <stdlib.h>

#include "suites.h"

int main(void) {
    SRunner *runner = srunner_create(rng_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
