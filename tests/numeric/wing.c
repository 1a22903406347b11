#include "base/real.h"

#include "wing.h"

static const mha_layer_options options[WINGS] = {
    [WING_REFERENCE] = {.kernel = MHA_KERNEL_REFERENCE, .threads = 1},
    [WING_STORED] = {.kernel = MHA_KERNEL_FUSED, .mode = MHA_MODE_STORED, .threads = 1},
    [WING_TILED] = {.kernel = MHA_KERNEL_FUSED, .mode = MHA_MODE_TILED, .threads = 1},
};

static wing in_use = WING_REFERENCE;

void wing_use(wing chosen) {
    in_use = chosen;
}

wing wing_now(void) {
    return in_use;
}

const mha_layer_options *wing_options(void) {
    return &options[in_use];
}

static void use_reference(void) {
    wing_use(WING_REFERENCE);
}

static void use_stored(void) {
    wing_use(WING_STORED);
}

static void use_tiled(void) {
    wing_use(WING_TILED);
}

TCase *wing_case_named(const char *name, wing chosen) {
    static void (*const use[WINGS])(void) = {use_reference, use_stored, use_tiled};
    TCase *cases = tcase_create(name);
    tcase_add_checked_fixture(cases, use[chosen], use_reference);
    return cases;
}

/* exp((q.k - maximum) / sqrt(d)) / sum of one pair. */
static mha_real weight(
    const mha_real *q, const mha_real *k, size_t d, mha_real maximum, mha_real inverse_sum) {
    wide dot = 0;
    for (size_t i = 0; i < d; i++) {
        dot += (wide)q[i] * (wide)k[i];
    }
    const wide gap = (wide)(mha_real)dot - (wide)maximum;
    return (mha_real)(exp(gap / sqrt((wide)d)) * (wide)inverse_sum);
}

const mha_real *wing_attention(
    mha_real *computed, const mha_tape *tape, const mha_mask *mask, const mha_shape *shape) {
    const mha_real *const maximum = mha_tape_value(tape, MHA_ROW_MAXIMUM);
    const mha_real *const inverse_sum = mha_tape_value(tape, MHA_ROW_INVERSE_SUM);
    if (maximum == NULL) {
        return mha_tape_value(tape, MHA_ATTENTION_WEIGHTS);
    }
    const size_t T = shape->target_length, S = shape->source_length, D = shape->width;
    const size_t d = mha_head_width(shape);
    for (size_t row = 0; row < shape->batch * shape->heads * T; row++) {
        const size_t b = row / T / shape->heads, h = row / T % shape->heads, t = row % T;
        const mha_mask_row seen = mha_mask_row_at(mask, shape, b, h, t);
        const mha_real *const q = mha_tape_value(tape, MHA_Q) + (b * T + t) * D + h * d;
        for (size_t s = 0; s < S; s++) {
            const mha_real *const k = mha_tape_value(tape, MHA_K) + (b * S + s) * D + h * d;
            computed[row * S + s] = mha_mask_row_allows(&seen, s)
                                        ? weight(q, k, d, maximum[row], inverse_sum[row])
                                        : REAL(0.0);
        }
    }
    return computed;
}
