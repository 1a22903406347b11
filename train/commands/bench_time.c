#include "bench_time.h"

#include <stdlib.h>
#include <time.h>

enum { FEWEST = 5, MOST = 4096 };

/* A batch is long against the clock's resolution and its own cost, both below 0.1 us. */
static const double shortest_batch = 100e-6;
static const double least_seconds = 0.3;

static double seconds_on(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_seconds(void) {
    return seconds_on(CLOCK_MONOTONIC);
}

double processor_seconds(void) {
    return seconds_on(CLOCK_THREAD_CPUTIME_ID);
}

static int compare(const void *left, const void *right) {
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

double median_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Seconds of a whole batch. */
static double batch_seconds(void (*run)(void *context), void *context, size_t batch) {
    const double begin = clock_seconds();
    for (size_t i = 0; i < batch; i++) {
        run(context);
    }
    return clock_seconds() - begin;
}

double median_seconds(void (*run)(void *context), void *context) {
    double samples[MOST], spent = 0.0;
    size_t count = 0, batch = 1;
    run(context);
    do {
        const double seconds = batch_seconds(run, context, batch);
        if (seconds < shortest_batch) { /* a disturbance may have hidden it before */
            batch *= 2;
            count = 0;
            spent = 0.0;
            continue;
        }
        samples[count++] = seconds / (double)batch;
        spent += seconds;
    } while (count < FEWEST || (spent < least_seconds && count < MOST));
    return median_of(samples, count);
}
