/* Examples gathered into batches, with their masks. */
#ifndef TRAIN_TASKS_ARRAYS_BATCH_H
#define TRAIN_TASKS_ARRAYS_BATCH_H

#include "arrays_data.h"
#include "task.h"

/* What a task_batch points to besides its own memory; NULL where no example has it. */
struct gathered {
    unsigned char *allowed; /* masks of B samples */
    int64_t *lengths;       /* (B) */
    unsigned char *counted; /* (B,T) */
};

/* Makes room for batches of `batch` samples of either set; second may be NULL. MHA_ERROR_MEMORY, and
 * *gathered holds nothing then. */
mha_status gathered_create(struct gathered *gathered, const struct examples *first,
    const struct examples *second, size_t batch, mha_error *error);
void gathered_free(struct gathered *gathered);

/* Prepares the batch for `count` samples of examples. */
void gather_begin(struct task_batch *batch, const struct gathered *gathered,
    const struct examples *examples, size_t count);
/* Copies example n into sample b of a batch so prepared. */
void gather_example(struct task_batch *batch, const struct gathered *gathered,
    const struct examples *examples, size_t b, size_t n);

#endif
