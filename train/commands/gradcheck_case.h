/* mha gradcheck --case: gradients that come from somewhere else. */
#ifndef TRAIN_COMMANDS_GRADCHECK_CASE_H
#define TRAIN_COMMANDS_GRADCHECK_CASE_H

#include <stddef.h>

#include <mha/mask.h>

/* Holds the arrays grad_... of the file against this program's own gradients of its other arrays, prints which are
 * right, and of the wrong ones where they are and, where a mark shows it, why. heads 0: the file tells. The exit
 * status: STATUS_FAILED when one is wrong, STATUS_USAGE for a file that cannot be checked. */
int gradcheck_case(const char *path, mha_causal causal, size_t heads);

#endif
