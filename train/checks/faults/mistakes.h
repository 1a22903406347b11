/* Common mistakes of a whole program: what the gradients of the layer would be if it had made one. */
#ifndef TRAIN_CHECKS_MISTAKES_H
#define TRAIN_CHECKS_MISTAKES_H

#include "checks/marks/claims.h"
#include "checks/walk.h"

enum { MOST_CLAIMS = 20, MISTAKE_TEXT_SIZE = 128 };

/* The mistakes that explain claims: texts, "" where none does. */
struct explanations {
    char all[MISTAKE_TEXT_SIZE];   /* every claim, the right ones too */
    char stage[MISTAKE_TEXT_SIZE]; /* of that mistake, the first wrong one on the way back */
    char one[MOST_CLAIMS][MISTAKE_TEXT_SIZE]; /* this claim, if it is wrong */
};

/* Computes the pass anew with each mistake in turn, and holds the claims against what comes out. The walk is the
 * right one, forward and backward; grad_output is what it began with. Claims by the query are of both
 * streams where self_attention is set. */
mha_status explain_claims(struct explanations *made, const struct claim *claims, size_t count,
    const struct walk *right, const double *grad_output, bool self_attention, mha_error *error);

#endif
