/* Arithmetic on sizes that says when it does not fit. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *result = a * b; false, and *result untouched, when that does not fit. */
static inline bool size_multiply(size_t *result, size_t a, size_t b) {
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *result = a * b;
    return true;
}

static inline bool size_add(size_t *sum, size_t a, size_t b) {
    if (a > SIZE_MAX - b) {
        return false;
    }
    *sum = a + b;
    return true;
}

static inline size_t size_least(size_t a, size_t b) {
    return a < b ? a : b;
}

#endif
