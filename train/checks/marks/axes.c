/* Marks that have to do with heads, samples, positions and pairs. */
#include "checks/marks/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_heads_side_by_side(mha_value value) {
    return value == MHA_Q || value == MHA_K || value == MHA_V || value == MHA_CONTEXT;
}

bool claim_coordinate(size_t *at, size_t *length, mha_value value, enum claim_axis axis,
    size_t entry, const mha_shape *shape) {
    static const char letters[AXIS_COUNT] = {
        [AXIS_HEAD] = 'h', [AXIS_SAMPLE] = 'B', [AXIS_TARGET] = 'T', [AXIS_SOURCE] = 'S'};
    const mha_value_shape of = mha_value_shape_of(value, shape);
    const size_t D = shape->width, d = mha_head_width(shape);
    if (axis == AXIS_HEAD && (has_heads_side_by_side(value) || strcmp(of.axes, "DD") == 0)) {
        *length = shape->heads;
        *at = (value == MHA_WO ? entry / D : entry % D) / d;
        return true;
    }
    bool has = false;
    for (size_t i = of.rank; i-- > 0; entry /= of.dims[i]) {
        if (of.axes[i] == letters[axis]) {
            *at = entry % of.dims[i];
            *length = of.dims[i];
            has = true;
        }
    }
    return has;
}

void claim_entry_text(
    char *text, size_t size, const struct claim *claim, size_t entry, const mha_shape *shape) {
    const mha_value_shape of = mha_value_shape_of(claim->value, shape);
    size_t index[MHA_VALUE_RANK] = {0}, rest = entry, head, heads;
    for (size_t i = of.rank; i-- > 0; rest /= of.dims[i]) {
        index[i] = rest % of.dims[i];
    }
    size_t used = (size_t)snprintf(text, size, "%s[", claim->name);
    for (size_t i = 0; i < of.rank && used < size; i++) {
        used += (size_t)snprintf(
            text + used, size - used, "%zu%s", index[i], i + 1 == of.rank ? "]" : ",");
    }
    if (used < size && claim_coordinate(&head, &heads, claim->value, AXIS_HEAD, entry, shape)) {
        snprintf(text + used, size - used, " (head %zu)", head);
    }
}

/* The entry of head `other` that stands where `entry` stands in its own. */
static size_t in_head(
    size_t entry, size_t head, size_t other, mha_value value, const mha_shape *shape) {
    const size_t d = mha_head_width(shape), D = shape->width;
    const mha_value_shape of = mha_value_shape_of(value, shape);
    size_t stride = of.axes[1] == 'h' ? of.count / shape->batch / shape->heads : d;
    stride = value == MHA_WO ? d * D : stride;
    return entry - head * stride + other * stride;
}

/* Whether the claim's head is the truth's other head. */
static bool head_is(
    const struct claim *claim, size_t head, size_t other, const struct claim_setting *setting) {
    const size_t count = mha_value_count(claim->value, setting->shape);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0, heads;
        claim_coordinate(&at, &heads, claim->value, AXIS_HEAD, i, setting->shape);
        const size_t from = in_head(i, at, other, claim->value, setting->shape);
        if (at == head &&
            !(fabs(claim->claimed[i] - claim->truth[from]) <= CLAIM_CLOSE * claim->allowed)) {
            return false;
        }
    }
    return true;
}

static bool diagnose_permuted(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    const size_t heads = setting->shape->heads;
    char order[112] = "";
    size_t used = 0;
    for (size_t head = 0; head < heads; head++) {
        size_t other = 0;
        while (other < heads && !head_is(claim, head, other, setting)) {
            other++;
        }
        if (other == heads) {
            return false;
        }
        if (used < 64) {
            used += (size_t)snprintf(
                order + used, sizeof order - used, "%s%zu", head == 0 ? "" : " ", other);
        } else if (head == heads - 1) {
            snprintf(order + used, sizeof order - used, " and so on");
        }
    }
    found->mark = MARK_HEADS_PERMUTED;
    snprintf(found->text, sizeof found->text, "the heads in another order: %s", order);
    return true;
}

