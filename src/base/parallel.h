/* Independent tasks, shared among threads. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

#define parallel_run mha_parallel_run

/* One task of a list. thread counts from 0 and picks a scratch memory. */
typedef void parallel_task(const void *work, size_t task, size_t thread);

/* Runs tasks 0 .. tasks - 1 in any order on at most `threads` threads, and returns when all are done. Every
 * thread begins with a range of its own, the same for the same numbers of tasks and threads, so that tasks next to
 * each other, and those of one list after another, meet what is in its caches; who is done helps the others. Which task a thread gets is left to chance: a task must compute the same wherever it runs. Never
 * changes the settings of the host's OpenMP. */
void parallel_run(size_t threads, size_t tasks, parallel_task *run, const void *work);

#endif
