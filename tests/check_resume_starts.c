/* A start that was cut short, at each place where that can be: either nothing has begun, or whoever
 * comes next finishes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_resume.h"
#include "folder.h"
#include "program_cases.h"
#include "run/run.h"
#include "run_compare.h"
#include "run/folder.h"

static const char *const moved[] = {RUN_LOG, RUN_WEIGHTS, RUN_JSON, RUN_CHECKPOINT};
enum { MOVED = sizeof moved / sizeof *moved };

/* What stands under the name of a staged checkpoint but is none never takes the place of a good one. */
START_TEST(what_is_staged_must_be_a_checkpoint) {
    train_in("run", WORDS("mean", "--batch", "4", "--steps", "3"));
    ck_assert_int_eq(mkdir(folder_path("run/" RUN_STAGING), 0700), 0);
    const char *staged = "run/" RUN_STAGING "/" RUN_CHECKPOINT;
    folder_write(staged, "trash", 5);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "4"), staged);
    ck_assert_int_eq(remove(folder_path(staged)), 0);
    ck_assert_int_eq(mkdir(folder_path(staged), 0700), 0);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run", "--steps", "4"), staged);
    ck_assert_int_eq(remove(folder_path(staged)), 0);
    resume_in("run", WORDS("--steps", "4"), 0);
    ck_assert_uint_eq(checkpoint_step("run"), 4);
    ck_assert_int_eq(symlink("..", folder_path("run/" RUN_STAGING)), 0);
    assert_program_refuses(WORDS("train", "mean", "--force", "-o", "run"), "it is no folder");
}
END_TEST

static void move(const char *from, const char *to) {
    ck_assert_int_eq(rename(folder_path(from), folder_path(to)), 0);
}

/* "new": the run to be published, as it is at its start. */
static void make_new(void) {
    train_in("new", WORDS("mean", "--batch", "4", "--steps", "0"));
}

/* Puts the files of "new" where a start leaves them that ended after `published` of them were moved;
 * with_checkpoint = 0: before the checkpoint was staged. */
static void cut_start(size_t published, int with_checkpoint) {
    if (access(folder_path("run"), F_OK) != 0) {
        ck_assert_int_eq(mkdir(folder_path("run"), 0700), 0);
    }
    ck_assert_int_eq(mkdir(folder_path("run/" RUN_STAGING), 0700), 0);
    for (size_t i = 0; i < MOVED; i++) {
        if (i + 1 < MOVED || with_checkpoint != 0) {
            move(run_file("new", moved[i]),
                run_file(i < published ? "run" : "run/" RUN_STAGING, moved[i]));
        }
    }
    folder_write("run/" RUN_STAGING "/.weights.npz.12-0.tmp", "x", 1);
}

