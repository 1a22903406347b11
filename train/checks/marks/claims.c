#include "checks/marks/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t count_of(const struct claim *claim, const struct claim_setting *setting) {
    return mha_value_count(claim->value, setting->shape);
}

double claim_largest(const struct claim *claim, const mha_shape *shape) {
    const size_t count = mha_value_count(claim->value, shape);
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(claim->truth[i]));
    }
    return largest;
}

bool claim_is_off(const struct claim *claim, size_t entry) {
    const double distance = fabs(claim->claimed[entry] - claim->truth[entry]);
    return !(distance <= claim_allowed(claim, entry));
}

bool claim_is_apart(const struct claim *claim, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(claim->claimed[i] - claim->truth[i]) <= CLAIM_CLOSE * claim->allowed)) {
            return true;
        }
    }
    return false;
}

bool claim_is(const struct claim *claim, const double *array, double factor, size_t count) {
    for (size_t i = 0; i < count; i++) {
        /* Other arrays may be large where this one is small. */
        const double allowed = array == claim->truth ? claim_allowed(claim, i) : claim->allowed;
        const double close = CLAIM_CLOSE * allowed * fmax(1.0, fabs(factor));
        if (!(fabs(claim->claimed[i] - factor * array[i]) <= close)) {
            return false;
        }
    }
    return true;
}

/* Counts what is off and finds the entry that is most so. */
static void measure(struct diagnosis *found, const struct claim *claim, size_t count) {
    double worst = 0.0;
    *found = (struct diagnosis){.mark = MARK_RIGHT};
    for (size_t i = 0; i < count; i++) {
        const double distance = fabs(claim->claimed[i] - claim->truth[i]);
        if (!isfinite(claim->claimed[i])) {
            found->wrong += 1;
            if (found->mark != MARK_NOT_FINITE) {
                found->mark = MARK_NOT_FINITE;
                found->entry = i;
            }
        } else if (claim_is_off(claim, i)) {
            found->wrong++;
            if (found->mark != MARK_NOT_FINITE && distance > worst) {
                worst = distance;
                found->entry = i;
                found->mark = MARK_UNKNOWN;
            }
        }
    }
}

/* The factor that brings the truth nearest to the claim. */
static double best_factor(const struct claim *claim, size_t count) {
    double product = 0.0, square = 0.0;
    for (size_t i = 0; i < count; i++) {
        product += claim->claimed[i] * claim->truth[i];
        square += claim->truth[i] * claim->truth[i];
    }
    return square > 0.0 ? product / square : 0.0;
}

#define MOST_TOLERANCE 0.01 /* of a factor that is named */

static bool diagnose_factor(struct diagnosis *found, const struct claim *claim,
    const struct claim_setting *setting, size_t count) {
    const double factor = best_factor(claim, count);
    const double largest = claim_largest(claim, setting->shape);
    if (largest == 0.0 || !claim_is(claim, claim->truth, factor, count)) {
        return false;
    }
    if (fabs(factor) * largest <= CLAIM_CLOSE * claim->allowed) {
        found->mark = MARK_MISSING;
        snprintf(found->text, sizeof found->text, "zero everywhere: no gradient reaches it");
        return true;
    }
    const double tolerance = fmin(2.0 * CLAIM_CLOSE * claim->allowed / largest, MOST_TOLERANCE);
    if (fabs(factor - 1.0) <= tolerance) {
        return false;
    }
    found->factor = factor;
    found->mark = factor_mark(found->text, sizeof found->text, factor, tolerance,
        claim_by_scale(claim, factor, setting), setting->shape);
    return true;
}

static bool diagnose_exchanged(struct diagnosis *found, const struct claim *claim,
    const struct claim_setting *setting, size_t count) {
    for (size_t i = 0; i < setting->count; i++) {
        const struct claim *other = &setting->claims[i];
        if (other == claim || count_of(other, setting) != count ||
            !claim_is(claim, other->truth, 1.0, count)) {
            continue;
        }
        const bool both = claim_is(other, claim->truth, 1.0, count);
        found->mark = MARK_EXCHANGED;
        snprintf(found->text, sizeof found->text,
            both ? "the gradient of %s: the two are exchanged" : "the gradient of %s", other->name);
        return true;
    }
    return false;
}

static bool diagnose_transposed(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    const size_t D = setting->shape->width;
    const mha_value_shape of = mha_value_shape_of(claim->value, setting->shape);
    bool transposed = strcmp(of.axes, "DD") == 0;
    for (size_t i = 0; transposed && i < D * D; i++) {
        transposed = fabs(claim->claimed[i] - claim->truth[i % D * D + i / D]) <=
                     CLAIM_CLOSE * claim->allowed;
    }
    if (transposed) {
        found->mark = MARK_TRANSPOSED;
        snprintf(found->text, sizeof found->text, "the transpose of what is right");
    } else if (setting->untransposed != NULL &&
               claim_is(claim, setting->untransposed, 1.0, of.count)) {
        found->mark = MARK_NOT_TRANSPOSED;
        snprintf(found->text, sizeof found->text, "dy w where dy w^T is right");
        transposed = true;
    }
    return transposed;
}

/* A single pair whose gradient is zero has to do with the mask. */
static bool diagnose_one_entry(struct diagnosis *found, const struct claim *claim,
    const struct claim_setting *setting, size_t count) {
    const double truth = claim->truth[found->entry], claimed = claim->claimed[found->entry];
    if (found->wrong != 1 || count < 4 ||
        (claim_is_of_pairs(claim, setting->shape) && fabs(claimed) <= claim->allowed)) {
        return false;
    }
    found->mark = MARK_ONE_ENTRY;
    if (truth == 0.0) {
        snprintf(found->text, sizeof found->text, "this entry alone, where zero is right");
    } else {
        snprintf(found->text, sizeof found->text, "this entry alone, by %.3g of it",
            (claimed - truth) / truth);
    }
    return true;
}

void diagnose(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    const size_t count = count_of(claim, setting);
    measure(found, claim, count);
    if (found->mark == MARK_NOT_FINITE) {
        snprintf(found->text, sizeof found->text, "not finite");
    }
    if (found->mark != MARK_UNKNOWN || diagnose_one_entry(found, claim, setting, count)) {
        return;
    }
    const bool apart = claim_is_apart(claim, count);
    if (claim_is(claim, claim->truth, 1.0, count) ||
        !(diagnose_factor(found, claim, setting, count) ||
            (apart && (diagnose_exchanged(found, claim, setting, count) ||
                          diagnose_transposed(found, claim, setting) ||
                          diagnose_heads(found, claim, setting) ||
                          diagnose_pairs(found, claim, setting))) ||
            diagnose_slices(found, claim, setting) ||
            (apart && diagnose_parts(found, claim, setting)))) {
        snprintf(found->text, sizeof found->text, "no mark of a common mistake");
    }
}
