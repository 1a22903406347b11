/* A checker for hand-written backward routines. It knows nothing about attention: give it a function of named
 * blocks of numbers, and the routine that claims to be its gradient, in double. Differences leave no step to choose.
 *
 * The function is reduced to one number, L = sum over outputs of r * y, with r random and fixed: a plain sum would
 * hide every fault in directions that the outputs do not sum over (rows of a softmax sum to one whatever happens).
 * Then each entry x of each block is moved both ways,
 *   D(h) = (L(x + h) - L(x - h)) / (2 h),
 * with the difference that x + h and x - h really have, and x put back to the same bits. L is subtracted output by
 * output, so that outputs which do not move add no rounding. D is taken on a ladder of steps, h = max(1, |x|) 2^-4
 * 4^-n, and extrapolated to h = 0 by Richardson's rule for even powers of h (Ridders, "Accurate computation of
 * F'(x) and F'(x) F''(x)", Advances in Engineering Software 4(2), 1982): of all values in the table that one is
 * `numeric` whose estimated error is least, and `estimate` that error, the larger distance to its two neighbours
 * (truncation) and 2^-52 sum |r y| / (2 h) over the outputs that can move (rounding). A step at which an output is
 * not finite is left out: the function may not be defined there. Where smaller steps lead elsewhere, estimates of
 * larger ones are raised.
 *
 * The ladder ends at what agrees with the gradient, as good as it will get, when a last difference near x, at 0.37
 * * 2^-23 max(1, |x|), says the same as far as its rounding lets it; at what does not agree, only where rounding
 * would hide the distance. Before an entry is called wrong the noise of L itself is measured and counts as
 * rounding. So most functions computed in single precision are held to what that can tell, but where one does not
 * move near x, or a part alone is computed so, it is what it is there: better compute in double. More than 2^-10 of
 * the outputs is no noise, but a kink or a pole, and neither is what shrinks with the spacing of the points. At a
 * kink itself no gradient is right: move x off it.
 *
 * Blocks of more than options.entry_limit entries are moved along random directions instead, each entry by u max(1,
 * |x|) h with its own u ~ N(0,1), and the sum of analytic gradient times movement is compared.
 *
 * A block passes when everywhere |analytic - numeric| is at most MHA_GRADCHECK_ESTIMATES times the estimate, or at
 * most MHA_GRADCHECK_SHARE of the largest |numeric| of the block.
 *
 * Where the case has the function of complex numbers too (forward_complex), each derivative is computed a second
 * time by the complex step, Im L(x + i 2^-100) / 2^-100 (complex.h), and must also agree with it to
 * options.complex_tolerance of the block's largest: nothing is subtracted, so it has all the digits that the
 * derivative itself, as a sum, has. That tolerance is fixed; a function in whose derivative four digits cancel
 * needs a larger one.
 *
 * A block whose gradient is zero everywhere proves nothing, so it passes only where the case says so
 * (zero_expected), and fails where that is said and is not so. Zero is what may be rounding alone, 2^-40 sum |r y|
 * / max(1, |x|) over the outputs that moved, or 2^-52 over all; where zero is declared MHA_GRADCHECK_ESTIMATES
 * times the estimate too.
 *
 * Backward is called on gradients of zero. When the blocks have been checked, forward is called once more and
 * backward four times: outputs and gradients must repeat to the bit, a second backward must double the gradients,
 * output gradients 1024 times as large make them so too, and those of zero leave them zero. Gradients are left as
 * the first call made them.
 *
 * A whole program, which checks a layer normalisation by rows:
 *
 *     #include <complex.h>
 *     #include <math.h>
 *     #include <stdio.h>
 *
 *     #include <mha/gradcheck.h>
 *
 *     enum { ROWS = 3, N = 4 };
 *     static double x[ROWS * N], gain[N], bias[N], y[ROWS * N];
 *     static double dx[ROWS * N], dgain[N], dbias[N], dy[ROWS * N];
 *
 *     static double normalise(double n[N], const double *row) {
 *         double mean = 0.0, variance = 0.0;
 *         for (int j = 0; j < N; j++) mean += row[j] / N;
 *         for (int j = 0; j < N; j++) variance += (row[j] - mean) * (row[j] - mean) / N;
 *         for (int j = 0; j < N; j++) n[j] = (row[j] - mean) / sqrt(variance + 1e-5);
 *         return sqrt(variance + 1e-5);
 *     }
 *
 *     static bool forward(void *context) {
 *         (void)context;
 *         for (int i = 0; i < ROWS * N; i += N) {
 *             double n[N];
 *             normalise(n, x + i);
 *             for (int j = 0; j < N; j++) y[i + j] = n[j] * gain[j] + bias[j];
 *         }
 *         return true;
 *     }
 *
 *     static bool backward(void *context) {
 *         (void)context;
 *         for (int i = 0; i < ROWS * N; i += N) {
 *             double n[N], mean = 0.0, along = 0.0;
 *             const double deviation = normalise(n, x + i);
 *             for (int j = 0; j < N; j++) {
 *                 dgain[j] += dy[i + j] * n[j];
 *                 dbias[j] += dy[i + j];
 *                 mean += dy[i + j] * gain[j] / N;
 *                 along += dy[i + j] * gain[j] * n[j] / N;
 *             }
 *             for (int j = 0; j < N; j++)
 *                 dx[i + j] += (dy[i + j] * gain[j] - mean - along * n[j]) / deviation;
 *         }
 *         return true;
 *     }
 *
 *     static bool forward_complex(void *context, mha_complex *const *out, const mha_complex *const *in) {
 *         (void)context;
 *         for (int i = 0; i < ROWS * N; i += N) {
 *             const mha_complex *row = in[0] + i;
 *             mha_complex mean = 0.0, variance = 0.0;
 *             for (int j = 0; j < N; j++) mean += row[j] / N;
 *             for (int j = 0; j < N; j++) variance += (row[j] - mean) * (row[j] - mean) / N;
 *             for (int j = 0; j < N; j++)
 *                 out[0][i + j] = (row[j] - mean) / csqrt(variance + 1e-5) * in[1][j] + in[2][j];
 *         }
 *         return true;
 *     }
 *
 *     int main(void) {
 *         for (int i = 0; i < ROWS * N; i++) x[i] = sin(1.0 + i * i);
 *         for (int j = 0; j < N; j++) gain[j] = 1.0 + 0.5 * j;
 *         const mha_gradcheck_block blocks[] = {{"x", x, dx, 2, {ROWS, N}, false},
 *             {"gain", gain, dgain, 1, {N}, false}, {"bias", bias, dbias, 1, {N}, false}};
 *         const mha_gradcheck_output output = {"y", y, dy, ROWS * N, NULL};
 *         const mha_gradcheck_case subject = {
 *             NULL, forward, backward, blocks, 3, &output, 1, forward_complex};
 *         const mha_gradcheck_options options = mha_gradcheck_defaults();
 *         mha_gradcheck_report reports[3];
 *         if (mha_gradcheck_run(reports, &subject, &options, NULL) != MHA_OK) return 1;
 *         int failed = 0;
 *         for (int b = 0; b < 3; b++) {
 *             printf("%-4s %s\n", blocks[b].name, mha_gradcheck_verdict_text(reports[b].verdict));
 *             failed = failed || reports[b].verdict != MHA_GRADCHECK_PASS;
 *         }
 *         return failed;
 *     } */
