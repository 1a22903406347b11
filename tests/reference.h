/* Masked multi-head attention once more, by plain loops in double, to hold the library against. It
 * shares no code with the library, neither products nor mask rules. Gradients are not derived by
 * hand at all: the forward pass is carried out in dual numbers, value + derivative, once for each
 * entry that a gradient is wanted for. That is exact to rounding, and slow; it is for small sizes.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum reference_alignment {
    REFERENCE_NOT_CAUSAL,
    REFERENCE_FIRST_KEYS, /* query 0 sees key 0, query 1 keys 0 and 1, ... */
    REFERENCE_LAST_KEYS /* the last query sees all keys, the one before it all but the last, ... */
} reference_alignment;

/* Query t of head h in sample b sees key s when all rules that are given allow it. */
typedef struct reference_mask {
    reference_alignment alignment;
    const int64_t *lengths; /* (B) leading keys, or NULL */
    const unsigned char
        *allowed;    /* 1 where it may be seen, or NULL; the byte of (b,h,t,s) stands at */
    size_t steps[4]; /* b steps[0] + h steps[1] + t steps[2] + s steps[3] */
} reference_mask;

enum { REFERENCE_WEIGHTS = 4 };

typedef struct reference_problem {
    size_t batch, target_length, source_length, width, heads; /* all at least 1 */
    const double *query;                                      /* (B,T,D) */
    const double *source;                     /* (B,S,D), or NULL for self-attention */
    const double *weights[REFERENCE_WEIGHTS]; /* wq wk wv wo, each (D,D), y = x w */
    reference_mask mask;
} reference_problem;

/* output (B,T,D) and attention_weights (B,h,T,S) are written. false: there was no memory. */
bool reference_forward(double *output, double *attention_weights, const reference_problem *problem);

/* d(L)/d(entry) of L = sum of doutput * output is written for every entry of the query, the source
 * (NULL in self-attention) and the four matrices. false: there was no memory. */
bool reference_gradients(double *dquery, double *dsource, double *const dweights[REFERENCE_WEIGHTS],
    const double *doutput, const reference_problem *problem);

#endif
