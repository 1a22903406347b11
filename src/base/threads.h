/* How many threads work may be shared among. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stddef.h>

#define threads_usable mha_threads_usable

enum { THREADS_MOST = 1024 }; /* a runtime that cannot start a thread ends the program */

/* wanted, but at most THREADS_MOST; 1 in a library without OpenMP, and 1 in a process that was forked
 * after the library was loaded: the threads of OpenMP stay behind in a fork, and a child that asks
 * for them may wait for ever. */
size_t threads_usable(size_t wanted);

#endif
