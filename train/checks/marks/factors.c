/* A claim that is a number of times what is right: which number, and what that means. */
#include "checks/marks/claims.h"

#include <math.h>
#include <stdio.h>

struct named_factor {
    double factor;
    enum mark mark;
    const char *text;
};

/* Not 1: where B is 1, an average over the batch is no mistake. */
static const struct named_factor *find_factor(
    const struct named_factor *factors, size_t count, double factor, double tolerance) {
    for (size_t i = 0; i < count; i++) {
        if (factors[i].factor != 1.0 &&
            fabs(factor - factors[i].factor) <= tolerance * fabs(factor)) {
            return &factors[i];
        }
    }
    return NULL;
}

enum mark factor_mark(char *text, size_t size, double factor, double tolerance, enum by_scale scale,
    const mha_shape *shape) {
    const double d = (double)mha_head_width(shape), B = (double)shape->batch;
    const double T = (double)shape->target_length, h = (double)shape->heads;
    const double D = (double)shape->width;
    const struct named_factor scales[] = {
        {sqrt(d), MARK_SCALE_LOST, "sqrt(d) times what is right: the scale 1/sqrt(d) is missing"},
        {1.0 / sqrt(d), MARK_SCALE_TWICE, "1/sqrt(d) times what is right: scaled twice"},
        {1.0 / sqrt(h), MARK_FACTOR, "1/sqrt(h) times what is right: scaled by 1/sqrt(D)"},
        {d, MARK_FACTOR, "d times what is right: scaled by sqrt(d), not 1/sqrt(d)"},
    };
    const struct named_factor others[] = {
        {-1.0, MARK_SIGN, "-1 times what is right: the sign is wrong"},
        {2.0, MARK_TWICE, "2 times what is right: counted twice"},
        {1.0 / B, MARK_FACTOR,
            B == 2.0 ? "half of what is right: averaged over the batch, or halved"
                     : "1/B of what is right: averaged over the batch"},
        {1.0 / (B * T), MARK_FACTOR, "1/(B T) of what is right: averaged over the queries"},
        {1.0 / (B * T * D), MARK_FACTOR, "1/(B T D) of what is right: the loss is a mean"},
        {0.5, MARK_FACTOR, "half of what is right"},
        {B, MARK_FACTOR, "B times what is right: the batch counted again"},
    };
    const bool has_none = d == 1.0 || scale == BY_SCALE_NO;
    const struct named_factor *by_scale =
        has_none ? NULL : find_factor(scales, sizeof scales / sizeof *scales, factor, tolerance);
    const struct named_factor *other =
        find_factor(others, sizeof others / sizeof *others, factor, tolerance);
    if (by_scale != NULL && (scale == BY_SCALE_YES || other == NULL)) {
        snprintf(text, size, "%s", by_scale->text);
        return by_scale->mark;
    }
    if (other == NULL) {
        const bool near_one = fabs(factor - 1.0) < 1e-6;
        snprintf(text, size,
            near_one ? "(1 %+.2g) times what is right" : "%.9g times what is right",
            near_one ? factor - 1.0 : factor);
        return MARK_FACTOR;
    }
    snprintf(text, size, "%s%s%s", other->text, by_scale != NULL ? "; or " : "",
        by_scale != NULL ? by_scale->text : "");
    return other->mark;
}

/* The weight whose gradient is made of the same dQ, dK or dV; MHA_VALUE_COUNT: none. */
static mha_value weight_beside(mha_value value) {
    switch (value) {
    case MHA_QUERY:
    case MHA_Q:
    case MHA_Q_HEADS:
        return MHA_WQ;
    case MHA_K:
    case MHA_K_HEADS:
        return MHA_WK;
    default:
        return MHA_VALUE_COUNT;
    }
}

/* Whether the scores stand between the loss and the value, so that their scale is a factor of its gradient. */
static bool is_behind_scores(mha_value value) {
    return value == MHA_WQ || value == MHA_WK || value == MHA_SCORES || value == MHA_SOURCE ||
           weight_beside(value) != MHA_VALUE_COUNT;
}

enum by_scale claim_by_scale(
    const struct claim *claim, double factor, const struct claim_setting *setting) {
    bool query = false, key = false, pure = true, cross = false;
    if (!is_behind_scores(claim->value)) {
        return BY_SCALE_NO;
    }
    for (size_t i = 0; i < setting->count; i++) {
        const struct claim *other = &setting->claims[i];
        const size_t count = mha_value_count(other->value, setting->shape);
        const bool same = claim_is(other, other->truth, factor, count);
        query = query || (other->value == MHA_WQ && same);
        key = key || (other->value == MHA_WK && same);
        const bool beside = other->value == weight_beside(claim->value);
        pure = pure && (other->value != MHA_QUERY || claim->value != MHA_WQ || same);
        cross = cross || other->value == MHA_SOURCE;
        if ((!is_behind_scores(other->value) && same) || (beside && !same)) {
            return BY_SCALE_NO;
        }
    }
    if (cross && !pure) { /* dQ is right */
        return BY_SCALE_NO;
    }
    return claim->value == MHA_SCORES || (query && key) ? BY_SCALE_YES : BY_SCALE_MAYBE;
}
