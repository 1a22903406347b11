/* Runs that are killed at random moments: the short form of what `make soak` does. */
#include "check_resume.h"
#include "folder.h"
#include "program.h"
#include "run_trials.h"

/* Steps of a millisecond or less, saved again and again. */
static const char *const runs[][12] = {
    {"mean", "--batch", "2", "--lr", "0.05", "--eval-every", "7", "--steps", "500"},
    {"reverse", "--batch", "4", "--eval-every", "50", "--steps", "300", "--nesterov"},
};
enum { RUNS = sizeof runs / sizeof *runs };

START_TEST(kills_leave_no_trace) {
    kill_at_random(runs[_i], 25, 100 + (uint64_t)_i);
}
END_TEST

TCase *resume_kills(void) {
    TCase *tests = tcase_create("kills");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_set_tags(tests, "fork long");
    tcase_add_loop_test(tests, kills_leave_no_trace, 0, RUNS);
    return tests;
}
