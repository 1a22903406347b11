#include "base/real.h"

#include <stdlib.h>

#include "arrays.h"
#include "random_case.h"

const size_t edge_rows[EDGE_ROWS] = {
    1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 47, 48, 49, 50, 95, 96, 97};
const size_t edge_keys[EDGE_KEYS] = {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
const size_t edge_widths[EDGE_WIDTHS] = {
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 64, 128};
static const size_t head_counts[] = {1, 2, 3, 5};
static const size_t long_keys[] = {1023, 1024, 1025, 2049};

size_t draw_below(mha_rng *rng, size_t count) {
    return (size_t)mha_rng_integers(rng, (uint32_t)count);
}

static bool once_in(mha_rng *rng, size_t count) {
    return draw_below(rng, count) == 0;
}

/* ---- bytes of a mask ---- */

typedef enum style { DENSE, SPARSE, TILES, WINDOW, STYLES } style;

/* Byte (t,s) of one plane. Tiles are those of the kernels; a window may leave the source. */
static bool allows(style chosen, mha_rng *rng, uint64_t pattern, size_t t, size_t s) {
    const size_t begin = t + pattern % 40, width = 1 + pattern / 64 % 90;
    switch (chosen) {
    case DENSE:
        return !once_in(rng, 5);
    case SPARSE:
        return once_in(rng, 12);
    case TILES:
        return (pattern >> (t / 48 * 7 + s / 64) % 64 & 1) != 0 && !once_in(rng, 9);
    default:
        return s + 20 >= begin && s + 20 < begin + width;
    }
}

/* (outer,T,S): some rows and, in some planes, some keys are blocked throughout. */
static unsigned char *draw_bytes(size_t outer, size_t T, size_t S, mha_rng *rng) {
    unsigned char *bytes = calloc(outer * T * S + 1, 1);
    arrays_keep(bytes, free);
    const style chosen = (style)draw_below(rng, STYLES);
    for (size_t plane = 0; plane < outer; plane++) {
        const uint64_t pattern = mha_rng_bits64(rng), hidden = mha_rng_bits64(rng);
        const bool hides = once_in(rng, 3);
        for (size_t t = 0; t < T; t++) {
            const bool empty = once_in(rng, 12);
            for (size_t s = 0; s < S; s++) {
                const bool blocked = empty || (hides && (hidden >> s % 64 & 1) != 0);
                bytes[(plane * T + t) * S + s] =
                    !blocked && allows(chosen, rng, pattern, t, s) ? 1 : 0;
            }
        }
    }
    return bytes;
}

static void draw_allowed(mha_mask *mask, const mha_shape *shape, mha_rng *rng) {
    const size_t T = shape->target_length, S = shape->source_length;
    const bool as_samples = shape->batch == 1 || shape->batch != shape->heads;
    mask->rank = 2 + draw_below(rng, 3);
    if (mask->rank == 3 && !as_samples) {
        mask->rank = 4;
    }
    const size_t full[4] = {shape->batch, shape->heads, T, S};
    size_t dims[4];
    for (size_t i = 0; i < 4; i++) {
        dims[i] = mask->rank == 4 && once_in(rng, 3) ? 1 : full[i];
    }
    size_t outer = 1;
    if (mask->rank == 2) {
        mask->dims[0] = T;
        mask->dims[1] = S;
    } else if (mask->rank == 3) {
        mask->dims[0] = outer = shape->batch;
        mask->dims[1] = T;
        mask->dims[2] = S;
    } else {
        for (size_t i = 0; i < 4; i++) {
            mask->dims[i] = dims[i];
        }
        outer = dims[0] * dims[1];
    }
    mask->allowed = draw_bytes(outer, dims[2], dims[3], rng);
}

bool random_mask(mha_mask *mask, const mha_shape *shape, mha_rng *rng) {
    const size_t T = shape->target_length, S = shape->source_length;
    *mask = (mha_mask){.causal = MHA_CAUSAL_OFF};
    if (once_in(rng, 3)) {
        const mha_causal aligned = once_in(rng, 2) ? MHA_CAUSAL_TOP_LEFT : MHA_CAUSAL_BOTTOM_RIGHT;
        mask->causal = T == S && once_in(rng, 2) ? MHA_CAUSAL_SQUARE : aligned;
    }
    if (once_in(rng, 3)) {
        int64_t *lengths = calloc(shape->batch, sizeof *lengths);
        arrays_keep(lengths, free);
        for (size_t b = 0; b < shape->batch; b++) {
            lengths[b] = once_in(rng, 6) ? 0 : (int64_t)draw_below(rng, S + 1);
        }
        mask->lengths = lengths;
    }
    if (!once_in(rng, 3)) {
        draw_allowed(mask, shape, rng);
    }
    const bool rules = mask->causal != MHA_CAUSAL_OFF || mask->lengths != NULL;
    return rules || mask->allowed != NULL || once_in(rng, 2);
}

random_case random_case_draw(mha_rng *rng, size_t largest) {
    random_case c = {.kind = CROSS_ATTENTION};
    mha_shape *const shape = &c.shape;
    size_t work, product;
    do {
        shape->batch = 1 + draw_below(rng, 3);
        shape->target_length = edge_rows[draw_below(rng, EDGE_ROWS)];
        shape->source_length = once_in(rng, 16) ? long_keys[draw_below(rng, COUNT(long_keys))]
                                                : edge_keys[draw_below(rng, EDGE_KEYS)];
        shape->heads = head_counts[draw_below(rng, COUNT(head_counts))];
        shape->width = shape->heads * edge_widths[draw_below(rng, EDGE_WIDTHS)];
        if (once_in(rng, 5)) {
            shape->source_length = shape->target_length;
            c.kind = SELF_ATTENTION;
        } else {
            c.kind = CROSS_ATTENTION;
        }
        work = shape->batch * shape->target_length * shape->source_length * shape->width;
        product = shape->batch * (shape->target_length + shape->source_length) * shape->width *
                  shape->width;
    } while (work > largest || product > largest);
    c.masked = random_mask(&c.mask, shape, rng);
    c.seed = mha_rng_bits64(rng) >> 40;
    return c;
}
