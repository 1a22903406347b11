#include "kernels/update.h"

#include "kernels/simd.h"

void square_sums(wide_sum *sum, const mha_real *x, size_t count) {
    wide_sum total = *sum;
    size_t i = 0;
    for (; i + WIDE_LANES <= count; i += WIDE_LANES) {
        for (size_t j = 0; j < WIDE_LANES; j++) {
            total.lane[j] += (wide)x[i + j] * (wide)x[i + j];
        }
    }
    for (size_t j = 0; i + j < count; j++) {
        total.lane[j] += (wide)x[i + j] * (wide)x[i + j];
    }
    *sum = total;
}

/* One row. */
KERNEL_INLINE wide_sum errors_of_row(
    wide_sum sum, mha_real *dx, const mha_real *x, const mha_real *y, mha_real factor, size_t n) {
    size_t i = 0;
    for (; i + WIDE_LANES <= n; i += WIDE_LANES) {
        for (size_t j = 0; j < WIDE_LANES; j++) {
            const wide difference = (wide)(x[i + j] - y[i + j]);
            sum.lane[j] += difference * difference;
        }
    }
    for (size_t j = 0; i + j < n; j++) {
        const wide difference = (wide)(x[i + j] - y[i + j]);
        sum.lane[j] += difference * difference;
    }
    for (i = 0; dx != NULL && i < n; i++) {
        dx[i] += factor * (x[i] - y[i]);
    }
    return sum;
}

void error_sums(wide_sum *sum, mha_real *dx, const mha_real *x, const mha_real *y, mha_real factor,
    const unsigned char *counted, size_t rows, size_t features) {
    wide_sum total = *sum;
    for (size_t r = 0; r < rows; r++) {
        if (counted == NULL || counted[r] != 0) {
            const size_t at = r * features;
            total =
                errors_of_row(total, dx == NULL ? NULL : dx + at, x + at, y + at, factor, features);
        }
    }
    *sum = total;
}

/* A velocity that is not finite makes its weight so too, at a rate of 0 as well: weights alone tell. */
bool update_is_finite(const mha_real *weights, const mha_real *velocity, const mha_real *gradients,
    size_t count, const sgd_factors *factors) {
    const sgd_factors f = *factors;
    lane_bits wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const mha_real weight = sgd_updated(weights[i], velocity[i], gradients[i], &f).weight;
        wrong |= !(weight - weight == 0);
    }
    return wrong == 0;
}

void update_all(mha_real *weights, mha_real *velocity, const mha_real *gradients, size_t count,
    const sgd_factors *factors) {
    const sgd_factors f = *factors;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const sgd_entry next = sgd_updated(weights[i], velocity[i], gradients[i], &f);
        weights[i] = next.weight;
        velocity[i] = next.velocity;
    }
}
