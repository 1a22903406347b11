/* Files that cannot be written: a clear line, and what was saved before goes on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check_resume.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"
#include "run_trials.h"

/* A run whose log outgrows its checkpoint of 5 KB. */
static const char *const small_run[] = {"mean", "--width", "4", "--heads", "1", "--batch", "2",
    "--target-length", "3", "--lr", "0.01", "--eval-every", "1", "--steps", "150", NULL};

/* Header, first row, weights, checkpoint, and then the log at several lengths. */
START_TEST(full_disks_leave_what_was_saved) {
    static const size_t sizes[] = {50, 100, 1000, 3000, 6000, 7503};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill_disk(WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                      "3", "--lr", "0.01", "--eval-every", "1", "--steps", "100"),
            sizes[i]);
        ck_assert_int_eq(access(folder_path("run"), F_OK) == 0, sizes[i] > 5500);
    }
}
END_TEST

static void assert_resume_fails(size_t limit, const char *text) {
    struct outcome outcome = run_program_limited(folder_path(""),
        WORDS("train", "--resume", "-o", "run", "--quiet", "--steps", "150"), limit, false);
    ck_assert_msg(outcome.status == 2, "status %d: %s", outcome.status, outcome.err);
    ck_assert_msg(strstr(outcome.err, text) != NULL, "'%s' is not in: %s", text, outcome.err);
    ck_assert_ptr_eq(strchr(outcome.err, '\n'), strrchr(outcome.err, '\n'));
    outcome_free(&outcome);
}

static void exchange(const char *a, const char *b) {
    ck_assert_int_eq(rename(folder_path(a), folder_path("aside")), 0);
    ck_assert_int_eq(rename(folder_path(b), folder_path(a)), 0);
    ck_assert_int_eq(rename(folder_path("aside"), folder_path(b)), 0);
}

/* Each file in turn, when a run goes on. A folder in a file's place stands for what the system refuses. */
START_TEST(every_file_that_cannot_be_written_is_named) {
    train_in("whole", small_run);
    train_in("run", WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                        "3", "--lr", "0.01", "--eval-every", "1", "--steps", "90"));
    ck_assert_int_eq(mkdir(folder_path("folder"), 0700), 0);
    static const char *const names[] = {RUN_WEIGHTS, RUN_JSON};
    for (size_t i = 0; i < 2; i++) {
        char text[64];
        snprintf(text, sizeof text, "cannot write run/%s: it is a folder", names[i]);
        exchange(run_file("run", names[i]), "folder");
        assert_resume_fails(0, text);
        exchange(run_file("run", names[i]), "folder");
    }
    assert_resume_fails(4000, "cannot write run/checkpoint.npz: File too large");
    assert_resume_fails(9000, "run/log.tsv: File too large; the run is saved up to step ");
    ck_assert_uint_ge(checkpoint_step("run"), 90);
    ck_assert_uint_lt(checkpoint_step("run"), 150);
    resume_in("run", WORDS("--quiet"), 0);
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

/* The log that has to be cut back is larger than the disk lets it be. */
START_TEST(a_log_that_cannot_be_cut_stays) {
    train_in(
        "whole", WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                     "3", "--lr", "0.01", "--eval-every", "2", "--steps", "150"));
    train_in("run", WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                        "3", "--lr", "0.01", "--eval-every", "2", "--steps", "141"));
    assert_resume_fails(5500, "cannot write run/log.tsv: File too large");
    ck_assert_uint_eq(checkpoint_step("run"), 141);
    assert_no_litter("run");
    resume_in("run", WORDS("--quiet"), 0);
    assert_same_run("whole", "run");
}
END_TEST

/* In mid-run: the checkpoint's place is taken while the run is trained. */
START_TEST(a_checkpoint_that_fails_in_mid_run_ends_it) {
    const pid_t pid = start_program(folder_path(""),
        WORDS("train", "mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
            "3", "--lr", "0.001", "--eval-every", "500", "--steps", "1000000000", "-o", "run"));
    for (int i = 0; access(folder_path("run/checkpoint.npz"), F_OK) != 0; i++) {
        const struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        ck_assert_int_lt(i, 10000);
    }
    ck_assert_int_eq(mkdir(folder_path("folder"), 0700), 0);
    kill(pid, SIGSTOP);
    exchange("run/checkpoint.npz", "folder");
    kill(pid, SIGCONT);
    ck_assert_int_eq(wait_for_program(pid), 2);
    assert_json_holds("run/run.json", "\"failed\"");
    exchange("run/checkpoint.npz", "folder");
    ck_assert_int_eq(assert_run_is_whole("run"), 1);
    char steps[24];
    snprintf(steps, sizeof steps, "%zu", checkpoint_step("run") + 20);
    resume_in("run", WORDS("--steps", steps), 0);
    train_in(
        "whole", WORDS("mean", "--width", "4", "--heads", "1", "--batch", "2", "--target-length",
                     "3", "--lr", "0.001", "--eval-every", "500", "--steps", steps));
    assert_same_run("whole", "run");
}
END_TEST

TCase *resume_full_disks(void) {
    TCase *tests = tcase_create("full disks");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, full_disks_leave_what_was_saved);
    tcase_add_test(tests, every_file_that_cannot_be_written_is_named);
    tcase_add_test(tests, a_log_that_cannot_be_cut_stays);
    tcase_add_test(tests, a_checkpoint_that_fails_in_mid_run_ends_it);
    return tests;
}
