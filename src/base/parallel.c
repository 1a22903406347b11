#include "base/parallel.h"

#include "base/threads.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

static void run_all(size_t tasks, parallel_task *run, const void *work) {
    for (size_t task = 0; task < tasks; task++) {
        run(work, task, 0);
    }
}

void parallel_run(size_t threads, size_t tasks, parallel_task *run, const void *work) {
    const size_t wanted = threads < tasks ? threads : tasks;
    const size_t usable = wanted < 2 ? 1 : threads_usable(wanted);
    if (usable < 2) {
        run_all(tasks, run, work); /* OpenMP is not even entered */
        return;
    }
#if defined(_OPENMP)
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)usable)
    for (size_t task = 0; task < tasks; task++) {
        run(work, task, (size_t)omp_get_thread_num());
    }
#endif
}
