/* The order at which the remainder of Taylor's theorem vanishes. */
#include <float.h>
#include <math.h>

#include "learn/checker.h"

/* All blocks at once, one behind the other: the direction, in units of the step. */
static void draw_direction(double *weights, checker *check) {
    const double *x = check->values;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const size_t count = checker_entries(&check->subject->blocks[b]);
        for (size_t i = 0; i < count; i++, x++) {
            *weights++ = fmax(1.0, fabs(*x)) * mha_rng_normal(&check->rng);
        }
    }
}

/* The change of L that is left when the gradient's part is taken off. */
typedef struct rest {
    double value, rounding;
    bool moved; /* any output */
} rest;

/* Moves all entries from where they were kept by weights * step, and adds up what the gradient says of that. */
static rest move_all(const double *weights, double step, const checker *check) {
    rest predicted = {0.0, 0.0, false};
    const double *kept = check->values;
    for (size_t b = 0; b < check->subject->block_count; b++) {
        const mha_gradcheck_block *block = &check->subject->blocks[b];
        const size_t count = checker_entries(block);
        for (size_t i = 0; i < count; i++, kept++) {
            block->values[i] = *kept + *weights++ * step;
            const double part = block->gradient[i] * (block->values[i] - *kept);
            predicted.value += part;
            predicted.rounding += DBL_EPSILON * fabs(part);
        }
    }
    return predicted;
}

/* false: forward failed. */
static bool remainder_at(rest *left, const double *weights, double step, const checker *check) {
    const rest predicted = move_all(weights, step, check);
    const bool done = check->subject->forward(check->subject->context);
    double change = 0.0;
    *left = predicted;
    for (size_t t = 0; t < check->term_count; t++) {
        const term *at = &check->terms[t];
        const double by = at->r * (*at->value - at->first);
        change += by;
        left->moved = left->moved || by != 0.0;
        left->rounding += DBL_EPSILON * fabs(at->r) * fmax(fabs(*at->value), fabs(at->first));
    }
    left->value = fabs(change - predicted.value);
    return done;
}

enum { PLATEAU = 8, STEADY = 16 };

/* From step n on: a remainder that vanishes like the step falls by 2^PLATEAU. */
static bool stays(const mha_gradcheck_taylor *of, size_t n) {
    double greatest = 0.0;
    for (size_t i = n; i <= n + PLATEAU; i++) {
        greatest = fmax(greatest, of->remainder[i]);
    }
    return greatest < STEADY * of->remainder[n + PLATEAU];
}

/* What does not shrink with the step is noise of L, in single precision say: it counts as rounding at every step. */
static void count_noise(mha_gradcheck_taylor *of) {
    double noise = 0.0;
    for (size_t n = 0; n + PLATEAU < of->count; n++) {
        noise = stays(of, n) ? fmax(noise, of->remainder[n + PLATEAU]) : noise;
    }
    for (size_t n = 0; n < of->count; n++) {
        of->rounding[n] = fmax(of->rounding[n], noise);
    }
}

/* Steps and remainders along one direction; false: a call failed. Steps that are too small to move L, once it
 * moved, say nothing. */
static bool trace(mha_gradcheck_taylor *of, const double *weights, const checker *check) {
    bool done = true, moved = false;
    of->count = 0;
    for (int n = 0; n < MHA_GRADCHECK_TAYLOR_STEPS && done; n++) {
        const double step = ldexp(1.0, -3 - n);
        rest up, down = {0.0, 0.0, false};
        done =
            remainder_at(&up, weights, step, check) && remainder_at(&down, weights, -step, check);
        const bool moves = up.moved || down.moved;
        if (done && isfinite(up.value) && isfinite(down.value) && (moves || !moved)) {
            of->step[of->count] = step;
            of->remainder[of->count] = fmax(up.value, down.value);
            of->rounding[of->count] = fmax(up.rounding, down.rounding);
            of->count++;
        }
        moved = moved || moves;
    }
    put_values_back(check);
    count_noise(of);
    return done;
}

/* How far above rounding a remainder has to be for its logarithm to have two digits. */
enum { CLEAR_OF_ROUNDING = 256 };

/* By how much orders at neighbouring steps differ where the remainder follows no power. */
#define MOST_APART 0.5

static double order_of(const mha_gradcheck_taylor *of) {
    double order = of->count > 0 ? HUGE_VAL : (double)NAN, before = HUGE_VAL;
    for (size_t n = 0; n + 1 < of->count; n++) {
        const bool neighbours = of->step[n + 1] * 2.0 >= of->step[n];
        if (neighbours && of->remainder[n + 1] > CLEAR_OF_ROUNDING * of->rounding[n + 1]) {
            before = order;
            order = log2(of->remainder[n] / of->remainder[n + 1]);
        }
    }
    return isfinite(before) && fabs(order - before) > MOST_APART ? (double)NAN : order;
}

/* That there are gradients, and that they are finite. */
static bool gradients_are_finite(const mha_gradcheck_case *subject) {
    size_t all = 0;
    for (size_t b = 0; b < subject->block_count; b++) {
        const size_t count = checker_entries(&subject->blocks[b]);
        all += count;
        for (size_t i = 0; i < count; i++) {
            if (!isfinite(subject->blocks[b].gradient[i])) {
                return false;
            }
        }
    }
    return all > 0;
}

/* Room for a direction stands where check_invariants keeps gradients. */
static void trace_directions(mha_gradcheck_taylor *taylor, checker *check) {
    for (size_t n = 0; n < check->options->directions; n++) {
        mha_gradcheck_taylor next;
        draw_direction(check->gradients, check);
        if (!trace(&next, check->gradients, check)) {
            taylor->order = (double)NAN;
            return;
        }
        next.order = order_of(&next);
        if (n == 0 || next.order < taylor->order || isnan(next.order)) {
            *taylor = next;
        }
        if (isnan(next.order)) {
            return;
        }
    }
}

mha_status mha_gradcheck_taylor_run(mha_gradcheck_taylor *taylor, const mha_gradcheck_case *subject,
    const mha_gradcheck_options *options, mha_error *error) {
    checker check = {.subject = subject, .options = options};
    checker_room room;
    mha_status status = checker_check_arguments(&room, taylor, subject, options, error);
    if (status == MHA_OK) {
        status = checker_begin(&check, &room, error);
    }
    if (status == MHA_OK) {
        *taylor = (mha_gradcheck_taylor){.order = (double)NAN};
        keep_values(&check);
        const bool usable = checker_evaluate(&check) == MHA_GRADCHECK_PASS && check.term_count > 0;
        put_values_back(&check);
        if (usable && gradients_are_finite(subject)) {
            trace_directions(taylor, &check);
        }
    }
    checker_free(&check);
    return status;
}
