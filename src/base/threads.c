#include "base/threads.h"

#include <mha/mode.h>

#if defined(_OPENMP)

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>

/* Written where there is one thread: in a child, before fork returns there. */
static bool forked;

static void note_fork(void) {
    forked = true;
}

/* When the library is loaded, since the host may use OpenMP, and fork, before it calls us. Where no
 * handler can be had, every process computes on one thread. */
__attribute__((constructor)) static void watch_forks(void) {
    forked = pthread_atfork(NULL, NULL, note_fork) != 0;
}

size_t threads_usable(size_t wanted) {
    const size_t most = forked ? 1 : THREADS_MOST;
    return wanted < most ? wanted : most;
}

size_t mha_default_threads(void) {
    const int asked = omp_get_max_threads(), processors = omp_get_num_procs();
    const int threads = asked < processors ? asked : processors;
    return threads < 1 ? 1 : threads_usable((size_t)threads);
}

#else

size_t threads_usable(size_t wanted) {
    (void)wanted;
    return 1;
}

size_t mha_default_threads(void) {
    return 1;
}

#endif
