#include "learn/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

double direction_slope(const direction *along) {
    double slope = 0.0;
    for (size_t i = 0; i < along->count; i++) {
        slope += along->gradient[i] * along->weights[i];
    }
    return slope;
}

static void move(const direction *along, const double *kept, double step) {
    for (size_t i = 0; i < along->count; i++) {
        along->x[i] = kept[i] + step * along->weights[i];
    }
}

/* What (x + step) - (x - step) really is of entry i, in units of twice the step. */
static double moved_weight(const direction *along, const double *kept, size_t i, double step) {
    const double by = step * along->weights[i];
    return ((kept[i] + by) - (kept[i] - by)) / (2.0 * step);
}

/* The change of L between the values ahead and those now, term by term: what does not move adds no
 * rounding. */
static difference change_of(const checker *check) {
    difference change = {0.0, 0.0, 0.0, 0.0};
    for (size_t t = 0; t < check->term_count; t++) {
        const term *at = &check->terms[t];
        const double behind = *at->value, by = at->ahead - behind;
        if (by != 0.0) { /* NaN too */
            change.value += at->r * by;
            change.magnitude += fabs(at->r) * fmax(fabs(at->ahead), fabs(behind));
            change.magnitude_here += fabs(at->r * at->first);
        }
    }
    change.rounding = DBL_EPSILON * change.magnitude;
    return change;
}

/* The derivative from the change: an entry alone divides by the distance it moved; of several, what the gradient
 * makes of the distances that rounding added is taken off again, which changes the distance from the gradient by
 * that share of it, no more than MOST_LOST. */
static difference derivative_of(
    difference change, const direction *along, const double *kept, double step) {
    const double unit = 2.0 * step;
    difference found = change;
    found.value /= unit;
    found.rounding /= unit;
    if (along->count == 1) {
        found.value *= along->weights[0] / moved_weight(along, kept, 0, step);
        return found;
    }
    for (size_t i = 0; i < along->count; i++) {
        found.value -=
            along->gradient[i] * (moved_weight(along, kept, i, step) - along->weights[i]);
    }
    return found;
}

#define MOST_LOST 0x1p-20

/* Of a direction, and of what the gradient makes of it, next to nothing may be lost to rounding. */
bool can_move(const direction *along, double step) {
    double lost = 0.0, wanted = 0.0, slope_lost = 0.0, slope_wanted = 0.0;
    if (along->count == 1) {
        return fabs(moved_weight(along, along->x, 0, step)) > 0.0;
    }
    for (size_t i = 0; i < along->count; i++) {
        const double weight = along->weights[i];
        const double by = fabs(moved_weight(along, along->x, i, step) - weight);
        lost += by;
        wanted += fabs(weight);
        slope_lost += by * fabs(along->gradient[i]);
        slope_wanted += fabs(weight * along->gradient[i]);
    }
    return lost <= MOST_LOST * wanted && !(slope_lost > MOST_LOST * slope_wanted);
}

bool difference_at(difference *found, const direction *along, double step, const checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    const size_t bytes = along->count * sizeof *along->x;
    memcpy(check->kept, along->x, bytes);
    move(along, check->kept, step);
    bool done = subject->forward(subject->context);
    for (size_t t = 0; t < check->term_count; t++) {
        check->terms[t].ahead = *check->terms[t].value;
    }
    move(along, check->kept, -step);
    done = done && subject->forward(subject->context);
    memcpy(along->x, check->kept, bytes);
    *found = derivative_of(change_of(check), along, check->kept, step);
    return done;
}

/* L at x + step, less L at x, and how large the outputs are that moved; false: forward failed. */
static bool change_at(
    double *change, double *magnitude, const direction *along, double step, const checker *check) {
    const mha_gradcheck_case *subject = check->subject;
    const size_t bytes = along->count * sizeof *along->x;
    memcpy(check->kept, along->x, bytes);
    move(along, check->kept, step);
    const bool done = subject->forward(subject->context);
    memcpy(along->x, check->kept, bytes);
    *change = *magnitude = 0.0;
    for (size_t t = 0; t < check->term_count; t++) {
        const term *at = &check->terms[t];
        const double by = at->r * (*at->value - at->first);
        *change += by;
        *magnitude += by != 0.0 ? fabs(at->r * *at->value) : 0.0;
    }
    return done;
}

/* Nearly evenly spaced, so that sixth differences are small, but not in step with the units of any rounding. */
static const double noise_points[] = {
    -4.1327, -2.8613, -2.1159, -0.9071, 0.0, 1.1483, 1.8937, 3.1291, 3.9173};
enum {
    NOISE_POINTS = sizeof noise_points / sizeof *noise_points,
    NOISE_DIFFERENCE = 7 /* points of a sixth difference */
};

/* A divided difference of errors of variance 1 would have variance 1. */
static double scaled_difference(const double *values, const double *points) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < NOISE_DIFFERENCE; i++) {
        double weight = 1.0;
        for (int j = 0; j < NOISE_DIFFERENCE; j++) {
            weight /= i == j ? 1.0 : points[i] - points[j];
        }
        sum += weight * values[i];
        squares += weight * weight;
    }
    return sum / sqrt(squares);
}

/* Of the outputs. What is more is no noise, but a kink or a pole. */
#define MOST_NOISE 0x1p-10

bool measure_noise(double *noise, double *size, const direction *along, double offset,
    double spacing, const checker *check) {
    double changes[NOISE_POINTS], magnitude, largest = 0.0, squares = 0.0;
    for (int i = 0; i < NOISE_POINTS; i++) {
        const double step = offset + noise_points[i] * spacing;
        if (!change_at(&changes[i], &magnitude, along, step, check)) {
            return false;
        }
        largest = fmax(largest, magnitude);
    }
    *size = largest;
    const int count = NOISE_POINTS - NOISE_DIFFERENCE + 1;
    for (int i = 0; i < count; i++) {
        const double error = scaled_difference(changes + i, noise_points + i);
        squares += error * error;
    }
    const double found = sqrt(squares / count);
    *noise = isfinite(found) && found <= MOST_NOISE * largest ? found : 0.0;
    return true;
}
