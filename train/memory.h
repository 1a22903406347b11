/* Memory, for every module of the program. */
#ifndef TRAIN_MEMORY_H
#define TRAIN_MEMORY_H

#include <stddef.h>

#include <mha/status.h>

/* count * size zeroed bytes, at least one; NULL when there is not enough memory. */
void *allocate_zeroed(size_t count, size_t size);

/* MHA_ERROR_MEMORY with its text. */
mha_status no_memory(mha_error *error);

#endif
