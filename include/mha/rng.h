/* Random numbers, bit for bit those of NumPy's numpy.random.default_rng.
 *
 * The generator is PCG64 (XSL-RR 128/64, O'Neill 2014) seeded through NumPy's SeedSequence; normal
 * variates come from the 256-level ziggurat (Marsaglia and Tsang 2000) that NumPy uses. Equality
 * with NumPy needs a C library whose log1p and exp round as NumPy's did, as glibc's do; only about
 * one normal variate in a hundred calls them. The state is plain data: copy it to fork a stream. */
#ifndef MHA_RNG_H
#define MHA_RNG_H

#include <stddef.h>
#include <stdint.h>

#include <mha/declare.h>

MHA_DECLARATIONS_BEGIN

typedef struct mha_rng {
    uint64_t state_high, state_low;         /* 128-bit state */
    uint64_t increment_high, increment_low; /* 128-bit odd increment */
    uint32_t kept_half; /* upper half of the last 64 bits, for the next 32-bit draw */
    int has_kept_half;
} mha_rng;

/* default_rng([entropy[0], entropy[1], ...]); one number alone is default_rng(number).
 * An empty list seeds as default_rng([]) does. */
void mha_rng_seed(mha_rng *rng, const uint64_t *entropy, size_t count);

/* The next 64 random bits, and the next 32. */
uint64_t mha_rng_bits64(mha_rng *rng);
uint32_t mha_rng_bits32(mha_rng *rng);

/* Generator.random(): uniform in [0, 1), a multiple of 2^-53. */
double mha_rng_random(mha_rng *rng);

/* Generator.normal() with mean 0 and standard deviation 1. */
double mha_rng_normal(mha_rng *rng);

/* Generator.integers(0, bound): uniform in [0, bound). bound 0 gives 0 and draws nothing, and so
 * does bound 1, as in NumPy. */
uint32_t mha_rng_integers(mha_rng *rng, uint32_t bound);

/* Generator.permutation(count): writes 0 .. count-1 in random order into order (count). */
void mha_rng_permutation(uint32_t *order, mha_rng *rng, uint32_t count);

/* NumPy's older generator, numpy.random.seed(seed) and numpy.random.randn: MT19937 (Matsumoto and
 * Nishimura 1998) and the polar method (Marsaglia and Bray 1964), which takes a logarithm and a square
 * root from the C library: equality to the last bit holds with glibc on processors with fused
 * multiply-add, elsewhere to one unit in the last place. */
typedef struct mha_legacy_rng {
    uint32_t key[624];
    size_t position; /* of the next word in key */
    double kept;     /* the other normal variate of the last pair */
    int has_kept;
} mha_legacy_rng;

/* numpy.random.seed(seed) */
void mha_legacy_rng_seed(mha_legacy_rng *rng, uint32_t seed);
/* numpy.random.random_sample() */
double mha_legacy_rng_random(mha_legacy_rng *rng);
/* numpy.random.randn() */
double mha_legacy_rng_normal(mha_legacy_rng *rng);

MHA_DECLARATIONS_END
#endif