#ifndef MHA_GRADCHECK_H
#define MHA_GRADCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/complex.h>
#include <mha/declare.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

enum { MHA_GRADCHECK_RANK = 4, MHA_GRADCHECK_ESTIMATES = 30 };
#define MHA_GRADCHECK_SHARE 1e-10

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
    /* (count), or NULL when every output is finite and counts: 1 where an output is a constant or not finite
     * (a blocked score, -infinity). It stays out of L, yet its gradient is random: backward has to drop it. */
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

/* What was compared in one block: its entries in their order, or directions. */
typedef struct mha_gradcheck_derivatives {
    size_t block;
    bool directional;
    size_t count;
    const double *analytic, *numeric, *estimate; /* (count) */
    const double *complex_step;                  /* (count), or NULL without forward_complex */
} mha_gradcheck_derivatives;

typedef struct mha_gradcheck_options {
    double complex_tolerance; /* finite, not negative */
    uint64_t seed;            /* r and directions come from default_rng([seed, 6]) */
    size_t entry_limit;       /* blocks with more entries are checked along directions */
    size_t directions;        /* for each of those blocks; none is MHA_GRADCHECK_EMPTY */
    /* Is shown each block whose derivatives were all finite, or NULL. */
    void (*observe)(void *observer, const mha_gradcheck_derivatives *derivatives);
    void *observer;
} mha_gradcheck_options;

