/* How far a right gradient may be off by the rounding of its own arithmetic. */
#ifndef TRAIN_COMMANDS_GRADCHECK_ROUNDING_H
#define TRAIN_COMMANDS_GRADCHECK_ROUNDING_H

#include "gradcheck_truth.h"

/* Gives each claim its truth, and each of its entries what is allowed its dtype, whose unit is 2^-23 or 2^-52:
 *   64 times the largest change of the entry, of eight draws, that comes of moving every number that goes in by up
 *   to half a unit of itself (how much the scores' rounding is worth, through the exponential), and
 *   32 units of the entry, or of its root of a sum of squares, the pass and its backward with the square of every
 *   term (what cancellation leaves of roundings that are random), and the smallest normal number.
 * Right gradients of PyTorch and NumPy were measured at a fifteenth of that and less. The set owns what the claims
 * point to. MHA_ERROR_NOT_FINITE where squares overflow. */
mha_status rounding_set(
    struct claim_set *set, const struct truth *truth, const char *path, mha_error *error);

#endif
