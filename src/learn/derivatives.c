/* Derivatives of L along a direction: by differences, extrapolated, and by the complex step. */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "learn/difference.h"

enum { RUNGS = 64 };

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

static void add_row(table *of, double value, double rounding) {
    double *const now = of->row[of->rows % 2];
    const double *before = of->row[(of->rows + 1) % 2];
    of->latest = no_candidate;
    now[0] = value;
    if (of->rows > 0) {
        offer(&of->latest, now[0], fabs(now[0] - before[0]) + rounding);
    }
    double factor = 1.0;
    for (size_t k = 1; k <= of->rows; k++) {
        factor *= 16.0;
        now[k] = now[k - 1] + (now[k - 1] - before[k - 1]) / (factor - 1.0);
        const double truncation = fmax(fabs(now[k] - now[k - 1]), fabs(now[k] - before[k - 1]));
        offer(&of->latest, now[k], truncation + rounding);
    }
    of->rows++;
    if (of->latest.estimate < HUGE_VAL && of->best.estimate < HUGE_VAL) {
        /* Where smaller steps lead elsewhere, neighbours agreed by chance, or missed what is near x. */
        const double distance = fabs(of->latest.value - of->best.value);
        of->best.estimate = fmax(of->best.estimate, distance - MHA_GRADCHECK_ESTIMATES * rounding);
    }
    offer(&of->best, of->latest.value, of->latest.estimate);
}

/* Of points that show noise: one unit in the last place of single precision and more, but small beside
 * whatever a function does. */
#define NEAR_SPACING 0x1p-23
#define FAR_SPACING  0x1p-20
/* A step at which the ladder looks near x before it ends, in no ratio to its own. */
#define NEAR_STEP (0.37 * NEAR_SPACING)

/* The differences made so far, one a step. */
typedef struct ladder {
    direction along;
    double scale, enough, analytic;
    difference rungs[RUNGS];
    double steps[RUNGS];
    size_t count;
    double here;                  /* largest sum of |r y| at x over outputs that moved at a step */
    double noise_near, noise_far; /* NaN until they were measured */
    double size_far;              /* sum of |r y| there */
    bool near_alone;              /* steps near x have but the noise near x */
    difference near;              /* at NEAR_STEP; value NaN until it was made */
} ladder;

/* Of a difference: as large as the outputs that may move, also where a step is too small to move them. Noise far
 * from x is as much smaller at it as the outputs are. */
static double rounding_of(const ladder *with, const difference *found, double step) {
    const bool measured = !isnan(with->noise_near);
    const bool is_near = with->near_alone && step <= NEAR_SPACING * with->scale;
    const double magnitude = fmax(found->magnitude, with->here);
    double noise = measured ? with->noise_near : 0.0;
    if (measured && !is_near && with->noise_far > 0.0) {
        noise = fmax(noise, with->noise_far * fmin(1.0, magnitude / with->size_far));
    }
    return fmax(DBL_EPSILON * magnitude, noise) / (2.0 * step);
}

static void fill_table(table *of, const ladder *with, size_t rung) {
    const difference *found = &with->rungs[rung];
    if (isfinite(found->value)) {
        add_row(of, found->value, rounding_of(with, found, with->steps[rung]));
    } else {
        of->rows = 0;
    }
}

typedef enum decision { GO_DOWN, LOOK_NEAR, MEASURE_NOISE, END } decision;

/* The ladder ends at what agrees with the gradient, is as good as it will get and holds near x too, and at what
 * does not agree only where rounding would hide the distance: larger steps may all have missed what the function
 * does near x. Where estimates no longer shrink, or the gradient would be contradicted, they have to know the
 * noise. */
static decision decide(const table *of, const ladder *with) {
    const candidate *best = &of->best;
    const double step = with->steps[with->count - 1];
    const double rounding = rounding_of(with, &with->rungs[with->count - 1], step);
    const double distance = fabs(with->analytic - best->value);
    const bool agrees =
        distance <= fmax(MHA_GRADCHECK_ESTIMATES * best->estimate, 10.0 * with->enough);
    const bool settled = best->estimate <= with->enough || rounding > best->estimate;
    if (agrees && settled) {
        return step <= NEAR_STEP * with->scale ? END : LOOK_NEAR;
    }
    if (isnan(with->noise_near)) {
        return settled || of->latest.estimate > best->estimate ? MEASURE_NOISE : GO_DOWN;
    }
    const bool hidden = MHA_GRADCHECK_ESTIMATES * rounding > distance;
    const bool clearer_near = with->near_alone && step > NEAR_STEP * with->scale;
    return hidden && !agrees && !clearer_near ? END : GO_DOWN;
}

/* Whether the difference near x is what larger steps have led to. */
static bool holds_near(const table *of, const ladder *with) {
    const double rounding = rounding_of(with, &with->near, NEAR_STEP * with->scale);
    const double apart = fabs(with->near.value - of->best.value);
    return apart <= MHA_GRADCHECK_ESTIMATES * fmax(rounding, of->best.estimate) + with->enough;
}

enum { CLOSER = 4096, UNLIKE = 16 };

/* What shrinks with the spacing is a kink, not noise: then closer points tell. One jump between neighbours would
 * still show a fiftieth. *shrunk: whether they do. */
