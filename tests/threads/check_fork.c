/* After fork the child computes the same numbers and does not wait for threads that it does not have. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "cases.h"
#include "job.h"

enum { STEPS = 2 };

/* Uses the layer that its parent made, then one of its own. */
static int compute_again(const struct job *parents, struct job *inherited) {
    signal(SIGALRM, SIG_DFL); /* Check's handler would end the parent too */
    alarm(ALONE_SECONDS / 2);
    struct job *own = job_make(&large_shape, MHA_MODE_STORED, 3);
    const bool agrees = own != NULL && job_agrees(parents, own, STEPS) &&
                        job_agrees(parents, inherited, STEPS) && mha_default_threads() == 1;
    job_free(own);
    return agrees ? 0 : 1;
}

static int status_of_fork(const struct job *parents, struct job *inherited) {
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(compute_again(parents, inherited));
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(a_child_of_a_parallel_program_computes) {
    struct job *job = job_make(&large_shape, MHA_MODE_STORED, 3);
    struct job *inherited = job_make(&large_shape, MHA_MODE_STORED, 3);
    ck_assert_ptr_nonnull(job);
    ck_assert_ptr_nonnull(inherited);
    ck_assert_ptr_nonnull(job_run(job, STEPS));
    ck_assert_int_eq(status_of_fork(job, inherited), 0);
    /* The parent goes on with its threads. */
    ck_assert(job_agrees(job, inherited, STEPS));
    job_free(inherited);
    job_free(job);
}
END_TEST

START_TEST(a_child_computes_where_only_the_host_used_threads) {
    run_alone("host_forks", VARIABLES("OMP_NUM_THREADS=3"));
}
END_TEST

TCase *fork_case(void) {
    TCase *tests = tcase_create("fork");
    tcase_set_timeout(tests, 2 * ALONE_SECONDS);
    tcase_add_test(tests, a_child_of_a_parallel_program_computes);
    tcase_add_test(tests, a_child_computes_where_only_the_host_used_threads);
    return tests;
}