/* _i: how many files were moved, in an empty folder or over an older run. */
START_TEST(cut_publishing_is_finished) {
    make_new();
    train_in("whole", WORDS("mean", "--batch", "4", "--steps", "5"));
    if (_i >= (int)MOVED) {
        train_in("run", WORDS("copy", "--batch", "4", "--steps", "3"));
    }
    cut_start((size_t)_i % MOVED, 1);
    ck_assert_int_eq(assert_run_is_whole("run"), 1); /* says that it was cut short */
    assert_program_refuses(WORDS("eval", "run"), "run: the start of this run was cut short");
    assert_program_refuses(WORDS("plot", "loss", "run"), "`mha train --resume -o run` goes on");
    assert_program_refuses(WORDS("train", "mean", "-o", "run"), "run exists");
    resume_in("run", WORDS("--steps", "5"), 0);
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

START_TEST(cut_publishing_is_replaced) {
    make_new();
    cut_start((size_t)_i, 1);
    train_in("whole", WORDS("mean", "--batch", "8", "--steps", "5"));
    train_in("run", WORDS("mean", "--batch", "8", "--steps", "5", "--force"));
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

/* Files that are in the way of a start over an older run: the checkpoint stays where it was staged until
 * they are gone. */
START_TEST(publishing_that_fails_is_finished_later) {
    static const char *const in_the_way[] = {"run/log.tsv", "run/weights.npz"};
    train_in("whole", WORDS("mean", "--batch", "4", "--steps", "5"));
    train_in("run", WORDS("copy", "--batch", "4", "--steps", "3"));
    const char *name = in_the_way[_i];
    ck_assert_int_eq(remove(folder_path(name)), 0);
    ck_assert_int_eq(mkdir(folder_path(name), 0700), 0);
    char text[64];
    snprintf(text, sizeof text, "%s: Is a directory", name);
    assert_program_refuses(
        WORDS("train", "mean", "--batch", "4", "--steps", "5", "--force", "-o", "run"), text);
    ck_assert_int_eq(access(folder_path("run/" RUN_STAGING "/" RUN_CHECKPOINT), F_OK), 0);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run"), text);
    ck_assert_int_eq(rmdir(folder_path(name)), 0);
    resume_in("run", WORDS("--quiet"), 0);
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

/* Before the checkpoint is staged the old run is as it was, and a folder without one is free. */
START_TEST(cut_staging_is_litter) {
    make_new();
    train_in("whole", WORDS("copy", "--batch", "4", "--steps", "6"));
    train_in("run", WORDS("copy", "--batch", "4", "--steps", "3"));
    cut_start(0, 0);
    struct outcome outcome = run_well(WORDS("eval", "run"));
    outcome_free(&outcome);
    resume_in("run", WORDS("--steps", "6"), 0);
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

START_TEST(cut_staging_in_an_empty_folder_is_free) {
    make_new();
    cut_start(0, 0);
    assert_program_refuses(WORDS("train", "--resume", "-o", "run"), "holds no checkpoint.npz");
    folder_write("run/.log.tsv.77-0.tmp", "x", 1);
    train_in("whole", WORDS("mean", "--batch", "4", "--steps", "2"));
    train_in("run", WORDS("mean", "--batch", "4", "--steps", "2", "--force"));
    assert_same_run("whole", "run");
    assert_no_litter("run");
}
END_TEST

/* Temporary names of our files go, whatever else is there stays. */
START_TEST(litter_goes_and_other_files_stay) {
    train_in("run", WORDS("mean", "--batch", "4", "--steps", "2"));
    static const char *const gone[] = {".checkpoint.npz.1-0.tmp", ".weights.npz.123456-12.tmp",
        ".run.json.7-0.tmp", ".log.tsv.7-1.tmp"};
    static const char *const kept[] = {"loss.png", ".checkpoint.npz.1-0.tmp~",
        ".checkpoint.npz.-0.tmp", ".weights.npz.1-.tmp", ".other.npz.1-0.tmp", ".run.json.x-0.tmp",
        "run.json.7-0.tmp", ".tmp", "weights.npz.tmp"};
    for (int forced = 0; forced < 2; forced++) {
        char name[64];
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
            folder_write(run_file("run", gone[i]), "x", 1);
        }
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            folder_write(run_file("run", kept[i]), "x", 1);
        }
        if (forced != 0) {
            train_in("run", WORDS("mean", "--batch", "4", "--steps", "2", "--force"));
        } else {
            resume_in("run", WORDS("--steps", "3"), 0);
        }
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
            snprintf(name, sizeof name, "run/%s", gone[i]);
            ck_assert_msg(access(folder_path(name), F_OK) != 0, "%s is there", name);
        }
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            snprintf(name, sizeof name, "run/%s", kept[i]);
            ck_assert_msg(access(folder_path(name), F_OK) == 0, "%s is gone", name);
        }
    }
}
END_TEST

TCase *resume_starts(void) {
    TCase *tests = tcase_create("starts");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, cut_publishing_is_finished, 0, 2 * (int)MOVED);
    tcase_add_loop_test(tests, cut_publishing_is_replaced, 0, (int)MOVED);
    tcase_add_loop_test(tests, publishing_that_fails_is_finished_later, 0, 2);
    tcase_add_test(tests, what_is_staged_must_be_a_checkpoint);
    tcase_add_test(tests, cut_staging_is_litter);
    tcase_add_test(tests, cut_staging_in_an_empty_folder_is_free);
    tcase_add_test(tests, litter_goes_and_other_files_stay);
    return tests;
}
