#include "bench_machine.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mha32.h>

#include "bench_time.h"

void processor_name(char name[PROCESSOR_NAME_SIZE]) {
    static const char key[] = "model name";
    char line[PROCESSOR_NAME_SIZE + 64];
    FILE *file = fopen("/proc/cpuinfo", "r");
    const char *found = NULL;
    while (file != NULL && found == NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strncmp(line, key, sizeof key - 1) == 0 ? strchr(line, ':') : NULL;
        found = colon != NULL ? colon + 1 + strspn(colon + 1, " \t") : NULL;
    }
    snprintf(name, PROCESSOR_NAME_SIZE, "%.*s", found != NULL ? (int)strcspn(found, "\n") : 0,
        found != NULL ? found : "");
    if (*name == '\0') {
        snprintf(name, PROCESSOR_NAME_SIZE, "unknown");
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The time goes from before the first thread begins until after the last has ended. */
static double burst_rate(size_t threads, size_t rounds, double *seconds) {
    double operations = 0.0;
    (void)threads; /* without OpenMP there is one */
    const double begin = clock_seconds();
#pragma omp parallel num_threads((int)threads) reduction(+ : operations)
    {
        double done = 0.0;
        volatile mha_real kept = mha_fma_burst(&done, rounds);
        (void)kept;
        operations += done;
    }
    *seconds = clock_seconds() - begin;
    return operations / *seconds;
}

double fma_peak(size_t threads) {
    const int bursts = threads == 1 ? 16 : 64; /* all threads must have a processor at once */
    static const double burst_seconds = 0.002; /* shorter than most turns of other programs */
    size_t rounds = 1024;
    double seconds = 0.0, best = 0.0;
    for (burst_rate(1, rounds, &seconds); seconds < burst_seconds;) {
        rounds *= 2;
        burst_rate(1, rounds, &seconds);
    }
    for (int i = 0; i < bursts; i++) {
        best = fmax(best, burst_rate(threads, rounds, &seconds));
    }
    return best;
}

enum { BLOCK_WORDS = 1 << 15, BLOCKS = 1 << 10, WORDS = BLOCKS * BLOCK_WORDS, TRIALS = 3 };

static uint64_t block_sum(const uint64_t *words) {
    uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < BLOCK_WORDS; i++) {
        sum += words[i];
    }
    return sum;
}

static double read_seconds(const uint64_t *words, size_t threads) {
    uint64_t sum = 0;
    (void)threads;
    const double begin = clock_seconds();
#pragma omp parallel for num_threads((int)threads) reduction(+ : sum)
    for (size_t block = 0; block < BLOCKS; block++) {
        sum += block_sum(words + block * BLOCK_WORDS);
    }
    volatile uint64_t kept = sum;
    (void)kept;
    return clock_seconds() - begin;
}

/* The second half becomes the first. */
static double copy_seconds(uint64_t *words, size_t threads) {
    (void)threads;
    const double begin = clock_seconds();
#pragma omp parallel for num_threads((int)threads)
    for (size_t block = 0; block < BLOCKS / 2; block++) {
        memcpy(words + block * BLOCK_WORDS, words + (BLOCKS / 2 + block) * BLOCK_WORDS,
            BLOCK_WORDS * sizeof *words);
    }
    return clock_seconds() - begin;
}

mha_status memory_measure(struct memory_speed *speed, size_t threads, mha_error *error) {
    const size_t bytes = WORDS * sizeof(uint64_t);
    uint64_t *words = malloc(bytes);
    if (words == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY,
            "no memory for %zu bytes, on which the speed of memory is measured", bytes);
    }
#pragma omp parallel for num_threads((int)threads)
    for (size_t block = 0; block < BLOCKS; block++) {
        memset(words + block * BLOCK_WORDS, (int)(block % 7), BLOCK_WORDS * sizeof *words);
    }
    double read = (double)INFINITY, copy = (double)INFINITY;
    for (int i = 0; i < TRIALS; i++) {
        read = fmin(read, read_seconds(words, threads));
        copy = fmin(copy, copy_seconds(words, threads));
    }
    free(words);
    *speed = (struct memory_speed){(double)bytes / read, (double)bytes / copy};
    return MHA_OK;
}
