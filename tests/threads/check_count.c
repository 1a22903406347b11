/* Any number of threads gives the same numbers, and as many threads run as were asked for. */
#include <stdatomic.h>

#include "base/parallel.h"
#include "cases.h"
#include "job.h"

static const size_t counts[] = {2, 3, 8, 64};

static struct job *made(const mha_shape *shape, mha_mode mode, size_t threads) {
    struct job *job = job_make(shape, mode, threads);
    ck_assert_ptr_nonnull(job);
    return job;
}

static void assert_same_numbers(const mha_shape *shape, size_t steps) {
    struct job *one = made(shape, MHA_MODE_STORED, 1);
    ck_assert_ptr_nonnull(job_run(one, steps));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int mode = MHA_MODE_STORED; mode <= MHA_MODE_TILED; mode++) {
            struct job *job = made(shape, (mha_mode)mode, counts[i]);
            ck_assert_msg(job_agrees(one, job, steps), "%zu threads, mode %d", counts[i], mode);
            job_free(job);
        }
    }
    job_free(one);
}

/* Field report: equal seeds, different weights (gradients that were added in no fixed order). */
START_TEST(trained_weights_do_not_depend_on_threads) {
    assert_same_numbers(&small_shape, 50);
    assert_same_numbers(&large_shape, 2);
}
END_TEST

START_TEST(runs_are_the_same_every_time) {
    struct job *first = made(&large_shape, MHA_MODE_STORED, 3);
    ck_assert_ptr_nonnull(job_run(first, 2));
    for (size_t i = 0; i < 5; i++) {
        struct job *again = made(&large_shape, MHA_MODE_STORED, 3);
        ck_assert_msg(job_agrees(first, again, 2), "run %zu", i);
        job_free(again);
    }
    job_free(first);
}
END_TEST

static void count_run(const void *work, size_t task, size_t thread) {
    (void)thread;
    atomic_int *const runs = *(atomic_int *const *)work;
    atomic_fetch_add(&runs[task], 1);
}

/* Fewer and more tasks than threads, and more threads than there are ranges of tasks. */
START_TEST(each_task_runs_once) {
    static const size_t threads[] = {2, 3, 64, 65, 100}, tasks[] = {1, 2, 5, 63, 64, 65, 101, 1000};
    static atomic_int runs[1000];
    atomic_int *const counted = runs;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        for (size_t j = 0; j < sizeof tasks / sizeof *tasks; j++) {
            for (size_t task = 0; task < 1000; task++) {
                atomic_store(&runs[task], 0);
            }
            parallel_run(threads[i], tasks[j], count_run, &counted);
            for (size_t task = 0; task < 1000; task++) {
                ck_assert_int_eq(atomic_load(&runs[task]), task < tasks[j]);
            }
        }
    }
}
END_TEST

#if defined(_OPENMP)
START_TEST(threads_are_those_asked_for) {
    run_alone("thread_count", VARIABLES("OMP_NUM_THREADS=2"));
}
END_TEST
#endif

/* Field report: settings of the environment that made programs hang or give other numbers. */
START_TEST(environment_does_not_change_numbers) {
    run_alone("environment", VARIABLES("OMP_THREAD_LIMIT=1"));
    run_alone("environment", VARIABLES("OMP_THREAD_LIMIT=2", "OMP_NUM_THREADS=5"));
    run_alone("environment", VARIABLES("OMP_NUM_THREADS=64"));
    run_alone("environment", VARIABLES("OMP_NUM_THREADS=0"));
#if !defined(__clang__) /* libomp 14 takes a random number for this, and fails in any program */
    run_alone("environment", VARIABLES("OMP_NUM_THREADS=abc"));
#endif
    run_alone("environment", VARIABLES("OMP_NUM_THREADS=3", "OMP_DYNAMIC=true"));
    run_alone("environment", VARIABLES("OMP_NUM_THREADS=3", "OMP_SCHEDULE=guided,7"));
}
END_TEST

TCase *count_case(void) {
    TCase *tests = tcase_create("counts");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, trained_weights_do_not_depend_on_threads);
    tcase_add_test(tests, runs_are_the_same_every_time);
    tcase_add_test(tests, each_task_runs_once);
#if defined(_OPENMP)
    tcase_add_test(tests, threads_are_those_asked_for);
#endif
    tcase_add_test(tests, environment_does_not_change_numbers);
    return tests;
}
