/* Shapes and masks drawn at random, around the edges of every tile, lane and panel of the kernels.
 * Included after "base/real.h" and "arrays.h"; arrays_release frees the masks. */
#ifndef TESTS_NUMERIC_RANDOM_CASE_H
#define TESTS_NUMERIC_RANDOM_CASE_H

#include "trial.h"

#define random_case      MHA_NAME(random_case)
#define random_case_draw MHA_NAME(random_case_draw)
#define random_mask      MHA_NAME(random_mask)
#define mask_of          MHA_NAME(mask_of)
#define draw_below       MHA_NAME(draw_below)
#define edge_rows        MHA_NAME(edge_rows)
#define edge_keys        MHA_NAME(edge_keys)
#define edge_widths      MHA_NAME(edge_widths)

enum { EDGE_ROWS = 18, EDGE_KEYS = 13, EDGE_WIDTHS = 17 };
extern const size_t edge_rows[EDGE_ROWS];     /* T */
extern const size_t edge_keys[EDGE_KEYS];     /* S, but for the long ones */
extern const size_t edge_widths[EDGE_WIDTHS]; /* d */

typedef struct random_case {
    mha_shape shape;
    streams kind;
    mha_mask mask;
    bool masked; /* else there is none */
    uint64_t seed;
} random_case;

/* At most `largest` pairs times D, and rows times D^2; all sizes are at least 1. */
random_case random_case_draw(mha_rng *rng, size_t largest);

/* Any kind of mask and any combination of kinds: causal, lengths, and bytes of any rank, dense, in
 * blocked tiles, in windows, for whole rows; rows without a key among them. False: none. */
bool random_mask(mha_mask *mask, const mha_shape *shape, mha_rng *rng);

/* A whole number from 0 to count - 1. */
size_t draw_below(mha_rng *rng, size_t count);

static inline const mha_mask *mask_of(const random_case *c) {
    return c->masked ? &c->mask : NULL;
}

#endif
