/* A finite-difference checker for hand-written backward routines. It knows nothing about attention:
 * give it a function of named blocks of numbers, and the routine that claims to be its gradient.
 *
 * The function is reduced to one number, L = sum over outputs of r * y, with r random and fixed: a
 * plain sum would hide every fault in directions that the outputs do not sum over (rows of a
 * softmax sum to one whatever happens). Then each entry x of each block is moved both ways,
 *   numeric = (L(x + step) - L(x - step)) / (2 step),  step = options.step * max(1, |x|),
 * with the difference that x + step and x - step really have, and x put back to the same bits. L is
 * subtracted output by output, so that outputs which do not move add no rounding.
 * Blocks of more than options.entry_limit entries are moved along random directions instead, each
 * entry by u step with its own u ~ N(0,1), and the sum of analytic gradient times movement is
 * compared.
 *
 * The error of an entry is |analytic - numeric| / (largest |numeric| of its block). A block passes
 * when both are finite and the error is at most options.relative_tolerance everywhere.
 *
 * Where the case has the function of complex numbers too (forward_complex), each derivative is computed a
 * second time by the complex step, Im L(x + i 2^-100) / 2^-100 (complex.h), and must also agree with it to
 * options.complex_tolerance of the block's largest: nothing is subtracted, so it has all its digits.
 *
 * A block whose gradient is zero everywhere proves nothing, so it passes only where the case says
 * so (zero_expected), and then only when no entry, analytic or numeric, is larger than
 * options.absolute_tolerance. Where nobody says so, zero everywhere means that no entry is larger
 * than options.absolute_tolerance * min(1, sum |r y|): the right gradient of tiny outputs is itself
 * tiny, and is still compared relatively.
 *
 * Backward is called on gradients of zero. When the blocks have been checked, forward is called once more
 * and backward three times: outputs and gradients must repeat to the bit, a second backward must double
 * the gradients, and output gradients of zero must leave them zero. Gradients are left as the first call
 * made them.
 *
 * Everything is double: in float the rounding of L alone would be as large as real mistakes. */
#ifndef MHA_GRADCHECK_H
#define MHA_GRADCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/complex.h>
#include <mha/declare.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

enum { MHA_GRADCHECK_RANK = 4 };

/* One block of inputs. The arrays belong to the caller. */
typedef struct mha_gradcheck_block {
    const char *name;
    double *values;   /* moved during the check, the same bits afterwards */
    double *gradient; /* set to zero by the checker, then added to by backward */
    size_t rank;      /* 1 to 4 */
    size_t dims[MHA_GRADCHECK_RANK];
    bool zero_expected; /* the gradient is zero everywhere, by theory */
} mha_gradcheck_block;

/* One block of outputs. */
typedef struct mha_gradcheck_output {
    const char *name;
    const double *values; /* written by forward */
    double *gradient;     /* written by the checker: d(L)/d(values) for backward to read */
    size_t count;
    /* (count), or NULL when every output is finite and counts: 1 where an output is a constant or
     * not finite (a blocked score, -infinity). It stays out of L, yet its gradient is random all
     * the same: backward has to drop it. */
    const unsigned char *excluded;
} mha_gradcheck_output;

typedef struct mha_gradcheck_case {
    void *context;
    bool (*forward)(void *context); /* computes the outputs from the blocks; false: it failed */
    /* Adds to the gradients, and leaves those of the outputs alone; may rely on the last forward. */
    bool (*backward)(void *context);
    const mha_gradcheck_block *blocks;
    size_t block_count;
    const mha_gradcheck_output *outputs;
    size_t output_count;
    /* The same function of complex blocks, for the complex step, or NULL: writes outputs, reads blocks,
     * both in the order of the case. false: it failed. */
    bool (*forward_complex)(
        void *context, mha_complex *const *outputs, const mha_complex *const *blocks);
} mha_gradcheck_case;

typedef struct mha_gradcheck_options {
    double step;               /* 2^-52 to 1 */
    double relative_tolerance; /* finite, not negative */
    double absolute_tolerance; /* likewise */
    double complex_tolerance;  /* likewise */
    uint64_t seed;             /* r and directions come from default_rng([seed, 6]) */
    size_t entry_limit;        /* blocks with more entries are checked along directions */
    size_t directions;         /* for each of those blocks; none is MHA_GRADCHECK_EMPTY */
} mha_gradcheck_options;

