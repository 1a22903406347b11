/* Aligned memory. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

#define memory_round_up mha_memory_round_up
#define memory_allocate mha_memory_allocate

enum { MEMORY_ALIGNMENT = 64 }; /* bytes: a cache line, and the widest vector register */

/* bytes rounded up to a multiple of MEMORY_ALIGNMENT; SIZE_MAX when that does not fit. */
size_t memory_round_up(size_t bytes);

/* An aligned block of at least `bytes` bytes (0 included), not initialised; NULL when there is not
 * enough memory. Released with free(). */
void *memory_allocate(size_t bytes);

#endif
