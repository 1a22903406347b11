#include <mha/rng.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng_tables.h"

/* SeedSequence: entropy of any length is hashed into a pool of four words. Both hashes run through
 * a sequence of multipliers, so that no word meets the same one twice. */

enum { POOL_WORDS = 4 };

typedef struct seed_pool {
    uint32_t word[POOL_WORDS];
    size_t filled;
    uint32_t multiplier;
} seed_pool;

static uint32_t hash_word(uint32_t *multiplier, uint32_t factor, uint32_t word) {
    word ^= *multiplier;
    *multiplier *= factor;
    word *= *multiplier;
    return word ^ word >> 16;
}

static uint32_t hash_entropy(seed_pool *pool, uint32_t word) {
    return hash_word(&pool->multiplier, UINT32_C(0x931e8875), word);
}

static uint32_t mix_words(uint32_t x, uint32_t y) {
    uint32_t mixed = UINT32_C(0xca01f9dd) * x - UINT32_C(0x4973f715) * y;
    return mixed ^ mixed >> 16;
}

static void pool_mix_itself(seed_pool *pool) {
    for (size_t from = 0; from < POOL_WORDS; from++) {
        for (size_t to = 0; to < POOL_WORDS; to++) {
            if (to != from) {
                pool->word[to] = mix_words(pool->word[to], hash_entropy(pool, pool->word[from]));
            }
        }
    }
}

/* The first four words fill the pool, later ones are mixed into each word of it. */
static void pool_add(seed_pool *pool, uint32_t word) {
    if (pool->filled < POOL_WORDS) {
        pool->word[pool->filled++] = hash_entropy(pool, word);
        if (pool->filled == POOL_WORDS) {
            pool_mix_itself(pool);
        }
        return;
    }
    for (size_t to = 0; to < POOL_WORDS; to++) {
        pool->word[to] = mix_words(pool->word[to], hash_entropy(pool, word));
    }
}

/* values (count): 64-bit numbers, each of two output words, the lower one first. */
static void pool_output(uint64_t *values, size_t count, const seed_pool *pool) {
    uint32_t multiplier = UINT32_C(0x8b51f9dd);
    for (size_t i = 0; i < count; i++) {
        uint32_t half[2];
        for (size_t j = 0; j < 2; j++) {
            uint32_t word = pool->word[(2 * i + j) % POOL_WORDS];
            half[j] = hash_word(&multiplier, UINT32_C(0x58f38ded), word);
        }
        values[i] = (uint64_t)half[1] << 32 | half[0];
    }
}

/* PCG64: a linear congruential generator of 128 bits, permuted to 64 (XSL-RR). */

/* Upper half of the 128-bit product a*b. */
static inline uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide_product;
    return (uint64_t)((wide_product)a * b >> 64);
#else
    uint64_t a_low = a & UINT32_MAX, a_high = a >> 32;
    uint64_t b_low = b & UINT32_MAX, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t carry = a_low * b_high + (middle & UINT32_MAX);
    return a_high * b_high + (middle >> 32) + (carry >> 32);
#endif
}

static inline void add_to_state(mha_rng *rng, uint64_t high, uint64_t low) {
    rng->state_low += low;
    rng->state_high += high + (rng->state_low < low);
}

/* state = state * multiplier + increment, modulo 2^128 */
static inline void step_state(mha_rng *rng) {
    const uint64_t factor_high = UINT64_C(2549297995355413924);
    const uint64_t factor_low = UINT64_C(4865540595714422341);
    rng->state_high = multiply_high(rng->state_low, factor_low) + rng->state_low * factor_high +
                      rng->state_high * factor_low;
    rng->state_low *= factor_low;
    add_to_state(rng, rng->increment_high, rng->increment_low);
}

void mha_rng_seed(mha_rng *rng, const uint64_t *entropy, size_t count) {
    seed_pool pool = {.multiplier = UINT32_C(0x43b0d7e5)};
    for (size_t i = 0; i < count; i++) {
        pool_add(&pool, (uint32_t)entropy[i]);
        if (entropy[i] >> 32 != 0) {
            pool_add(&pool, (uint32_t)(entropy[i] >> 32));
        }
    }
    while (pool.filled < POOL_WORDS) {
        pool_add(&pool, 0);
    }
    uint64_t start[4]; /* state and stream, upper halves first */
    pool_output(start, 4, &pool);
    memset(rng, 0, sizeof *rng);
    rng->increment_high = start[2] << 1 | start[3] >> 63;
    rng->increment_low = start[3] << 1 | 1;
    step_state(rng);
    add_to_state(rng, start[0], start[1]);
    step_state(rng);
}

