/* Marks that are confined to some heads, samples or positions. */
#include "checks/marks/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One coordinate of an axis: is anything off there, and if so by which factor. */
struct slice {
    bool off, is_factor;
    double product, square;
};

static double factor_of(const struct slice *of) {
    return of->square > 0.0 ? of->product / of->square : 0.0;
}

static void measure_slices(struct slice *slices, const struct claim *claim, enum claim_axis axis,
    const struct claim_setting *setting) {
    const size_t count = mha_value_count(claim->value, setting->shape);
    size_t at, length;
    for (size_t i = 0; i < count; i++) {
        claim_coordinate(&at, &length, claim->value, axis, i, setting->shape);
        struct slice *of = &slices[at];
        const double claimed = claim->claimed[i], truth = claim->truth[i];
        of->off = of->off || claim_is_off(claim, i);
        of->product += claimed * truth;
        of->square += truth * truth;
        of->is_factor = true;
    }
    for (size_t i = 0; i < count; i++) {
        claim_coordinate(&at, &length, claim->value, axis, i, setting->shape);
        const double factor = factor_of(&slices[at]);
        const double distance = fabs(claim->claimed[i] - factor * claim->truth[i]);
        if (!(distance <= CLAIM_CLOSE * claim_allowed(claim, i) * fmax(1.0, fabs(factor)))) {
            slices[at].is_factor = false;
        }
    }
}

static const struct {
    const char *one, *several;
    enum mark mark;
} names[AXIS_COUNT] = {[AXIS_HEAD] = {"head", "heads", MARK_HEAD},
    [AXIS_SAMPLE] = {"sample", "samples", MARK_SAMPLE},
    [AXIS_TARGET] = {"target position", "target positions", MARK_POSITION},
    [AXIS_SOURCE] = {"source position", "source positions", MARK_POSITION}};

enum { ROUGHLY = 10000 }; /* factors are one that differ by less than one in this many */

/* Whether all slices that are off have one factor, and others are right. */
static bool is_confined(double *factor, size_t *off, const struct slice *slices, size_t length) {
    *off = 0;
    for (size_t i = 0; i < length; i++) {
        if (!slices[i].off) {
            continue;
        }
        const double here = factor_of(&slices[i]);
        const double apart = *off == 0 ? 0.0 : fabs(here - *factor);
        if (!slices[i].is_factor || apart * ROUGHLY > fmax(1.0, fabs(*factor))) {
            return false;
        }
        *factor = here;
        ++*off;
    }
    return *off < length;
}

static void put_into_words(struct diagnosis *found, enum claim_axis axis,
    const struct slice *slices, size_t length, double factor, size_t off) {
    char places[112] = ""; /* the first of them, as far as there is room */
    size_t used = 0, named = 0;
    for (size_t i = 0; i < length && used < 64; i++) {
        if (slices[i].off) {
            used += (size_t)snprintf(places + used, sizeof places - used, " %zu", i);
            named++;
        }
    }
    snprintf(places + used, sizeof places - used, "%s", named < off ? " and others" : "");
    const char *plural = off == 1 ? names[axis].one : names[axis].several;
    found->mark = names[axis].mark;
    if (fabs(factor) * ROUGHLY <= 1.0) {
        snprintf(found->text, sizeof found->text, "zero in %s%s, right elsewhere", plural, places);
    } else {
        snprintf(found->text, sizeof found->text,
            "%.6g times what is right in %s%s, right elsewhere", factor, plural, places);
    }
}

bool diagnose_slices(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    bool confined = false;
    for (int axis = 0; axis < AXIS_COUNT && !confined; axis++) {
        size_t at, length, off;
        double factor = 0.0;
        if (!claim_coordinate(
                &at, &length, claim->value, (enum claim_axis)axis, 0, setting->shape)) {
            continue;
        }
        struct slice *slices = calloc(length, sizeof *slices);
        if (slices == NULL) {
            return false;
        }
        measure_slices(slices, claim, (enum claim_axis)axis, setting);
        confined = is_confined(&factor, &off, slices, length);
        if (confined) {
            put_into_words(found, (enum claim_axis)axis, slices, length, factor, off);
        }
        free(slices);
    }
    return confined;
}
