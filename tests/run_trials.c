#include "run_trials.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mha/rng.h>

#include "folder.h"
#include "program.h"
#include "run_compare.h"

enum { WORDS_MOST = 36 };

/* "train -o run --quiet --force WORD..." */
static void start_words(const char *all[WORDS_MOST + 1], const char *const *words) {
    static const char *const first[] = {"train", "-o", "run", "--quiet", "--force"};
    size_t count = sizeof first / sizeof *first;
    memcpy(all, first, sizeof first);
    for (; *words != NULL; words++) {
        ck_assert_uint_lt(count, WORDS_MOST);
        all[count++] = *words;
    }
    all[count] = NULL;
}

/* How long a process may live: half of them as long as its start may take, the others up to 0.15 s. */
static struct timespec random_moment(mha_rng *rng) {
    const double most = mha_rng_random(rng) < 0.5 ? 0.02 : 0.15;
    return (struct timespec){.tv_nsec = (long)(1e9 * most * mha_rng_random(rng))};
}

void kill_at_random(const char *const *words, size_t kills, uint64_t seed) {
    const char *start[WORDS_MOST + 1];
    start_words(start, words);
    train_in("whole", words);
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    int going = 0; /* there is a run to go on with */
    for (size_t killed = 0; killed < kills;) {
        const pid_t pid = start_program(folder_path(""),
            going != 0 ? WORDS("train", "--resume", "-o", "run", "--quiet") : start);
        const struct timespec moment = random_moment(&rng);
        nanosleep(&moment, NULL);
        kill(pid, SIGKILL);
        const int status = wait_for_program(pid);
        ck_assert_msg(status == 0 || status == 128 + SIGKILL, "status %d", status);
        going = assert_run_is_whole("run");
        if (status == 0) {
            assert_same_run("whole", "run");
            assert_no_litter("run");
            going = 0; /* the next one replaces it */
        } else {
            killed++;
        }
    }
    if (going != 0) {
        resume_in("run", WORDS("--quiet"), 0);
    } else {
        struct outcome outcome = run_program(folder_path(""), start);
        ck_assert_msg(outcome.status == 0, "%s", outcome.err);
        outcome_free(&outcome);
    }
    assert_same_run("whole", "run");
    assert_no_litter("run");
}

void fill_disk(const char *const *words, size_t bytes) {
    const char *start[WORDS_MOST + 1];
    start_words(start, words);
    if (access(folder_path("whole"), F_OK) != 0) {
        train_in("whole", words);
    }
    struct outcome outcome = run_program_limited(folder_path(""), start, bytes, false);
    ck_assert_msg(outcome.status == 2, "status %d with %zu bytes", outcome.status, bytes);
    ck_assert_msg(strstr(outcome.err, ": File too large") != NULL, "%s", outcome.err);
    ck_assert_ptr_nonnull(strstr(outcome.err, "run/"));
    ck_assert_ptr_eq(strchr(outcome.err, '\n'), strrchr(outcome.err, '\n'));
    outcome_free(&outcome);
    if (access(folder_path("run"), F_OK) == 0) {
        ck_assert_int_eq(assert_run_is_whole("run"), 1);
        assert_no_litter("run");
        resume_in("run", WORDS("--quiet"), 0);
        assert_same_run("whole", "run");
    }
}
