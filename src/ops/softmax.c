#include "base/real.h"

/* exp(x), with 0 in place of what is below the smallest normal number: such weights change no sum,
 * and denormal operands slow the products down. A NaN stays a NaN. */
static mha_real weight_exp(mha_real x) {
    const mha_real e = real_exp(x);
    return real_re(e) < REAL_SMALLEST ? REAL(0.0) : e;
}

/* The largest allowed entry, by its real part. A NaN is passed over here and reaches every weight of
 * the row through the sum. */
static mha_real row_maximum(const mha_real *x, const mha_mask_row *row) {
    mha_real maximum = -REAL_INFINITY;
    for (size_t s = 0; s < row->limit; s++) {
        if (mha_mask_row_allows(row, s) && real_re(x[s]) > real_re(maximum)) {
            maximum = real_re(x[s]);
        }
    }
    return maximum;
}

static bool row_is_empty(const mha_mask_row *row) {
    for (size_t s = 0; s < row->limit; s++) {
        if (mha_mask_row_allows(row, s)) {
            return false;
        }
    }
    return true;
}

static void softmax_row(mha_real *weights, const mha_real *x, const mha_mask_row *row, size_t S) {
    if (row_is_empty(row)) {
        for (size_t s = 0; s < S; s++) {
            weights[s] = REAL(0.0);
        }
        return;
    }
    const mha_real maximum = row_maximum(x, row);
    mha_real sum = REAL(0.0);
    for (size_t s = 0; s < S; s++) {
        weights[s] = mha_mask_row_allows(row, s) ? weight_exp(x[s] - maximum) : REAL(0.0);
        sum += weights[s];
    }
    const mha_real inverse = REAL(1.0) / sum;
    for (size_t s = 0; s < row->limit; s++) {
        if (mha_mask_row_allows(row, s)) {
            weights[s] *= inverse;
        }
    }
}

void mha_softmax_forward(
    mha_real *weights, const mha_real *masked, const mha_mask *mask, const mha_shape *shape) {
    const size_t S = shape->source_length;
    if (S == 0) {
        return;
    }
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            for (size_t t = 0; t < shape->target_length; t++) {
                const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
                softmax_row(weights, masked, &row, S);
                weights += S;
                masked += S;
            }
        }
    }
}

/* dx[s] += w[s] (dw[s] - sum_r w[r] dw[r]) over the allowed keys. */
static void softmax_row_backward(
    mha_real *dx, const mha_real *dweights, const mha_real *weights, const mha_mask_row *row) {
    mha_real dot = REAL(0.0);
    for (size_t s = 0; s < row->limit; s++) {
        if (mha_mask_row_allows(row, s)) {
            dot += weights[s] * dweights[s];
        }
    }
    for (size_t s = 0; s < row->limit; s++) {
        if (mha_mask_row_allows(row, s)) {
            dx[s] += weights[s] * (dweights[s] - dot);
        }
    }
}

void mha_softmax_backward(mha_real *dmasked, const mha_real *dweights, const mha_real *weights,
    const mha_mask *mask, const mha_shape *shape) {
    if (dmasked == NULL) {
        return;
    }
    const size_t S = shape->source_length;
    if (S == 0) {
        return;
    }
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            for (size_t t = 0; t < shape->target_length; t++) {
                const mha_mask_row row = mha_mask_row_at(mask, shape, b, h, t);
                softmax_row_backward(dmasked, dweights, weights, &row);
                dmasked += S;
                dweights += S;
                weights += S;
            }
        }
    }
}
