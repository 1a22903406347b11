/* The program and threads: settings of the environment, and a forked process. What threads do inside
 * a process is tested in tests/threads, whose program is not forked. */
#include <stdlib.h>

#include <mha/mode.h>

#include "base/threads.h"
#include "folder.h"
#include "program_cases.h"
#include "suites.h"

/* A run of steps that are large enough for several threads. */
static void train(const char *folder, const char *threads) {
    const char *words[] = {"train", "reverse", "--quiet", "--steps", "3", "--batch", "32",
        "--target-length", "40", "--width", "64", "--heads", "4", "--seed", "7", "-o", folder,
        threads == NULL ? NULL : "--threads", threads, NULL};
    struct outcome outcome = run_well(words);
    outcome_free(&outcome);
}

static void assert_default_weights(const char *name, const char *what) {
    size_t size;
    unsigned char *bytes = folder_read(&size, "default/weights.npz");
    ck_assert_msg(folder_holds(name, bytes, size) == 1, "other weights with %s", what);
    free(bytes);
}

/* Field report: thread settings that were ignored, made programs hang or changed their results. */
START_TEST(settings_of_the_environment_do_not_change_weights) {
    static const char *const settings[][2] = {
        {"OMP_THREAD_LIMIT", "1"},
        {"OMP_NUM_THREADS", "1"},
        {"OMP_NUM_THREADS", "64"},
        {"OMP_NUM_THREADS", "0"},
        {"OMP_DYNAMIC", "true"},
#if !defined(__clang__) /* libomp 14 takes a random number for this, and fails in any program */
        {"OMP_NUM_THREADS", "abc"},
#endif
    };
    unsetenv("OMP_NUM_THREADS");
    train("default", NULL);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char folder[] = "run0";
        folder[3] = (char)('0' + i);
        setenv(settings[i][0], settings[i][1], 1);
        train(folder, NULL);
        unsetenv(settings[i][0]);
        char weights[] = "run0/weights.npz";
        weights[3] = folder[3];
        assert_default_weights(weights, settings[i][0]);
    }
}
END_TEST

/* Field report: equal seeds, different weights. */
START_TEST(the_number_of_threads_does_not_change_weights) {
    static const char *const counts[] = {"1", "2", "3", "8"};
    train("default", NULL);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char folder[] = "run0", weights[] = "run0/weights.npz";
        folder[3] = weights[3] = counts[i][0];
        train(folder, counts[i]);
        assert_default_weights(weights, counts[i]);
    }
}
END_TEST

START_TEST(a_forked_process_has_one_thread) {
    ck_assert_uint_eq(mha_default_threads(), 1);
    ck_assert_uint_eq(threads_usable(8), 1);
}
END_TEST

Suite *threads_suite(void) {
    Suite *suite = suite_create("threads");
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, folder_make, folder_remove);
    tcase_set_timeout(program, 60);
    tcase_add_test(program, settings_of_the_environment_do_not_change_weights);
    tcase_add_test(program, the_number_of_threads_does_not_change_weights);
    suite_add_tcase(suite, program);
    TCase *forked = tcase_create("forked");
    tcase_set_tags(forked, "fork");
    tcase_add_test(forked, a_forked_process_has_one_thread);
    suite_add_tcase(suite, forked);
    return suite;
}
