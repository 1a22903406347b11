#include "base/real.h"

#include "learn/wide_sum.h"

wide mha_gradient_norm(const mha_real *gradients, size_t count) {
    wide_sum sum = {{0}};
    size_t i = 0;
    for (; i + WIDE_LANES <= count; i += WIDE_LANES) {
        for (size_t j = 0; j < WIDE_LANES; j++) {
            sum.lane[j] += (wide)gradients[i + j] * (wide)gradients[i + j];
        }
    }
    for (size_t j = 0; i + j < count; j++) {
        sum.lane[j] += (wide)gradients[i + j] * (wide)gradients[i + j];
    }
    return sqrt(wide_sum_total(&sum));
}

/* The options of a step in the precision of the weights. */
typedef struct factors {
    mha_real clip; /* k = min(1, clip / norm) */
    mha_real decay, momentum, rate;
    bool nesterov;
} factors;

typedef struct entry {
    mha_real weight, velocity;
} entry;

/* g = k dw + decay w;   v = momentum v + g;   w -= lr (nesterov ? g + momentum v : v) */
static inline entry updated(
    mha_real weight, mha_real velocity, mha_real gradient, const factors *f) {
    mha_real g = f->clip * gradient + f->decay * weight;
    mha_real v = f->momentum * velocity + g;
    mha_real w = weight - f->rate * (f->nesterov ? g + f->momentum * v : v);
    return (entry){w, v};
}

static inline bool entry_is_finite(entry e) {
    return isfinite(e.weight) && isfinite(e.velocity);
}

/* The first entry that the step would make NaN or infinite; count when there is none. Looked for only
 * where there is one. */
static size_t first_not_finite(const mha_real *weights, const mha_real *velocity,
    const mha_real *gradients, size_t count, const factors *f) {
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        found |= !entry_is_finite(updated(weights[i], velocity[i], gradients[i], f));
    }
    size_t i = found ? 0 : count;
    while (i < count && entry_is_finite(updated(weights[i], velocity[i], gradients[i], f))) {
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
    const factors f = {
        .clip = clipped ? (mha_real)(options->clip / norm) : REAL(1.0),
        .decay = (mha_real)options->weight_decay,
        .momentum = (mha_real)options->momentum,
        .rate = (mha_real)options->learning_rate,
        .nesterov = options->nesterov,
    };
    size_t bad = first_not_finite(weights, velocity, gradients, count, &f);
    if (bad < count) {
        entry next = updated(weights[bad], velocity[bad], gradients[bad], &f);
        return mha_fail(error, MHA_ERROR_NOT_FINITE,
            "weight %zu of %zu would become %g, its velocity %g", bad, count, (wide)next.weight,
            (wide)next.velocity);
    }
    for (size_t i = 0; i < count; i++) {
        entry next = updated(weights[i], velocity[i], gradients[i], &f);
        weights[i] = next.weight;
        velocity[i] = next.velocity;
    }
    return MHA_OK;
}
