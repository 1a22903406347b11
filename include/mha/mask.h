/* Which keys a query may see.
 *
 * A mask combines up to three rules; a key is seen when all of them allow it:
 *   causal    by position, with the alignment named when T and S differ
 *   lengths   the first lengths[b] keys of sample b
 *   allowed   an array of bytes, 1 = ALLOWED, 0 = blocked, nothing else
 * NULL in place of a mask allows everything. A query that may see no key has attention weights and
 * output exactly 0 and adds exactly 0 to every gradient. A source row that no query of its sample may
 * see is never read; in self-attention every row is a query too, and must be finite. */
#ifndef MHA_MASK_H
#define MHA_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/declare.h>
#include <mha/shape.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

typedef enum mha_causal {
    MHA_CAUSAL_OFF,
    MHA_CAUSAL_SQUARE,      /* key j <= query i; refused unless T = S */
    MHA_CAUSAL_TOP_LEFT,    /* key j <= query i, for any T and S */
    MHA_CAUSAL_BOTTOM_RIGHT /* key j <= query i + S - T: the last query sees the last key */
} mha_causal;

/* All arrays belong to the caller. Zero-initialise, then set what is wanted. */
typedef struct mha_mask {
    mha_causal causal;
    const int64_t *lengths;       /* (B), each from 0 to S; NULL for none */
    const unsigned char *allowed; /* 1 = allowed, row-major; NULL for none (then rank is 0) */
    size_t rank;                  /* 2, 3 or 4: */
    size_t dims[4]; /* (T,S); (B,T,S), refused when B = h > 1; (B,h,T,S), any may be 1 */
} mha_mask;

/* Checks sizes and values of a mask against a shape that passed mha_shape_check: MHA_ERROR_MASK with
 * a text that names expected and given sizes, or MHA_ERROR_ARGUMENT for a rank without bytes. Refused
 * are in particular a (B,S) padding mask (give lengths or (B,1,1,S)), a rank-3 mask with B = h > 1 (it
 * might be (h,T,S); give (B,1,T,S)), a byte that is neither 0 nor 1, and MHA_CAUSAL_SQUARE with T != S.
 * A rank-2 mask is always read as (T,S), also where B = T. A NULL mask passes. */
mha_status mha_mask_check(const mha_mask *mask, const mha_shape *shape, mha_error *error);

/* The keys that query t of head h in sample b may see: key s when s < limit and, where allowed is
 * not NULL, allowed[s] is 1. Causal masks and lengths both allow a run of leading keys; limit is
 * the shorter run. The mask must have passed mha_mask_check for this shape, or be NULL. */
typedef struct mha_mask_row {
    size_t limit;
    const unsigned char *allowed; /* (S) or NULL */
} mha_mask_row;

mha_mask_row mha_mask_row_at(
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h, size_t t);

static inline bool mha_mask_row_allows(const mha_mask_row *row, size_t s) {
    return s < row->limit && (row->allowed == NULL || row->allowed[s] != 0);
}

/* Whether any query of any head of sample b may see source row s. */
bool mha_mask_sees_source(const mha_mask *mask, const mha_shape *shape, size_t b, size_t s);

MHA_DECLARATIONS_END
#endif
