#include "claims_made.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include <mha/rng.h>

/* B T S D h; d = 6: no two factors are the same number. */
const mha_shape claims_shape = {3, 4, 5, 12, 2};

struct claim claims[MHA_VALUE_COUNT];
double truth[MHA_VALUE_COUNT][CLAIMS_MOST], claimed[MHA_VALUE_COUNT][CLAIMS_MOST];
static double untransposed[CLAIMS_MOST], weights[CLAIMS_MOST];
static unsigned char allowed[CLAIMS_MOST];
static mha_mask mask;

static bool is_blocked(size_t pair) {
    return pair % 7 == 3;
}

/* Gradients by pairs are zero where the mask blocks, and by the masked scores of rows that sum to zero. */
static void make_pairs(double *numbers, size_t count, bool sum_to_zero) {
    const size_t S = claims_shape.source_length;
    for (size_t row = 0; row < count / S; row++) {
        double sum = 0.0, seen = 0.0;
        for (size_t i = row * S; i < (row + 1) * S; i++) {
            allowed[i] = !is_blocked(i);
            numbers[i] *= allowed[i];
            sum += numbers[i];
            seen += allowed[i];
        }
        for (size_t i = row * S; i < (row + 1) * S && sum_to_zero; i++) {
            numbers[i] -= allowed[i] * sum / seen;
        }
    }
}

void claims_fill(void) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){41}, 1);
    mask = (mha_mask){.allowed = allowed, .rank = 4, .dims = {3, 2, 4, 5}};
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        const mha_value_shape of = mha_value_shape_of((mha_value)value, &claims_shape);
        ck_assert_uint_le(of.count, CLAIMS_MOST);
        for (size_t i = 0; i < of.count; i++) {
            truth[value][i] = mha_rng_normal(&rng);
        }
        if (strcmp(of.axes, "BhTS") == 0) {
            make_pairs(truth[value], of.count, value == MHA_MASKED);
        }
        memcpy(claimed[value], truth[value], of.count * sizeof(double));
        claims[value] = (struct claim){
            of.name, (mha_value)value, claimed[value], truth[value], .allowed = 1e-12};
    }
    for (size_t i = 0; i < CLAIMS_MOST; i++) {
        untransposed[i] = mha_rng_normal(&rng);
        weights[i] = allowed[i] * mha_rng_random(&rng);
    }
}

struct diagnosis diagnosis_of(mha_value value) {
    const struct claim_setting setting = {.shape = &claims_shape,
        .mask = &mask,
        .claims = claims,
        .count = MHA_VALUE_COUNT,
        .weights = weights,
        .untransposed = value == MHA_SOURCE ? untransposed : NULL};
    struct diagnosis found;
    memset(&found, 0xff, sizeof found);
    diagnose(&found, &claims[value], &setting);
    ck_assert_ptr_nonnull(memchr(found.text, '\0', sizeof found.text));
    return found;
}

/* The mistakes; `by` is a factor, an index or another value. */

size_t claims_count(mha_value value) {
    return mha_value_count(value, &claims_shape);
}

void nothing(mha_value value, double by) {
    (void)value, (void)by;
}

void multiplied(mha_value value, double by) {
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] *= by;
    }
}

void noisy(mha_value value, double by) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){42}, 1);
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] += by * mha_rng_normal(&rng);
    }
}

void one_number(mha_value value, double by) {
    claimed[value][11] = by;
}

void one_entry(mha_value value, double by) {
    claimed[value][11] *= by;
}

void copied(mha_value value, double by) {
    memcpy(claimed[value], truth[(size_t)by], claims_count(value) * sizeof(double));
}

void exchanged(mha_value value, double by) {
    copied(value, by);
    copied((mha_value)by, (double)value);
}

void transposed(mha_value value, double by) {
    const size_t D = claims_shape.width;
    for (size_t i = 0; i < D * D; i++) {
        claimed[value][i] = by * truth[value][i % D * D + i / D];
    }
}

void not_transposed(mha_value value, double by) {
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] = by * untransposed[i];
    }
}

/* Head 1 - head in place of each, or head `by` of both. */
void heads_from(mha_value value, double by) {
    const mha_value_shape of = mha_value_shape_of(value, &claims_shape);
    const size_t D = claims_shape.width, d = D / 2;
    const size_t stride = of.axes[1] == 'h' ? of.count / 6 : value == MHA_WO ? d * D : d;
    for (size_t i = 0; i < of.count; i++) {
        size_t head, heads;
        ck_assert(claim_coordinate(&head, &heads, value, AXIS_HEAD, i, &claims_shape));
        const size_t from = by < 0.0 ? 1 - head : (size_t)by;
        claimed[value][i] = truth[value][i - head * stride + from * stride];
    }
}

/* (B,L,h,d) read as (B,h,L,d), or the other way round. */
void regrouped(mha_value value, double by) {
    const size_t D = claims_shape.width, d = D / 2,
                 L = claims_count(value) / D / claims_shape.batch;
    for (size_t i = 0; i < claims_count(value); i++) {
        const size_t b = i / D / L, l = i / D % L, head = i % D / d, k = i % d;
        const size_t split = b * L * D + (head * L + l) * d + k;
        claimed[value][by > 0.0 ? i : split] = truth[value][by > 0.0 ? split : i];
    }
}

void blocked_pairs(mha_value value, double by) {
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] += is_blocked(i) ? by : 0.0;
    }
}

/* The first pair of each row. */
void seen_pairs(mha_value value, double by) {
    for (size_t i = 0; i < claims_count(value); i += claims_shape.source_length) {
        claimed[value][i] *= by;
    }
}

void rows_moved(mha_value value, double by) {
    const size_t S = claims_shape.source_length;
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] += by * (double)(i / S % 3) * weights[i];
    }
}

void rows_spoiled(mha_value value, double by) {
    for (size_t i = 0; i < claims_count(value); i++) {
        claimed[value][i] *= 1.0 + by * (double)(i % 5);
    }
}

static void slice_times(mha_value value, enum claim_axis axis, size_t first, double by) {
    for (size_t i = 0; i < claims_count(value); i++) {
        size_t at, length;
        ck_assert(claim_coordinate(&at, &length, value, axis, i, &claims_shape));
        claimed[value][i] *= at >= first ? by : 1.0;
    }
}

void last_head(mha_value value, double by) {
    slice_times(value, AXIS_HEAD, 1, by);
}

void last_samples(mha_value value, double by) {
    slice_times(value, AXIS_SAMPLE, 1, by);
}

void last_target(mha_value value, double by) {
    slice_times(value, AXIS_TARGET, 3, by);
}

void last_sources(mha_value value, double by) {
    slice_times(value, AXIS_SOURCE, 3, by);
}
