/* What --resume does not do, and runs that another process trains. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check_resume.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"
#include "word_lists.h"

/* "run": 8 steps of 12. */
static void make_run(void) {
    train_in("run", WORDS("mean", "--batch", "4", "--steps", "8", "--schedule", "linear",
                        "--schedule-steps", "12", "--lr", "0.3", "--seed", "7"));
}

static void assert_resume_refuses(const char *option, const char *value, const char *text) {
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", option, value), text);
}

/* Every option that is a setting is refused when it differs, with both values. */
START_TEST(other_settings_are_refused) {
    make_run();
    static const struct {
        const char *option, *value, *text;
    } settings[] = {
        {"--lr", "0.25", "--lr 0.25: the run has 0.3, which --resume keeps"},
        {"--lr", "0.30000000000000004", "0.30000000000000004: the run has 0.29999999999999999,"},
        {"--momentum", "0.5", "--momentum 0.5: the run has 0.9"},
        {"--nesterov", NULL, "--nesterov true: the run has false"},
        {"--weight-decay", "0.1", "--weight-decay 0.1: the run has 0.0"},
        {"--clip", "2", "--clip 2.0: the run has 0.0"},
        {"--schedule", "cosine", "--schedule cosine: the run has linear"},
        {"--schedule-steps", "13", "--schedule-steps 13: the run has 12"},
        {"--warmup", "3", "--warmup 3: the run has 0"},
        {"--eval-every", "5", "--eval-every 5: the run has 10"},
        {"--batch", "8", "--batch 8: the run has 4"},
        {"--target-length", "4", "--target-length 4: the run has 16"},
        {"--width", "8", "--width 8: the run has 16"},
        {"--heads", "2", "--heads 2: the run has 4"},
        {"--causal", NULL, "--causal square: the run has off"},
        {"--seed", "8", "--seed 8: the run has 7"},
        {"--max-bytes", "1K", "--max-bytes 1024: the run has 0"},
        {"--weights", "w.npz", "--weights 'w.npz': No such file or directory"},
        {"--kernel", "reference", "--kernel reference: the run has fused, which --resume keeps"},
        {"--mode", "tiled", "--mode tiled: the run has stored, which --resume keeps"},
        {"--words", "list", "the task mean reads no words"},
        {"--data", "list", "the task mean makes its own examples"},
        {"--eval-data", "list", "the task mean makes its own examples"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        assert_resume_refuses(settings[i].option, settings[i].value, settings[i].text);
    }
    assert_program_refuses(WORDS("train", "copy", "--resume", "-o", "run"),
        "run is a run of the task mean, not of copy");
    assert_program_refuses(WORDS("train", "--resume"), "--resume needs -o RUN");
    assert_program_refuses(WORDS("train", "--resume", "--force", "-o", "run"), "one of them");
    ck_assert_uint_eq(checkpoint_step("run"), 8);
    resume_in("run",
        WORDS("mean", "--batch", "4", "--lr", "0.3", "--seed", "7", "--heads", "4", "--schedule",
            "linear", "--steps", "9"),
        0);
}
END_TEST

/* Paths are those that the run made of them, wherever one stands. */
START_TEST(paths_are_compared_as_files) {
    write_list(LISTED_WORDS, "");
    train_in("run", WORDS("letters", "--words", "words", "--batch", "4", "--steps", "2",
                        "--schedule", "constant"));
    ck_assert_int_eq(mkdir(folder_path("inner"), 0700), 0);
    struct outcome outcome = run_program(folder_path("inner"),
        WORDS("train", "--resume", "-o", "../run", "--words", "../inner/../words", "--steps", "3"));
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_free(&outcome);
    size_t size;
    unsigned char *words = folder_read(&size, "words");
    folder_write("inner/words", words, size);
    free(words);
    assert_program_refuses(
        WORDS("train", "--resume", "-o", "run", "--words", "inner/words"), "/inner/words: the run");
    folder_write("words", "a\n", 2);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "4"), "words");
    ck_assert_uint_eq(checkpoint_step("run"), 3);
}
END_TEST

