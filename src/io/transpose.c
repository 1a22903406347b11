#include "io/transpose.h"

#include <string.h>

#include <mha/io.h>

enum { BLOCK_COUNT = 1024 }; /* numbers that are copied without being divided further */

/* Axes of length 1 are left out. Strides are in bytes. */
typedef struct copying {
    size_t bytes, rank;
    size_t to_stride[MHA_ARRAY_RANK], from_stride[MHA_ARRAY_RANK];
} copying;

/* to is contiguous, from strided. */
static void copy_row(
    unsigned char *to, const unsigned char *from, size_t count, size_t stride, size_t bytes) {
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < count; i++) {
            to[i] = from[i * stride];
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            memcpy(to + 4 * i, from + i * stride, 4);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            memcpy(to + 8 * i, from + i * stride, 8);
        }
    }
}

static void copy_axes(const copying *c, unsigned char *to, const unsigned char *from,
    const size_t *extents, size_t axis) {
    const size_t to_stride = c->to_stride[axis], from_stride = c->from_stride[axis];
    if (axis + 1 == c->rank) {
        copy_row(to, from, extents[axis], from_stride, c->bytes);
        return;
    }
    for (size_t i = 0; i < extents[axis]; i++) {
        copy_axes(c, to + i * to_stride, from + i * from_stride, extents, axis + 1);
    }
}

/* Halves the longest axis until a block is small: such blocks are short along every axis, so that
 * both sides of the copy use whole cache lines, whatever the rank. extents come back unchanged. */
static void copy_block(
    const copying *c, unsigned char *to, const unsigned char *from, size_t *extents) {
    size_t count = 1, longest = 0;
    for (size_t i = 0; i < c->rank; i++) {
        count *= extents[i];
        longest = extents[i] > extents[longest] ? i : longest;
    }
    if (count <= BLOCK_COUNT) {
        copy_axes(c, to, from, extents, 0);
        return;
    }
    const size_t whole = extents[longest], half = whole / 2;
    extents[longest] = half;
    copy_block(c, to, from, extents);
    extents[longest] = whole - half;
    copy_block(
        c, to + half * c->to_stride[longest], from + half * c->from_stride[longest], extents);
    extents[longest] = whole;
}

void transpose_axes(void *to, const void *from, const size_t *dims, size_t rank, size_t bytes) {
    copying c = {.bytes = bytes};
    size_t extents[MHA_ARRAY_RANK];
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] != 1) {
            extents[c.rank++] = dims[i];
        }
    }
    if (c.rank < 2) {
        memcpy(to, from, (c.rank == 1 ? extents[0] : 1) * bytes);
        return;
    }
    size_t before = bytes, behind = bytes;
    for (size_t i = 0; i < c.rank; i++) {
        c.from_stride[i] = before;
        before *= extents[i];
        c.to_stride[c.rank - 1 - i] = behind;
        behind *= extents[c.rank - 1 - i];
    }
    copy_block(&c, to, from, extents);
}
