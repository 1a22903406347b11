#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>

size_t memory_round_up(size_t bytes) {
    const size_t mask = MEMORY_ALIGNMENT - 1;
    return bytes > SIZE_MAX - mask ? SIZE_MAX : (bytes + mask) & ~mask;
}

void *memory_allocate(size_t bytes) {
    size_t rounded = memory_round_up(bytes == 0 ? 1 : bytes);
    if (rounded > PTRDIFF_MAX) {
        return NULL;
    }
    return aligned_alloc(MEMORY_ALIGNMENT, rounded);
}
