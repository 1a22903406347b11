#include "alone.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "job.h"

static int say(const char *what) {
    fprintf(stderr, "threads: %s\n", what);
    return 1;
}

/* A layer of that many threads (0 for the default) agrees with one thread. */
static bool agrees_with_one(size_t threads) {
    struct job *one = job_make(&large_shape, MHA_MODE_TILED, 1);
    struct job *job = job_make(&large_shape, MHA_MODE_TILED, threads);
    const bool agrees =
        one != NULL && job != NULL && job_run(one, 2) != NULL && job_agrees(one, job, 2);
    job_free(job);
    job_free(one);
    return agrees;
}

int alone_host_forks(void) {
    int together = 0;
#pragma omp parallel num_threads(3) reduction(+ : together)
    together += 1;
    if (together < 1) {
        return say("the host's threads did nothing");
    }
    const pid_t child = fork();
    if (child == 0) {
        alarm(ALONE_SECONDS / 2);
        const bool agrees = agrees_with_one(3) && agrees_with_one(0);
        _exit(agrees && mha_default_threads() == 1 ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        return say(
            WIFSIGNALED(status) ? "the child of the host hung" : "the child of the host failed");
    }
    return 0;
}

/* The threads of this process. */
static size_t thread_count(void) {
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;
    if (tasks != NULL) {
        for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
            count += entry->d_name[0] != '.';
        }
        closedir(tasks);
    }
    return count;
}

static void *end_at_once(void *nothing) {
    return nothing;
}

/* What sanitizers start beside the program, with its first thread. */
static size_t threads_of_others(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    return thread_count() - 1;
}

int alone_thread_count(void) {
#if defined(_OPENMP)
    const int processors = omp_get_num_procs();
#else
    const int processors = 1;
#endif
    const struct { size_t asked, expected; } rows[] = {{1, 1}, {0, processors < 2 ? 1 : 2}, {3, 3}};
    const size_t others = threads_of_others();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct job *job = job_make(&wide_shape, MHA_MODE_STORED, rows[i].asked);
        const bool ran = job != NULL && job_run(job, 1) != NULL;
        const size_t count = thread_count() - others;
        job_free(job);
        if (!ran || count != rows[i].expected) {
            fprintf(stderr,
                "threads: %zu threads, not %zu, where %zu were asked for (0: the default)\n", count,
                rows[i].expected, rows[i].asked);
            return 1;
        }
    }
    return 0;
}

int alone_environment(void) {
    return agrees_with_one(0) ? 0 : say("default threads give other numbers than one thread");
}
