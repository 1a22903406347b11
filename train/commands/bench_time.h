/* How long something takes: medians of many repetitions. */
#ifndef TRAIN_COMMANDS_BENCH_TIME_H
#define TRAIN_COMMANDS_BENCH_TIME_H

#include <stddef.h>

/* Seconds of a clock that is never set back. */
double clock_seconds(void);

/* Seconds for which this thread had a processor. */
double processor_seconds(void);

/* The median; sorts the values, of which there is at least one. */
double median_of(double *values, size_t count);

/* Median seconds of run(context) over at least 5 repetitions that take at least 0.3 s together,
 * after one that is not counted. What is shorter than the clock can tell is repeated in batches. */
double median_seconds(void (*run)(void *context), void *context);

#endif
