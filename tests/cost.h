/* Broken files are refused within a second and 44 MB beside the process itself, whatever they claim. */
#ifndef TESTS_COST_H
#define TESTS_COST_H

#include <stddef.h>

#include "array_assert.h"

/* The reader refuses a file of the folder and is cheap, in a process of its own, whose memory nobody
 * else has enlarged. Belongs into a TCase with the tag "fork". */
void assert_cheaply_refused(array_reader *reader, const char *name, size_t max_bytes);

#endif
