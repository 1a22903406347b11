#include "bench_arrays.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

/* Systems promise more memory than they have, and end the program that uses it. */
static double machine_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (double)pages * (double)page : (double)SIZE_MAX;
}

static size_t rounded_bytes(const struct bench_array *array) {
    return (array->count * sizeof(mha_real) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

mha_status bench_arrays_create(void **block, const struct bench_array *arrays, size_t count,
    size_t further_bytes, mha_error *error) {
    double needed = (double)further_bytes;
    size_t bytes = 0;
    *block = NULL;
    for (size_t i = 0; i < count; i++) {
        needed += (double)rounded_bytes(&arrays[i]);
        bytes += rounded_bytes(&arrays[i]);
    }
    if (needed > machine_bytes()) {
        return mha_fail(error, MHA_ERROR_MEMORY,
            "needs %.1f GB of memory, and this machine has %.1f GB", 1e-9 * needed,
            1e-9 * machine_bytes());
    }
    char *at = NULL;
    if (posix_memalign(block, ALIGNMENT, bytes) != 0) {
        *block = NULL;
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for %zu bytes of arrays", bytes);
    }
    at = *block;
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){0}, 1);
    for (size_t i = 0; i < count; i++) {
        mha_real *array = arrays[i].count > 0 ? (mha_real *)(void *)at : NULL;
        for (size_t j = 0; arrays[i].drawn && j < arrays[i].count; j++) {
            array[j] = (mha_real)mha_rng_normal(&rng);
        }
        if (!arrays[i].drawn) {
            memset(at, 0, rounded_bytes(&arrays[i]));
        }
        *arrays[i].at = array;
        at += rounded_bytes(&arrays[i]);
    }
    return MHA_OK;
}