/* step 1e-5, tolerances 1e-6, 1e-9 and 1e-12, seed 0, limit 4096 entries, 4 directions */
mha_gradcheck_options mha_gradcheck_defaults(void);

/* PASS, or the reason why not:
 *   WRONG        an entry is off by more than the tolerance
 *   NOT_FINITE   an output that counts or a gradient is NaN or infinite
 *   ALL_ZERO     the gradient is zero everywhere, which nobody declared
 *   NOT_ZERO     it was declared zero, and is not
 *   INPUTS_CHANGED  forward or backward changed values of a block, which are put back
 *   NOT_REPEATED forward or backward gave other bits when it was called again
 *   NOT_ADDED    the gradient is right, but backward overwrites what it should add to
 *   NOT_LINEAR   it is right, but not zero where the gradients of all outputs are
 *   EMPTY        there was nothing to check, or no output to check it with
 *   CALL_FAILED  forward, backward or forward_complex returned false */
#define MHA_GRADCHECK_VERDICTS(X)                                                                  \
    X(MHA_GRADCHECK_PASS, "PASS")                                                                  \
    X(MHA_GRADCHECK_WRONG, "FAIL")                                                                 \
    X(MHA_GRADCHECK_NOT_FINITE, "FAIL not finite")                                                 \
    X(MHA_GRADCHECK_ALL_ZERO, "FAIL all zero")                                                     \
    X(MHA_GRADCHECK_NOT_ZERO, "FAIL not zero")                                                     \
    X(MHA_GRADCHECK_INPUTS_CHANGED, "FAIL inputs changed")                                         \
    X(MHA_GRADCHECK_NOT_REPEATED, "FAIL not repeated")                                             \
    X(MHA_GRADCHECK_NOT_ADDED, "FAIL not added")                                                   \
    X(MHA_GRADCHECK_NOT_LINEAR, "FAIL not linear")                                                 \
    X(MHA_GRADCHECK_EMPTY, "FAIL no entries")                                                      \
    X(MHA_GRADCHECK_CALL_FAILED, "FAIL call failed")

#define MHA_GRADCHECK_NAME(name, text) name,
typedef enum mha_gradcheck_verdict {
    MHA_GRADCHECK_VERDICTS(MHA_GRADCHECK_NAME)
} mha_gradcheck_verdict;
#undef MHA_GRADCHECK_NAME

const char *mha_gradcheck_verdict_text(mha_gradcheck_verdict verdict);

/* What was found in one block. The numbers are those of the worst entry or direction, or of the one
 * that settled the verdict by not being finite or by a failed call; NaN where nothing was compared.
 * For NOT_REPEATED, NOT_ADDED and NOT_LINEAR analytic is what a later call left in the entry, and numeric
 * what it should have.
 *
 * A large block is not moved when its analytic entries alone settle the verdict (NOT_FINITE, or
 * NOT_ZERO): directional is then false, the entry is the first such one, numeric is NaN.
 *
 * When a call fails at the unmoved values, or an output that counts is not finite there, every
 * block gets that verdict. A call that fails later fails only the block it was made for. */
typedef struct mha_gradcheck_report {
    mha_gradcheck_verdict verdict;
    bool directional;                 /* numbers are along a direction, index is 0 */
    size_t checked;                   /* entries, or directions, that were compared */
    size_t index[MHA_GRADCHECK_RANK]; /* of the entry; 0 in axes beyond the rank */
    double analytic, numeric;
    double complex_step; /* NaN without forward_complex, and where it was not called */
    /* Relative to the largest |numeric| of the block; where zero was declared or found, the largest
     * |analytic|, |numeric| or |complex_step| itself. NaN if a number is not finite. */
    double error;
    /* Of the complex step, relative to its own largest in the block; NaN without, and where zero was
     * declared or found. */
    double complex_error;
} mha_gradcheck_report;

/* Checks every block. reports (block_count) is written. Returns MHA_OK when the check could be
 * carried out, whatever it found; MHA_ERROR_MEMORY or MHA_ERROR_ARGUMENT otherwise (a case
 * without blocks, say), and then nothing was called or written. Arrays must not overlap. The
 * outputs are left as the last forward wrote them. */
mha_status mha_gradcheck_run(mha_gradcheck_report *reports, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error);

MHA_DECLARATIONS_END
#endif
