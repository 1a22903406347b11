/* Long trials: runs that are killed, and disks that fill up. `make soak` runs them. */
#include <check.h>
#include <stdlib.h>

#include "folder.h"
#include "program.h"
#include "run_trials.h"

enum { KILLS = 200, TIMEOUT = 1200 };

static const char *const killed_runs[][14] = {
    {"mean", "--batch", "2", "--lr", "0.05", "--eval-every", "7", "--steps", "700"},
    {"reverse", "--batch", "4", "--eval-every", "50", "--steps", "400", "--nesterov"},
    {"teacher", "--batch", "4", "--eval-every", "13", "--steps", "500", "--schedule", "cosine",
        "--clip", "0.1", "--warmup", "50"},
};
enum { KILLED_RUNS = sizeof killed_runs / sizeof *killed_runs };

START_TEST(kills_leave_no_trace) {
    kill_at_random(killed_runs[_i], KILLS, 200 + (uint64_t)_i);
}
END_TEST

/* Every size at which another file or another row is the first that does not fit. */
START_TEST(full_disks_leave_what_was_saved) {
    for (size_t bytes = 50; bytes < 12000; bytes += bytes < 6000 ? 150 : 97) {
        fill_disk(WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                      "3", "--lr", "0.01", "--eval-every", "1", "--steps", "150"),
            bytes);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("soak");
    TCase *tests = tcase_create("runs");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, TIMEOUT);
    tcase_add_loop_test(tests, kills_leave_no_trace, 0, KILLED_RUNS);
    tcase_add_test(tests, full_disks_leave_what_was_saved);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
