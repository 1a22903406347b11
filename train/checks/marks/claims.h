/* A gradient as it is claimed beside the one that is right: how far off it is, where, and by which mark of a
 * common mistake. */
#ifndef TRAIN_CHECKS_CLAIMS_H
#define TRAIN_CHECKS_CLAIMS_H

#include <stdbool.h>

#include <mha/mask.h>
#include <mha/values.h>

struct claim {
    const char *name;
    mha_value value; /* by which the derivative is taken; gives the shape */
    const double *claimed, *truth;
    double allowed;           /* distance that is no fault, the largest of: */
    const double *allowed_at; /* for each entry, or NULL: allowed for all */
};

/* Arrays that add up to the truth of a claim: what each path brings. */
struct claim_part {
    const char *name; /* "the query path" */
    const double *array;
};

/* What a claim may be held against. */
struct claim_setting {
    const mha_shape *shape;
    const mha_mask *mask;       /* or NULL */
    const struct claim *claims; /* all that were made, the claim itself too */
    size_t count;
    const struct claim_part *parts;
    size_t part_count;
    const double *weights; /* the attention weights, or NULL */
    const double *
        untransposed; /* a projection's gradient by its input with a matrix not transposed, or NULL */
};

enum mark {
    MARK_RIGHT,
    MARK_UNKNOWN,
    MARK_NOT_FINITE,
    MARK_ONE_ENTRY,
    MARK_MISSING,     /* zero everywhere */
    MARK_SIGN,        /* -1 times */
    MARK_TWICE,       /* 2 times */
    MARK_SCALE_LOST,  /* sqrt(d) times */
    MARK_SCALE_TWICE, /* 1/sqrt(d) times */
    MARK_FACTOR,      /* another number of times */
    MARK_EXCHANGED,   /* another array's gradient */
    MARK_TRANSPOSED,
    MARK_NOT_TRANSPOSED, /* dx = dy w, not dy w^T */
    MARK_HEADS_PERMUTED,
    MARK_HEADS_REGROUPED, /* a reshape without its transpose */
    MARK_BLOCKED_PAIRS,   /* not zero where the mask blocks */
    MARK_SEEN_PAIRS,      /* zero at pairs that are seen */
    MARK_HEAD,            /* in some heads alone: zero, or a factor */
    MARK_SAMPLE,          /* in some samples alone */
    MARK_POSITION,        /* at some positions alone */
    MARK_SOFTMAX_ROWS,    /* rows of dS do not sum to zero */
    MARK_PATH,            /* a path has another factor than 1 */
    MARK_OVERWRITTEN      /* = in place of +=; known from the checker's verdict alone */
};

enum { DIAGNOSIS_SIZE = 256 };

struct diagnosis {
    enum mark mark;
    char text[DIAGNOSIS_SIZE]; /* what is wrong, in words; "" when nothing is */
    size_t entry;              /* the one that is farthest off, or the first that is not finite */
    size_t wrong;              /* entries that are off */
    double factor;             /* that the claim is of the truth, for marks of a factor; else 0 */
};

void diagnose(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting);

/* "wq[3,1]", or "wq[3,1] (head 0)" where a value has heads. */
void claim_entry_text(
    char *text, size_t size, const struct claim *claim, size_t entry, const mha_shape *shape);

/* What the marks are made of: */

/* Largest |truth|. */
double claim_largest(const struct claim *claim, const mha_shape *shape);

/* Whether its entries are pairs of a query and a key: (B,h,T,S). */
bool claim_is_of_pairs(const struct claim *claim, const mha_shape *shape);

/* An array that is compared with a claim is rounded as the truth is, by so many times what is allowed. */
enum { CLAIM_CLOSE = 16 };

static inline double claim_allowed(const struct claim *claim, size_t entry) {
    return claim->allowed_at != NULL ? claim->allowed_at[entry] : claim->allowed;
}

/* Whether an entry is off by more than is allowed; NaN is. */
bool claim_is_off(const struct claim *claim, size_t entry);

/* Whether some entry is farther from the truth than other arrays are told from it: a claim that is not comes out
 * of whatever changes nothing. */
bool claim_is_apart(const struct claim *claim, size_t count);

/* Whether the claim is factor * array at every entry, closely. */
bool claim_is(const struct claim *claim, const double *array, double factor, size_t count);

/* Whether a factor may come of the scale of the scores. */
enum by_scale { BY_SCALE_NO, BY_SCALE_MAYBE, BY_SCALE_YES };

/* The factor as a mistake in words, such as "2 times what is right: counted twice", and its mark. sqrt(d) may be
 * 2: where both may be meant both are said. */
enum mark factor_mark(char *text, size_t size, double factor, double tolerance, enum by_scale scale,
    const mha_shape *shape);

/* Of a claim that is the factor times its truth, by what else was claimed. */
enum by_scale claim_by_scale(
    const struct claim *claim, double factor, const struct claim_setting *setting);

/* Axes along which a mistake may be confined. */
enum claim_axis { AXIS_HEAD, AXIS_SAMPLE, AXIS_TARGET, AXIS_SOURCE, AXIS_COUNT };

/* The coordinate of an entry along an axis and the length of that axis; false when the value has none. */
bool claim_coordinate(size_t *at, size_t *length, mha_value value, enum claim_axis axis,
    size_t entry, const mha_shape *shape);

/* The parts of marks that have files of their own: whether one was found. */
bool diagnose_heads(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting);
bool diagnose_pairs(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting);
bool diagnose_slices(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting);
bool diagnose_parts(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting);

#endif
