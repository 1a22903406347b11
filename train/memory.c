#include "memory.h"

#include <stdlib.h>

void *allocate_zeroed(size_t count, size_t size) {
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

mha_status no_memory(mha_error *error) {
    return mha_fail(error, MHA_ERROR_MEMORY, "not enough memory");
}
