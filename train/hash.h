/* FNV-1a with 64 bits (Fowler, Noll and Vo): tells data that have changed, nothing more. */
#ifndef TRAIN_HASH_H
#define TRAIN_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` has seen, and of size bytes more. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif
