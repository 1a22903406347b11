/* Error texts and memory, for every module of the program. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include <stddef.h>

#include <mha/status.h>

/* count * size zeroed bytes, at least one; NULL when there is not enough memory. */
void *allocate_zeroed(size_t count, size_t size);

/* Fill error (which may be NULL) and return the status. */
mha_status report(mha_error *error, mha_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
mha_status no_memory(mha_error *error);

#endif
