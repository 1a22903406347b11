/* Hard trials of a training run, in a short form for every day and a long one for `make soak`. The
 * test's folder holds what they make. */
#ifndef TESTS_RUN_TRIALS_H
#define TESTS_RUN_TRIALS_H

#include <stddef.h>
#include <stdint.h>

/* Trains `mha train WORD...` (the words end with NULL) and kills it `kills` times at random moments,
 * going on each time with what there is. After each kill no file is torn or missing; each run that
 * comes to its end has the bits of one that was never stopped, and is then replaced. The moments are
 * drawn from default_rng(seed); a third of them is within the first milliseconds of a process. */
void kill_at_random(const char *const *words, size_t kills, uint64_t seed);

/* Trains it with no file larger than `bytes`, as on a disk that fills up: status 2, and one line that
 * names a file. What was saved then goes on, without the limit, to the bits of a run that was never
 * stopped; a run that could not start leaves nothing. */
void fill_disk(const char *const *words, size_t bytes);

#endif
