#include "base/parallel.h"

#include <stdatomic.h>

#include "base/threads.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

static void run_all(size_t tasks, parallel_task *run, const void *work) {
    for (size_t task = 0; task < tasks; task++) {
        run(work, task, 0);
    }
}

#if defined(_OPENMP)
/* The tasks that one thread begins with. Ranges stand on cache lines of their own. */
typedef struct range {
    atomic_size_t next;
    size_t end;
    char line[128 - sizeof(atomic_size_t) - sizeof(size_t)];
} range;

enum { MOST_RANGES = 64 };

/* One thread's: its own range first, and then what the others have not begun. */
static void run_ranges(
    range *ranges, size_t count, parallel_task *run, const void *work, size_t thread) {
    for (size_t i = 0; i < count; i++) {
        range *const taken = &ranges[(thread + i) % count];
        size_t task = atomic_fetch_add_explicit(&taken->next, 1, memory_order_relaxed);
        while (task < taken->end) {
            run(work, task, thread);
            task = atomic_fetch_add_explicit(&taken->next, 1, memory_order_relaxed);
        }
    }
}
#endif

void parallel_run(size_t threads, size_t tasks, parallel_task *run, const void *work) {
    const size_t wanted = threads < tasks ? threads : tasks;
    const size_t usable = wanted < 2 ? 1 : threads_usable(wanted);
    if (usable < 2) {
        run_all(tasks, run, work); /* OpenMP is not even entered */
        return;
    }
#if defined(_OPENMP)
    range ranges[MOST_RANGES];
    const size_t count = usable < MOST_RANGES ? usable : MOST_RANGES;
    for (size_t i = 0; i < count; i++) {
        atomic_init(&ranges[i].next, tasks / count * i + (i < tasks % count ? i : tasks % count));
        ranges[i].end = tasks / count * (i + 1) + (i + 1 < tasks % count ? i + 1 : tasks % count);
    }
#pragma omp parallel num_threads((int)usable)
    run_ranges(ranges, count, run, work, (size_t)omp_get_thread_num());
#endif
}
