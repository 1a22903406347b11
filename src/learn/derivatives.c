/* Derivatives of L along a direction: by differences, extrapolated, and by the complex step. */
#include <complex.h>
#include <math.h>

#include "learn/difference.h"

enum { RUNGS = 32 };

/* A value that may be the derivative. */
typedef struct candidate {
    double value, estimate;
} candidate;

static const candidate no_candidate = {(double)NAN, HUGE_VAL};

/* Richardson's table, of which two rows are kept: row n, column k has the powers of the step up to 2 k
 * taken out of the difference at rung n. */
typedef struct table {
    double row[2][RUNGS];
    size_t rows;      /* since the last step that had to be left out */
    candidate best;   /* of all rows */
    candidate latest; /* of the last row */
} table;

static const table empty_table = {
    .best = {(double)NAN, HUGE_VAL}, .latest = {(double)NAN, HUGE_VAL}};

static void offer(candidate *to, double value, double estimate) {
    if (estimate < to->estimate) {
        *to = (candidate){value, estimate};
    }
}

static void add_row(table *of, difference found) {
    double *const now = of->row[of->rows % 2];
    const double *before = of->row[(of->rows + 1) % 2];
    of->latest = no_candidate;
    now[0] = found.value;
    if (of->rows > 0) {
        offer(&of->latest, now[0], fabs(now[0] - before[0]) + found.rounding);
    }
    double factor = 1.0;
    for (size_t k = 1; k <= of->rows; k++) {
        factor *= 16.0;
        now[k] = now[k - 1] + (now[k - 1] - before[k - 1]) / (factor - 1.0);
        const double truncation = fmax(fabs(now[k] - now[k - 1]), fabs(now[k] - before[k - 1]));
        offer(&of->latest, now[k], truncation + found.rounding);
    }
    of->rows++;
    if (of->latest.estimate < HUGE_VAL && of->best.estimate < HUGE_VAL) {
        /* Where smaller steps lead elsewhere, neighbours agreed by chance, or missed what is near x. */
        const double distance = fabs(of->latest.value - of->best.value);
        of->best.estimate =
            fmax(of->best.estimate, distance - MHA_GRADCHECK_ESTIMATES * found.rounding);
    }
    offer(&of->best, of->latest.value, of->latest.estimate);
}

/* Of points that show noise: one unit in the last place of single precision and more, but small beside
 * whatever a function does. */
#define NEAR_SPACING 0x1p-23
#define FAR_SPACING  0x1p-20

/* The differences made so far, one a step; noise is NaN until it was measured. */
typedef struct ladder {
    difference rungs[RUNGS];
    double steps[RUNGS];
    size_t count;
    double noise;
} ladder;

/* Of a difference at a rung. */
static double rounding_of(const ladder *with, size_t rung) {
    const double noise = isnan(with->noise) ? 0.0 : with->noise / (2.0 * with->steps[rung]);
    return fmax(with->rungs[rung].rounding, noise);
}

static void fill_table(table *of, const ladder *with, size_t rung) {
    const double value = with->rungs[rung].value;
    if (isfinite(value)) {
        add_row(of, (difference){value, rounding_of(with, rung)});
    } else {
        of->rows = 0;
    }
}

typedef enum decision { GO_DOWN, MEASURE_NOISE, END } decision;

/* The ladder ends at what agrees with the gradient and is as good as it will get, and at what does not only
 * where rounding would hide the distance: larger steps may all have missed what the function does near x. Where
 * estimates no longer shrink, or the gradient would be contradicted, they have to know the noise. */
static decision decide(const table *of, const ladder *with, double enough, double analytic) {
    const candidate *best = &of->best;
    const double rounding = rounding_of(with, with->count - 1);
    const double distance = fabs(analytic - best->value);
    const bool agrees = distance <= fmax(MHA_GRADCHECK_ESTIMATES * best->estimate, 10.0 * enough);
    const bool settled = best->estimate <= enough || rounding > best->estimate;
    if (agrees && settled) {
        return END;
    }
    if (isnan(with->noise)) {
        return settled || of->latest.estimate > best->estimate ? MEASURE_NOISE : GO_DOWN;
    }
    const bool hidden = !(MHA_GRADCHECK_ESTIMATES * rounding <= distance); /* NaN too */
    return hidden && !agrees ? END : GO_DOWN;
}

/* Near x, where steps end, and as far from it as they began, since lower precision may not be seen to move
 * near x. */
static bool find_noise(ladder *with, const direction *along, double scale, const checker *check) {
    size_t first = 0;
    while (first + 1 < with->count && !isfinite(with->rungs[first].value)) {
        first++;
    }
    double near_x, farther;
    if (!measure_noise(&near_x, along, 0.0, NEAR_SPACING * scale, check) ||
        !measure_noise(&farther, along, with->steps[first], FAR_SPACING * scale, check)) {
        return false;
    }
    with->noise = fmax(near_x, farther);
    return true;
}

derivative_status extrapolate_difference(double *numeric, double *estimate, size_t b, size_t first,
    size_t count, double scale, double enough, checker *check) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    const direction along = {block->values + first, block->gradient + first, check->weights, count};
    const double analytic = direction_slope(&along);
    table of = empty_table;
    ladder with = {.noise = (double)NAN};
    decision next = GO_DOWN;
    while (with.count < RUNGS && next != END) {
        const double step = ldexp(scale, -4 - 2 * (int)with.count);
        if (!can_move(&along, step)) {
            break;
        }
        if (!difference_at(&with.rungs[with.count], &along, step, check)) {
            return DERIVATIVE_CALL_FAILED;
        }
        with.steps[with.count] = step;
        fill_table(&of, &with, with.count++);
        next = decide(&of, &with, enough, analytic);
        if (next == MEASURE_NOISE) {
            if (!find_noise(&with, &along, scale, check)) {
                return DERIVATIVE_CALL_FAILED;
            }
            of = empty_table;
            for (size_t rung = 0; rung < with.count; rung++) {
                fill_table(&of, &with, rung);
            }
            next = decide(&of, &with, enough, analytic);
        }
    }
    *numeric = of.best.value;
    *estimate = of.best.estimate;
    return isfinite(of.best.estimate) ? DERIVATIVE_FOUND : DERIVATIVE_NOT_FINITE;
}

/* Its square is far below the rounding of anything, and it is a power of two. */
#define COMPLEX_STEP 0x1p-100

derivative_status complex_step_along(
    double *derivative, size_t b, size_t first, size_t count, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    mha_complex *const x = check->complex_blocks[b] + first;
    for (size_t i = 0; i < count; i++) {
        x[i] += check->weights[i] * COMPLEX_STEP * (mha_complex)I;
    }
    const bool done = subject->forward_complex(subject->context, check->complex_outputs,
        (const mha_complex *const *)check->complex_blocks);
    for (size_t i = 0; i < count; i++) {
        x[i] = creal(x[i]);
    }
    double sum = 0.0;
    for (size_t t = 0; done && t < check->term_count; t++) {
        const term *at = &check->terms[t];
        sum += at->r * (cimag(check->complex_outputs[at->output][at->entry]) / COMPLEX_STEP);
    }
    *derivative = done ? sum : (double)NAN;
    if (!done) {
        return DERIVATIVE_CALL_FAILED;
    }
    return isfinite(sum) ? DERIVATIVE_FOUND : DERIVATIVE_NOT_FINITE;
}