/* tolerance 1e-12, seed 0, limit 4096 entries, 4 directions, no observer */
mha_gradcheck_options mha_gradcheck_defaults(void);

/* PASS, or the reason why not:
 *   WRONG        an entry is off by more than is allowed
 *   NOT_FINITE   an output that counts or a gradient is NaN or infinite
 *   ALL_ZERO     the gradient is zero everywhere, which nobody declared
 *   NOT_TOLD     nothing is off by more than is allowed, but an entry's bar, 30 estimates, is wider than a tenth of the
 *                block's largest derivative: differences cannot tell, and there is no complex step
 *   NOT_ZERO     it was declared zero, and is not
 *   INPUTS_CHANGED  forward or backward changed values of a block, or backward gradients of outputs; all are put back
 *   NOT_REPEATED forward or backward gave other bits when it was called again
 *   NOT_ADDED    the gradient is right, but backward overwrites what it should add to
 *   NOT_LINEAR   it is right, but not zero where the gradients of all outputs are, or does not grow with them
 *   EMPTY        there was nothing to check, or no output to check it with
 *   CALL_FAILED  forward, backward or forward_complex returned false */
#define MHA_GRADCHECK_VERDICTS(X)                                                                  \
    X(MHA_GRADCHECK_PASS, "PASS")                                                                  \
    X(MHA_GRADCHECK_WRONG, "FAIL")                                                                 \
    X(MHA_GRADCHECK_NOT_FINITE, "FAIL not finite")                                                 \
    X(MHA_GRADCHECK_ALL_ZERO, "FAIL all zero")                                                     \
    X(MHA_GRADCHECK_NOT_TOLD, "FAIL not told")                                                     \
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
 * block gets that verdict. A call that fails while a block is moved fails that block alone, one that fails in the
 * repetitions at the end every block that had passed. */
typedef struct mha_gradcheck_report {
    mha_gradcheck_verdict verdict;
    bool directional;                 /* numbers are along a direction, index is 0 */
    size_t checked;                   /* entries, or directions, that were compared */
    size_t index[MHA_GRADCHECK_RANK]; /* of the entry; 0 in axes beyond the rank */
    double analytic, numeric;
    double estimate;     /* of the error of numeric */
    double complex_step; /* NaN without forward_complex, and where it was not called */
    /* Largest |analytic - numeric| of the block, relative to its largest |numeric|; where zero was declared
     * or found, the largest |analytic|, |numeric| or |complex_step| itself. NaN if a number is not finite. */
    double error;
    double margin; /* largest such distance, or number that should be zero, over what is allowed */
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

/* A test by Taylor's theorem: along a direction u over all blocks at once, entries moved by u max(1, |x|) h,
 *   remainder(h) = |L(x + h u) - L(x) - h sum gradient * u|
 * shrinks as h^2 for the right gradient and as h for a wrong one. The larger of the remainders at h and -h
 * is taken, so that no odd power can cancel. There is no step to choose: a slope is read off, not a distance.
 * A fault shows where its part of the remainder, h times it, is above rounding and above the curvature's part: one
 * of a millionth of the gradient gives 1 to 1.5, smaller ones nearly 2. mha_gradcheck_run sees those. */
enum { MHA_GRADCHECK_TAYLOR_STEPS = 44 };

typedef struct mha_gradcheck_taylor {
    /* log2(remainder(h) / remainder(h / 2)) for the least h at which the remainder is 256 times the rounding;
     * of options.directions directions the least one. Infinity where the remainder is rounding at
     * every step, as of a function that is linear in all blocks together. NaN when a call failed, or a gradient
     * or an output at x was not finite, when L was finite at no step, there is nothing to move, or the order is
     * another at the step before by more than a half, as where kinks lie between or one power gives way to
     * another: that tells neither right nor wrong. */
    double order;
    /* The steps of that direction, h = 2^-3, 2^-4, ... where L was finite and not too small to move it, and how much
     * of the remainder may be rounding: of double precision, or what the smallest steps leave steadily where L is
     * computed in less. */
    size_t count;
    double step[MHA_GRADCHECK_TAYLOR_STEPS], remainder[MHA_GRADCHECK_TAYLOR_STEPS],
        rounding[MHA_GRADCHECK_TAYLOR_STEPS];
} mha_gradcheck_taylor;

/* Refuses what mha_gradcheck_run refuses; gradients are left as backward made them. */
mha_status mha_gradcheck_taylor_run(mha_gradcheck_taylor *taylor, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error);

MHA_DECLARATIONS_END
#endif
