/* What needs a process that did nothing before: main runs one of these when its name is the
 * program's argument. Each returns the exit status, 0 when all is well. */
#ifndef TESTS_THREADS_ALONE_H
#define TESTS_THREADS_ALONE_H

/* The host alone uses threads, then forks: the child computes, on one thread. */
int alone_host_forks(void);

/* The threads of this process are as many as layers were asked for: 1, then the default, which the
 * environment sets to 2, then 3. They never become fewer in every runtime, so the order matters. */
int alone_thread_count(void);

/* A layer with default threads gives the numbers of one thread, whatever the environment says. */
int alone_environment(void);

/* The seconds after which a process that hangs is ended. */
enum { ALONE_SECONDS = 60 };

#endif