/* Whether the numbers are right but stand as (B,L,h,d) where (B,h,L,d) belongs, or the other way round. */
static bool is_regrouped(const struct claim *claim, size_t length, const mha_shape *shape) {
    const size_t h = shape->heads, d = mha_head_width(shape), D = shape->width;
    bool one = true, other = true;
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t i = 0; i < length * D; i++) {
            const size_t l = i / D, head = i % D / d, k = i % d;
            const size_t base = b * length * D, split = base + (head * length + l) * d + k;
            const double close = CLAIM_CLOSE * claim->allowed;
            one = one && fabs(claim->claimed[base + i] - claim->truth[split]) <= close;
            other = other && fabs(claim->claimed[split] - claim->truth[base + i]) <= close;
        }
    }
    return h > 1 && length > 1 && (one || other);
}

bool diagnose_heads(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    size_t head, heads;
    if (!claim_coordinate(&head, &heads, claim->value, AXIS_HEAD, 0, setting->shape)) {
        return false;
    }
    const mha_value_shape of = mha_value_shape_of(claim->value, setting->shape);
    if (strcmp(of.axes, "DD") != 0 && !claim_is_of_pairs(claim, setting->shape) &&
        is_regrouped(
            claim, of.count / setting->shape->batch / setting->shape->width, setting->shape)) {
        found->mark = MARK_HEADS_REGROUPED;
        snprintf(found->text, sizeof found->text,
            "right numbers in wrong places: a reshape without the transpose between heads and "
            "positions");
        return true;
    }
    return diagnose_permuted(found, claim, setting);
}

bool claim_is_of_pairs(const struct claim *claim, const mha_shape *shape) {
    return strcmp(mha_value_shape_of(claim->value, shape).axes, "BhTS") == 0;
}

static bool is_seen(size_t entry, const struct claim_setting *setting) {
    const mha_shape *shape = setting->shape;
    const size_t S = shape->source_length, row = entry / S, bh = row / shape->target_length;
    const mha_mask_row at = mha_mask_row_at(
        setting->mask, shape, bh / shape->heads, bh % shape->heads, row % shape->target_length);
    return mha_mask_row_allows(&at, entry % S);
}

/* Whether each row is off by its attention weights times one number, some of them not zero: what is left of
 * dS = P (dP - sum over keys of P dP) when that sum is another number. */
static bool row_term_is_off(
    const struct claim *claim, size_t count, const struct claim_setting *setting) {
    const size_t S = setting->shape->source_length;
    bool some = false;
    for (size_t row = 0; row < count / S; row++) {
        const double *claimed = claim->claimed + row * S, *truth = claim->truth + row * S;
        const double *weights = setting->weights + row * S;
        double product = 0.0, square = 0.0;
        for (size_t s = 0; s < S; s++) {
            product += weights[s] * (claimed[s] - truth[s]);
            square += weights[s] * weights[s];
        }
        const double term = square > 0.0 ? product / square : 0.0;
        for (size_t s = 0; s < S; s++) {
            const double left = claimed[s] - truth[s] - term * weights[s];
            if (!(fabs(left) <= CLAIM_CLOSE * claim->allowed)) {
                return false;
            }
        }
        some = some || fabs(term) * square > CLAIM_CLOSE * claim->allowed;
    }
    return some;
}

bool diagnose_pairs(
    struct diagnosis *found, const struct claim *claim, const struct claim_setting *setting) {
    if (!claim_is_of_pairs(claim, setting->shape)) {
        return false;
    }
    const size_t count = mha_value_count(claim->value, setting->shape);
    size_t blocked = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        const bool zero = fabs(claim->claimed[i]) <= claim->allowed;
        const bool zero_truth = fabs(claim->truth[i]) <= claim->allowed, seen = is_seen(i, setting);
        blocked += !seen && !zero && zero_truth;
        lost += seen && zero && !zero_truth;
    }
    if (blocked > 0) {
        found->mark = MARK_BLOCKED_PAIRS;
        snprintf(found->text, sizeof found->text,
            "not zero at %zu pairs that the mask blocks: the mask is forgotten", blocked);
    } else if (lost > 0) {
        found->mark = MARK_SEEN_PAIRS;
        snprintf(found->text, sizeof found->text,
            "zero at %zu pairs that the mask allows: the mask is another one", lost);
    } else if (setting->weights != NULL && row_term_is_off(claim, count, setting)) {
        found->mark = MARK_SOFTMAX_ROWS;
        snprintf(found->text, sizeof found->text,
            "rows do not sum to zero: the row term of the softmax, sum over keys of P dP, is "
            "missing or wrong");
    }
    return found->mark != MARK_UNKNOWN;
}
