/* A program that has threads of its own: its settings stay, and its threads may use layers. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "cases.h"
#include "job.h"

enum { STEPS = 2, REPEATS = 3, HOST_THREADS = 3 };

static struct job *reference(void) {
    struct job *one = job_make(&large_shape, MHA_MODE_STORED, 1);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(job_run(one, STEPS));
    return one;
}

#if defined(_OPENMP)
struct settings {
    int max_threads, dynamic, active_levels, thread_limit, chunk;
    omp_sched_t schedule;
};

static struct settings settings_now(void) {
    struct settings now;
    memset(&now, 0, sizeof now);
    now.max_threads = omp_get_max_threads();
    now.dynamic = omp_get_dynamic();
    now.active_levels = omp_get_max_active_levels();
    now.thread_limit = omp_get_thread_limit();
    omp_get_schedule(&now.schedule, &now.chunk);
    return now;
}

START_TEST(settings_of_the_host_stay) {
    struct job *one = reference();
    const struct settings first = settings_now();
    omp_set_num_threads(5);
    omp_set_max_active_levels(2);
    omp_set_schedule(omp_sched_guided, 9);
    const struct settings before = settings_now();
    ck_assert_int_eq(before.max_threads, 5);
    for (size_t threads = 0; threads <= 3; threads++) {
        struct job *job = job_make(&large_shape, MHA_MODE_TILED, threads);
        ck_assert_ptr_nonnull(job);
        ck_assert(job_agrees(one, job, STEPS));
        job_free(job);
        const struct settings after = settings_now();
        ck_assert_mem_eq(&after, &before, sizeof before);
    }
    omp_set_num_threads(first.max_threads);
    omp_set_max_active_levels(first.active_levels);
    omp_set_schedule(first.schedule, first.chunk);
    job_free(one);
}
END_TEST
#endif

/* Inside a parallel region of the host. */
static void assert_inside_agrees(const struct job *one) {
    atomic_int agreeing = 0;
    int ran = 0;
#pragma omp parallel num_threads(HOST_THREADS) reduction(+ : ran)
    {
        struct job *job = job_make(&large_shape, MHA_MODE_STORED, 2);
        atomic_fetch_add(&agreeing, job != NULL && job_agrees(one, job, STEPS));
        job_free(job);
        ran += 1;
    }
    ck_assert_int_ge(ran, 1);
    const int agreed = atomic_load(&agreeing);
    ck_assert_int_eq(agreed, ran);
}

START_TEST(layers_run_inside_a_parallel_region) {
    struct job *one = reference();
    assert_inside_agrees(one);
    job_free(one);
}
END_TEST

#if defined(_OPENMP)
START_TEST(layers_run_inside_a_region_that_nests) {
    struct job *one = reference();
    const int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(4);
    assert_inside_agrees(one);
    omp_set_max_active_levels(levels);
    job_free(one);
}
END_TEST
#endif

struct user {
    const struct job *one;
    struct job *own;
    bool agrees;
};

static void *use_layer(void *data) {
    struct user *user = data;
    user->agrees = true;
    for (size_t i = 0; i < REPEATS; i++) {
        user->agrees = user->agrees && job_agrees(user->one, user->own, STEPS);
    }
    return NULL;
}

START_TEST(two_threads_use_two_layers_at_once) {
    struct job *one = reference();
    struct user users[] = {{one, job_make(&large_shape, MHA_MODE_STORED, 2), false},
        {one, job_make(&large_shape, MHA_MODE_TILED, 3), false}};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(users[i].own);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_layer, &users[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_msg(users[i].agrees, "thread %zu", i);
        job_free(users[i].own);
    }
    job_free(one);
}
END_TEST

TCase *nested_case(void) {
    TCase *tests = tcase_create("nested");
    tcase_set_tags(tests, "nested");
    tcase_set_timeout(tests, 60);
#if defined(_OPENMP)
    tcase_add_test(tests, layers_run_inside_a_region_that_nests);
#endif
    return tests;
}

TCase *host_case(void) {
    TCase *tests = tcase_create("host");
    tcase_set_timeout(tests, 60);
#if defined(_OPENMP)
    tcase_add_test(tests, settings_of_the_host_stay);
#endif
    tcase_add_test(tests, layers_run_inside_a_parallel_region);
    tcase_add_test(tests, two_threads_use_two_layers_at_once);
    return tests;
}
