#include <mha/rng.h>

#include <math.h>

/* MT19937: words of 32 bits, made 624 at a time from those before. */

enum { WORDS = 624, MIDDLE = 397 };

void mha_legacy_rng_seed(mha_legacy_rng *rng, uint32_t seed) {
    rng->key[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        const uint32_t before = rng->key[i - 1];
        rng->key[i] = UINT32_C(1812433253) * (before ^ before >> 30) + i;
    }
    rng->position = WORDS;
    rng->kept = 0.0;
    rng->has_kept = 0;
}

static void make_words(mha_legacy_rng *rng) {
    const uint32_t upper = UINT32_C(0x80000000), twist = UINT32_C(0x9908b0df);
    uint32_t *key = rng->key;
    for (size_t i = 0; i < WORDS; i++) {
        const uint32_t joined = (key[i] & upper) | (key[(i + 1) % WORDS] & ~upper);
        key[i] = key[(i + MIDDLE) % WORDS] ^ joined >> 1 ^ ((joined & 1) != 0 ? twist : 0);
    }
    rng->position = 0;
}

static uint32_t next_word(mha_legacy_rng *rng) {
    if (rng->position >= WORDS) {
        make_words(rng);
    }
    uint32_t word = rng->key[rng->position++];
    word ^= word >> 11;
    word ^= word << 7 & UINT32_C(0x9d2c5680);
    word ^= word << 15 & UINT32_C(0xefc60000);
    return word ^ word >> 18;
}

/* 53 bits of two words */
double mha_legacy_rng_random(mha_legacy_rng *rng) {
    const double high = next_word(rng) >> 5;
    const double low = next_word(rng) >> 6;
    return (high * 0x1p26 + low) / 0x1p53;
}

/* The polar method: a point drawn uniformly in the unit disc gives two variates. */
double mha_legacy_rng_normal(mha_legacy_rng *rng) {
    if (rng->has_kept) {
        rng->has_kept = 0;
        return rng->kept;
    }
    double x, y, square;
    do {
        x = 2.0 * mha_legacy_rng_random(rng) - 1.0;
        y = 2.0 * mha_legacy_rng_random(rng) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    const double factor = sqrt(-2.0 * log(square) / square);
    rng->kept = factor * x;
    rng->has_kept = 1;
    return factor * y;
}
