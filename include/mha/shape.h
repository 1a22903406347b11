/* The sizes of one call of the layer. */
#ifndef MHA_SHAPE_H
#define MHA_SHAPE_H

#include <stddef.h>

#include <mha/declare.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

/* B, T and S may be 0: results are then empty or all zero, and so are the gradients. */
typedef struct mha_shape {
    size_t batch;         /* B: samples */
    size_t target_length; /* T: queries of a sample */
    size_t source_length; /* S: keys and values of a sample */
    size_t width;         /* D: features of a position, at least 1 */
    size_t heads;         /* h: at least 1, divides D; a head is d = D/h wide */
} mha_shape;

/* MHA_ERROR_ARGUMENT for NULL; MHA_ERROR_SHAPE when D or h is 0 or h does not divide D;
 * MHA_ERROR_SIZE when an array of the layer could hold more bytes than a size_t can count, at 16
 * bytes a number (the widest precision) and with sizes of 0 taken as 1. Allocates nothing. */
mha_status mha_shape_check(const mha_shape *shape, mha_error *error);

/* d = D/h of a shape that passed mha_shape_check. */
size_t mha_head_width(const mha_shape *shape);

MHA_DECLARATIONS_END
#endif
