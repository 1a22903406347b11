#include "base/real.h"

#include "kernels/kernels.h"

wide mha_gradient_norm(const mha_real *gradients, size_t count) {
    wide_sum sum = {{0}};
    kernels_get()->add_squares(&sum, gradients, count);
    return sqrt(wide_sum_total(&sum));
}

static bool entry_is_finite(sgd_entry e) {
    return isfinite(e.weight) && isfinite(e.velocity);
}

/* The first entry that the step would make NaN or infinite; count when there is none. */
static size_t first_not_finite(const mha_real *weights, const mha_real *velocity,
    const mha_real *gradients, size_t count, const sgd_factors *f) {
    size_t i = kernels_get()->sgd_stays_finite(weights, velocity, gradients, count, f) ? count : 0;
    while (i < count && entry_is_finite(sgd_updated(weights[i], velocity[i], gradients[i], f))) {
        i++;
    }
    return i;
}

static mha_status check_options(const mha_sgd_options *options, mha_error *error) {
    const struct {
        const char *name;
        wide value;
    } numbers[] = {
        {"learning rate", options->learning_rate},
        {"momentum", options->momentum},
        {"weight decay", options->weight_decay},
        {"clip", options->clip},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!(numbers[i].value >= 0) || !isfinite(numbers[i].value)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT, "%s %g is not a number from 0 up",
                numbers[i].name, numbers[i].value);
        }
    }
    return MHA_OK;
}

mha_status mha_sgd_step(mha_real *weights, mha_real *velocity, const mha_real *gradients,
    size_t count, wide norm, const mha_sgd_options *options, mha_error *error) {
    const mha_status status = check_options(options, error);
    if (status != MHA_OK) {
        return status;
    }
    if (!isfinite(norm)) {
        return mha_fail(error, MHA_ERROR_NOT_FINITE, "the gradient norm is %g", norm);
    }
    const bool clipped = options->clip > 0 && norm > options->clip;
    const sgd_factors f = {
        .clip = clipped ? (mha_real)(options->clip / norm) : REAL(1.0),
        .decay = (mha_real)options->weight_decay,
        .momentum = (mha_real)options->momentum,
        .rate = (mha_real)options->learning_rate,
        .nesterov = options->nesterov,
    };
    size_t bad = first_not_finite(weights, velocity, gradients, count, &f);
    if (bad < count) {
        const sgd_entry next = sgd_updated(weights[bad], velocity[bad], gradients[bad], &f);
        return mha_fail(error, MHA_ERROR_NOT_FINITE,
            "weight %zu of %zu would become %g, its velocity %g", bad, count, (wide)next.weight,
            (wide)next.velocity);
    }
    kernels_get()->sgd_update(weights, velocity, gradients, count, &f);
    return MHA_OK;
}