/* The draws that others are made of, apart from the public names so that they are inlined in a shared
 * library too. */
static inline uint64_t bits64(mha_rng *rng) {
    step_state(rng);
    uint64_t folded = rng->state_high ^ rng->state_low;
    unsigned rotation = (unsigned)(rng->state_high >> 58);
    return folded >> rotation | folded << (-rotation & 63);
}

static inline uint32_t bits32(mha_rng *rng) {
    if (rng->has_kept_half) {
        rng->has_kept_half = 0;
        return rng->kept_half;
    }
    uint64_t bits = bits64(rng);
    rng->kept_half = (uint32_t)(bits >> 32);
    rng->has_kept_half = 1;
    return (uint32_t)bits;
}

static inline double uniform(mha_rng *rng) {
    return (double)(bits64(rng) >> 11) * 0x1p-53;
}

uint64_t mha_rng_bits64(mha_rng *rng) {
    return bits64(rng);
}

uint32_t mha_rng_bits32(mha_rng *rng) {
    return bits32(rng);
}

double mha_rng_random(mha_rng *rng) {
    return uniform(rng);
}

/* |x| of a normal variate beyond the last level: Marsaglia's method for the tail. */
static double normal_tail(mha_rng *rng) {
    const double tail_start = 3.6541528853610087963519472518;
    const double inverse_start = 0.27366123732975827203338247596;
    double beyond, exponential;
    do {
        beyond = -inverse_start * log1p(-uniform(rng));
        exponential = -log1p(-uniform(rng));
    } while (!(exponential + exponential > beyond * beyond));
    return tail_start + beyond;
}

/* The variate of a draw that lies beyond the part of its level which is inside for certain; false when
 * it is to be drawn again. x is the place of the draw, with its sign. */
static bool normal_beyond(double *x, mha_rng *rng, size_t level, uint64_t place) {
    if (level == 0) {
        const double tail = normal_tail(rng);
        *x = place >> 8 & 1 ? -tail : tail;
        return true;
    }
    const double above = ziggurat_density[level - 1], below = ziggurat_density[level];
    return (above - below) * uniform(rng) + below < exp(-0.5 * *x * *x);
}

/* The sign, which is a coin toss, is set without a branch. */
static inline double standard_normal(mha_rng *rng) {
    for (;;) {
        const uint64_t bits = bits64(rng);
        const size_t level = bits & 255;
        const uint64_t place = bits >> 9 & ((UINT64_C(1) << 52) - 1);
        const double size = (double)(int64_t)place * ziggurat_width[level];
        uint64_t image;
        double x;
        memcpy(&image, &size, sizeof image);
        image |= (bits >> 8 & 1) << 63;
        memcpy(&x, &image, sizeof x);
        if (place < ziggurat_inside[level] || normal_beyond(&x, rng, level, place)) {
            return x;
        }
    }
}

double mha_rng_normal(mha_rng *rng) {
    return 0.0 + standard_normal(rng); /* adding the mean makes -0 a 0 */
}

/* Multiply and shift (Lemire 2019), with the few products drawn again that would favour a value. */
uint32_t mha_rng_integers(mha_rng *rng, uint32_t bound) {
    if (bound < 2) {
        return 0;
    }
    uint64_t product = (uint64_t)bits32(rng) * bound;
    if ((uint32_t)product < bound) {
        const uint32_t threshold = (UINT32_MAX - bound + 1) % bound;
        while ((uint32_t)product < threshold) {
            product = (uint64_t)bits32(rng) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

/* Uniform in [0, most], by masking and drawing again. */
static uint32_t masked_integer(mha_rng *rng, uint32_t most) {
    uint32_t mask = most;
    for (unsigned shift = 1; shift < 32; shift *= 2) {
        mask |= mask >> shift;
    }
    uint32_t value;
    do {
        value = bits32(rng) & mask;
    } while (value > most);
    return value;
}

void mha_rng_permutation(uint32_t *order, mha_rng *rng, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = masked_integer(rng, i);
        uint32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}