START_TEST(steps_are_refused_with_both_numbers) {
    make_run();
    assert_resume_refuses("--steps", "7", "--steps 7: run has made 8 steps already");
    assert_resume_refuses(
        "--steps", "13", "--steps 13: the linear schedule of the run ends at step 12;");
    resume_in("run", WORDS("--steps", "12"), 0);
    train_in("short", WORDS("mean", "--batch", "4", "--steps", "8", "--schedule", "cosine"));
    assert_program_refuses(WORDS("train", "--resume", "-o", "short", "--steps", "9"),
        "--steps 9: the cosine schedule of the run ends at step 8;");
}
END_TEST

/* Until the run in the folder can be read, at most 10 s. */
static void wait_for_run(const char *folder) {
    struct run run;
    for (int i = 0; run_read(&run, folder_path(folder), NULL) != MHA_OK; i++) {
        const struct timespec pause = {.tv_nsec = 10000000};
        nanosleep(&pause, NULL);
        ck_assert_int_lt(i, 1000);
    }
    run_free(&run);
}

/* A run that was stopped and makes fewer steps than it was to make keeps its schedule. */
START_TEST(a_schedule_stays_when_steps_shrink) {
    const pid_t pid = start_program(
        folder_path(""), WORDS("train", "mean", "--batch", "4", "--steps", "100000", "--schedule",
                             "cosine", "--eval-every", "1000", "-o", "run"));
    wait_for_run("run");
    kill(pid, SIGTERM);
    ck_assert_int_eq(wait_for_program(pid), 143);
    char steps[24];
    snprintf(steps, sizeof steps, "%zu", checkpoint_step("run") + 2);
    resume_in("run", WORDS("--steps", steps), 0);
    train_in("whole", WORDS("mean", "--batch", "4", "--steps", steps, "--schedule", "cosine",
                          "--schedule-steps", "100000", "--eval-every", "1000"));
    assert_same_run("whole", "run");
}
END_TEST

START_TEST(places_without_a_run_are_refused) {
    assert_program_refuses(
        WORDS("train", "--resume", "-o", "nowhere"), "nowhere: No such file or directory");
    folder_write("file", "x", 1);
    assert_program_refuses(WORDS("train", "--resume", "-o", "file"), "file: Not a directory");
    ck_assert_int_eq(mkdir(folder_path("empty"), 0700), 0);
    assert_program_refuses(WORDS("train", "--resume", "-o", "empty"),
        "empty holds no checkpoint.npz to go on from; train anew, without --resume");
}
END_TEST

/* The lock ends with the process, however that ends. */
START_TEST(runs_in_use_are_refused) {
    const pid_t pid = start_program(folder_path(""),
        WORDS("train", "mean", "--batch", "2", "--steps", "1000000", "--lr", "0.01", "-o", "run"));
    wait_for_run("run");
    static const char text[] = "run is in use: another process trains in it";
    assert_program_refuses(WORDS("train", "--resume", "-o", "run"), text);
    assert_program_refuses(WORDS("train", "copy", "--force", "-o", "run"), text);
    struct outcome outcome = run_well(WORDS("eval", "run"));
    outcome_free(&outcome);
    kill(pid, SIGKILL);
    ck_assert_int_eq(wait_for_program(pid), 128 + SIGKILL);
    char steps[24];
    snprintf(steps, sizeof steps, "%zu", checkpoint_step("run") + 1);
    resume_in("run", WORDS("--steps", steps), 0);
    outcome = run_well(WORDS("train", "copy", "--force", "--steps", "1", "--quiet", "-o", "run"));
    outcome_free(&outcome);
}
END_TEST

TCase *resume_refusals(void) {
    TCase *tests = tcase_create("refusals");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, other_settings_are_refused);
    tcase_add_test(tests, paths_are_compared_as_files);
    tcase_add_test(tests, steps_are_refused_with_both_numbers);
    tcase_add_test(tests, a_schedule_stays_when_steps_shrink);
    tcase_add_test(tests, places_without_a_run_are_refused);
    tcase_add_test(tests, runs_in_use_are_refused);
    return tests;
}
