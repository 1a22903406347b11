/* Independent tasks, shared among threads. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

#define parallel_run mha_parallel_run

/* One task of a list. thread counts from 0 and picks a scratch memory. */
typedef void parallel_task(const void *work, size_t task, size_t thread);

/* Runs tasks 0 .. tasks - 1 in any order on at most `threads` threads, and returns when all are done. A
 * thread begins with a range of its own, the same in every list of as many tasks, so that neighbours and
 * the lists of one pass find in its caches what they need; who is done helps the others. Which thread
 * computes a task is left to chance: it must compute the same wherever it runs. Never changes the settings
 * of the host's OpenMP. */
void parallel_run(size_t threads, size_t tasks, parallel_task *run, const void *work);

#endif
