/* A request to stop, by SIGINT, SIGTERM or SIGHUP. */
#ifndef TRAIN_STOP_H
#define TRAIN_STOP_H

#include <signal.h>

/* From now on the first signal is only noted; a second one of either kind ends the program at once.
 * A signal that was ignored stays ignored. */
void stop_catch(void);
/* The signal that came first, 0 when none did. */
int stop_requested(void);
/* Both signals act as they did before stop_catch. */
void stop_release(void);

/* Both signals wait while a file is replaced, so that no half-written one is left. */
void stop_hold(sigset_t *before);
void stop_resume(const sigset_t *before);

#endif
