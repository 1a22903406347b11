/* From the order of Fortran to that of C. */
#ifndef IO_TRANSPOSE_H
#define IO_TRANSPOSE_H

#include <stddef.h>

#define transpose_axes mha_transpose_axes

/* Copies an array of dims (rank, at most MHA_ARRAY_RANK; none is 0) whose first axis runs fastest to
 * one whose last axis does. Numbers have 1, 4 or 8 bytes; the two do not overlap. */
void transpose_axes(void *to, const void *from, const size_t *dims, size_t rank, size_t bytes);

#endif