static bool look_closer(bool *shrunk, ladder *with, const checker *check) {
    double spacing = NEAR_SPACING * with->scale, closer;
    bool moves = true;
    double size;
    *shrunk = false;
    for (int times = 0; times < 2 && moves; times++) {
        spacing /= CLOSER;
        if (!measure_noise(&closer, &size, &with->along, 0.0, spacing, check)) {
            return false;
        }
        moves = size > 0.0 && closer <= with->noise_near * 16.0 / CLOSER;
        with->noise_near = moves ? closer : with->noise_near;
        *shrunk = *shrunk || moves;
    }
    return true;
}

/* At two spacings, since a few jumps may fall so that they look smooth. */
static bool measure_near(double *size, ladder *with, const checker *check) {
    const double spacing = NEAR_SPACING * with->scale;
    double wider;
    if (!measure_noise(&with->noise_near, size, &with->along, 0.0, spacing, check) ||
        !measure_noise(&wider, size, &with->along, 0.0, 3.1 * spacing, check)) {
        return false;
    }
    with->noise_near = fmax(with->noise_near, wider);
    return true;
}

/* Near x, where steps end, and as far from it as they began, since lower precision may not be seen to move near
 * x. Noise is alike in both; where it is much larger near x it may be a kink, and where it is much smaller the
 * function is smooth at that scale. */
static bool find_noise(ladder *with, const checker *check) {
    size_t first = 0;
    double size_near;
    bool shrunk = false;
    while (first + 1 < with->count && !isfinite(with->rungs[first].value)) {
        first++;
    }
    if (!measure_near(&size_near, with, check) ||
        !measure_noise(&with->noise_far, &with->size_far, &with->along, with->steps[first],
            FAR_SPACING * with->scale, check)) {
        return false;
    }
    if (with->noise_near > UNLIKE * with->noise_far && !look_closer(&shrunk, with, check)) {
        return false;
    }
    with->near_alone = shrunk || (size_near > 0.0 && UNLIKE * with->noise_near < with->noise_far);
    return true;
}

/* What the ladder has to do next, once what the decision asks for is done; false: a call failed. */
static bool settle(decision *next, table *of, ladder *with, const checker *check) {
    *next = decide(of, with);
    if (*next == LOOK_NEAR) {
        if (isnan(with->near.value) &&
            !difference_at(&with->near, &with->along, NEAR_STEP * with->scale, check)) {
            return false;
        }
        const bool unknown = isnan(with->noise_near);
        *next = holds_near(of, with) ? END : unknown ? MEASURE_NOISE : GO_DOWN;
    }
    if (*next != MEASURE_NOISE) {
        return true;
    }
    if (!find_noise(with, check)) {
        return false;
    }
    *of = empty_table;
    for (size_t rung = 0; rung < with->count; rung++) {
        fill_table(of, with, rung);
    }
    return settle(next, of, with, check);
}

derivative_status extrapolate_difference(derivative *numeric, size_t b, size_t first, size_t count,
    double scale, double enough, checker *check) {
    const mha_gradcheck_block *block = &check->subject->blocks[b];
    ladder with = {.along = {block->values + first, block->gradient + first, check->weights, count},
        .scale = scale,
        .enough = enough,
        .noise_near = (double)NAN,
        .near = {(double)NAN, 0.0, 0.0, 0.0}};
    with.analytic = direction_slope(&with.along);
    table of = empty_table;
    decision next = GO_DOWN;
    *numeric = (derivative){(double)NAN, (double)NAN, 0.0};
    while (with.count < RUNGS && next != END) {
        const double step = ldexp(scale, -4 - 2 * (int)with.count);
        difference *found = &with.rungs[with.count];
        if (!can_move(&with.along, step)) {
            break;
        }
        if (!difference_at(found, &with.along, step, check)) {
            return DERIVATIVE_CALL_FAILED;
        }
        with.steps[with.count] = step;
        with.here = fmax(with.here, isfinite(found->value) ? found->magnitude_here : 0.0);
        fill_table(&of, &with, with.count++);
        if (!settle(&next, &of, &with, check)) {
            return DERIVATIVE_CALL_FAILED;
        }
    }
    numeric->magnitude = with.here;
    numeric->value = of.best.value;
    numeric->estimate = of.best.estimate;
    return isfinite(of.best.estimate) ? DERIVATIVE_FOUND : DERIVATIVE_NOT_FINITE;
}

/* Its square is far below the rounding of anything, and it is a power of two. */
#define COMPLEX_STEP 0x1p-100

derivative_status complex_step_along(
    double *found, size_t b, size_t first, size_t count, checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    mha_complex *const x = check->complex_blocks[b] + first;
    for (size_t i = 0; i < count; i++) {
        x[i] += check->weights[i] * COMPLEX_STEP * (mha_complex)I;
    }
    for (size_t o = 0; o < subject->output_count; o++) { /* what is not written is not finite */
        for (size_t i = 0; i < subject->outputs[o].count; i++) {
            check->complex_outputs[o][i] = (double)NAN * (mha_complex)I;
        }
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
    *found = done ? sum : (double)NAN;
    if (!done) {
        return DERIVATIVE_CALL_FAILED;
    }
    return isfinite(sum) ? DERIVATIVE_FOUND : DERIVATIVE_NOT_FINITE;
}
