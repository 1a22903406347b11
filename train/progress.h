/* What a run shows while it trains: a bar with rate and time left when standard error is a
 * terminal, plain lines otherwise, nothing when quiet. */
#ifndef TRAIN_PROGRESS_H
#define TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool quiet, terminal;
    size_t steps;
    double shown_at;    /* seconds when something was last shown */
    size_t lines_shown; /* plain lines so far */
};

/* Seconds of a clock that only runs forward. */
double seconds_now(void);

void progress_start(struct progress *progress, bool quiet, size_t steps);

/* After update `step`, `seconds` into the run; redraws at most ten times a second. loss is the
 * newest held-out loss, accuracy NaN where there is none. */
void progress_show(
    struct progress *progress, size_t step, double seconds, double loss, double accuracy);

/* Takes the bar away. */
void progress_end(const struct progress *progress);

#endif
