/* The random streams against NumPy's default_rng. Golden values were drawn with NumPy 1.24.2; a
 * long stream is held against its checksum and the 64 bits that follow it. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/rng.h>

#include "base/rng_tables.h"
#include "count.h"
#include "suites.h"

enum { LEVELS = 256, LONG_STREAM = 100000 };

static mha_rng seeded(uint64_t seed) {
    mha_rng rng;
    mha_rng_seed(&rng, &seed, 1);
    return rng;
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Depends on every value and on their order. */
static void add_to_checksum(uint64_t *checksum, uint64_t value) {
    *checksum = *checksum * UINT64_C(6364136223846793005) + value;
}

/* state and increment, upper halves first */
static void assert_state(const mha_rng *rng, const uint64_t expected[4]) {
    ck_assert_uint_eq(rng->state_high, expected[0]);
    ck_assert_uint_eq(rng->state_low, expected[1]);
    ck_assert_uint_eq(rng->increment_high, expected[2]);
    ck_assert_uint_eq(rng->increment_low, expected[3]);
    ck_assert_int_eq(rng->has_kept_half, 0);
}

static const struct {
    uint64_t entropy[5];
    size_t count;
    uint64_t state[4];
} seed_cases[] = {
    {{0}, 0, {0x1aa1b5345996452d, 0x09585eb7a69561e3, 0x418ddadb3af71a82, 0x588133bc447873a9}},
    {{0}, 1, {0x1aa1b5345996452d, 0x09585eb7a69561e3, 0x418ddadb3af71a82, 0x588133bc447873a9}},
    {{UINT64_C(1) << 32}, 1,
        {0x24d060cf1520dbdd, 0x21bbf7fbff1ac5d4, 0x77ff3ed86c5c5633, 0x7b62eea7340ca9c7}},
    {{UINT64_MAX}, 1,
        {0xddc419442aebde79, 0x4d8b0a3b048acdb0, 0x37762aacb3cc854f, 0x4ed623c7d18951ed}},
    {{5, 6, 7, 8}, 4,
        {0x4ad8edee77873849, 0x9322d08c0c81aae2, 0x5864c4448764fe83, 0x79a0e89da08f580f}},
    {{1, 2, 3, 4, 5}, 5,
        {0x76fe718e9683762b, 0x30155c68a59b80bf, 0x5406d36f034cecce, 0x86e8e4390e5af5e3}},
};

START_TEST(seeds_as_numpy) {
    mha_rng rng;
    mha_rng_seed(&rng, seed_cases[_i].entropy, seed_cases[_i].count);
    assert_state(&rng, seed_cases[_i].state);
}
END_TEST

START_TEST(seeds_from_no_and_from_many_numbers) {
    mha_rng rng;
    mha_rng_seed(&rng, NULL, 0);
    assert_state(&rng, seed_cases[0].state);
    uint64_t entropy[40];
    for (size_t i = 0; i < COUNT(entropy); i++) {
        entropy[i] = i;
    }
    mha_rng_seed(&rng, entropy, COUNT(entropy));
    assert_state(&rng, (const uint64_t[4]){0x23fb9c2bad070e7b, 0xf18ece61c827f961,
                           0x24971cb70bb0a072, 0x0a4c060e95a0e3b5});
}
END_TEST

START_TEST(tables_follow_from_their_recipe) {
    const double tail_start = 0x1.d3bb48209ad33p+1, area = 0x1.43016a5a4372ep-8, scale = 0x1p52;
    double x[LEVELS], density[LEVELS];
    x[255] = tail_start;
    density[255] = exp(-0.5 * tail_start * tail_start);
    for (size_t i = 254; i > 0; i--) {
        x[i] = sqrt(-2.0 * log(area / x[i + 1] + density[i + 1]));
        density[i] = exp(-0.5 * x[i] * x[i]);
        if (i == 38) {
            density[i] = nextafter(density[i], 1.0);
        }
    }
    density[0] = 1.0;
    const double tail_box = area / density[255];
    for (size_t i = 0; i < LEVELS; i++) {
        double width = i == 0 ? tail_box / scale : x[i] / scale;
        double inside = i == 0 ? tail_start / tail_box : i == 1 ? 0.0 : x[i - 1] / x[i];
        ck_assert_uint_eq(bits_of(ziggurat_density[i]), bits_of(density[i]));
        ck_assert_uint_eq(bits_of(ziggurat_width[i]), bits_of(width));
        ck_assert_uint_eq(ziggurat_inside[i], (uint64_t)nearbyint(inside * scale));
    }
}
END_TEST

START_TEST(draws_uniform_numbers) {
    mha_rng rng = seeded(0);
    ck_assert_uint_eq(mha_rng_bits64(&rng), 0xa30febcfd9c2825f);
    rng = seeded(0);
    const double first[] = {0.6369616873214543, 0.2697867137638703, 0.04097352393619469};
    uint64_t checksum = 0;
    for (size_t i = 0; i < LONG_STREAM; i++) {
        double x = mha_rng_random(&rng);
        ck_assert(x >= 0.0 && x < 1.0);
        if (i < COUNT(first)) {
            ck_assert_uint_eq(bits_of(x), bits_of(first[i]));
        }
        add_to_checksum(&checksum, bits_of(x));
    }
    ck_assert_uint_eq(checksum, 0xc2f0e7a1b6ea4e60);
}
END_TEST

static const struct {
    uint64_t seed;
    double first[4];
} normal_cases[] = {
    {0, {0.1257302210933933, -0.1321048632913019, 0.6404226504432821, 0.10490011715303971}},
    {4, {-0.6517911526116896, -0.17471729232577715, 1.6637239913911968, 0.659147749832255}},
    {42, {0.30471707975443135, -1.0399841062404955, 0.7504511958064572, 0.9405647163912139}},
};

START_TEST(draws_normal_numbers) {
    mha_rng rng = seeded(normal_cases[_i].seed);
    for (size_t i = 0; i < COUNT(normal_cases[_i].first); i++) {
        ck_assert_uint_eq(bits_of(mha_rng_normal(&rng)), bits_of(normal_cases[_i].first[i]));
    }
}
END_TEST

/* Each stream holds about a thousand rejected draws and two dozen of the tail, of which one is
 * named. */
static const struct {
    uint64_t entropy[3];
    size_t count;
    uint64_t checksum, next_bits;
    size_t tail_place;
    double tail_value;
} stream_cases[] = {
    {{0}, 1, 0x5e1447de32903124, 0xbbc3e3a965b5c865, 303, -0x1.e2d9e98d87bc6p+1},
    {{42}, 1, 0xd6814523dedce713, 0x772337eb56135dcf, 5627, -0x1.18e740dc1907ap+2},
    {{UINT64_MAX}, 1, 0x4feb8d38bd583add, 0xdca1af4e2da2cf29, 2330, 0x1.fa586b6d049f6p+1},
    {{3, 1, 7}, 3, 0x16e1f86056060d33, 0x010e371ccd86bdf9, 6492, 0x1.e2edd05bfe65ap+1},
};

START_TEST(draws_long_streams_of_normal_numbers) {
    mha_rng rng;
    mha_rng_seed(&rng, stream_cases[_i].entropy, stream_cases[_i].count);
    uint64_t checksum = 0;
    for (size_t i = 0; i < LONG_STREAM; i++) {
        double x = mha_rng_normal(&rng);
        if (i == stream_cases[_i].tail_place) {
            ck_assert_uint_eq(bits_of(x), bits_of(stream_cases[_i].tail_value));
        }
        add_to_checksum(&checksum, bits_of(x));
    }
    ck_assert_uint_eq(checksum, stream_cases[_i].checksum);
    ck_assert_uint_eq(mha_rng_bits64(&rng), stream_cases[_i].next_bits);
}
END_TEST

/* From state 0 the first 64 bits are the increment itself: sign set, all 52 bits 0, level 1 or 3.
 * In level 3 they lie inside, in level 1 they are accepted by the density. */
START_TEST(draws_no_negative_zero) {
    for (uint64_t level = 1; level <= 3; level += 2) {
        mha_rng rng = {.increment_low = 0x100 | level};
        ck_assert_uint_eq(bits_of(mha_rng_normal(&rng)), bits_of(0.0));
    }
}
END_TEST

static const struct {
    uint32_t bound;
    uint64_t checksum, next_bits;
} integer_cases[] = {
    {2, 0xaf94c004e18e4c93, 0x22d2865eb2541d8a},
    {3, 0xe8105e03abab58e1, 0xf2d555fff182c4b8},
    {10, 0x9e4bdfe513e09602, 0xddb6cb051b90296d},
    {256, 0xbac7d4b78c9c95ec, 0x2ba352abd2406cd3},
    {UINT32_C(1) << 31, 0xb13ff52a3c32e0b1, 0x10fab3e0850fbab9},
    {(UINT32_C(1) << 31) + 1, 0x3268661e479d8fb3, 0x687acfd79cf746ff},
    {UINT32_C(3) << 30, 0xaa2e9f454ca4c1ea, 0xc194e7ef7662ddfb},
    {UINT32_MAX, 0xc1e3dd75e73cb46f, 0xac6c76da3622f35d},
};

/* The bound is the seed as well. */
START_TEST(draws_integers) {
    mha_rng rng = seeded(integer_cases[_i].bound);
    uint64_t checksum = 0;
    for (size_t i = 0; i < 20001; i++) {
        uint32_t value = mha_rng_integers(&rng, integer_cases[_i].bound);
        ck_assert_uint_lt(value, integer_cases[_i].bound);
        add_to_checksum(&checksum, value);
    }
    ck_assert_uint_eq(checksum, integer_cases[_i].checksum);
    ck_assert_uint_eq(mha_rng_bits64(&rng), integer_cases[_i].next_bits);
}
END_TEST

START_TEST(draws_nothing_where_nothing_is_random) {
    mha_rng rng = seeded(1), before = rng;
    uint32_t order[1] = {9};
    ck_assert_uint_eq(mha_rng_integers(&rng, 0), 0);
    ck_assert_uint_eq(mha_rng_integers(&rng, 1), 0);
    mha_rng_permutation(NULL, &rng, 0);
    mha_rng_permutation(order, &rng, 1);
    ck_assert_uint_eq(order[0], 0);
    ck_assert_uint_eq(mha_rng_bits64(&rng), mha_rng_bits64(&before));
    ck_assert_int_eq(rng.has_kept_half, 0);
}
END_TEST

static const struct {
    uint32_t count;
    uint64_t checksum, next_bits;
} permutation_cases[] = {
    {8, 0xfea7039fe30432e0, 0x23673bdf6510c2bb},
    {65, 0x0d11b4d2c4f36a14, 0x3900496a97acbddd},
    {1000, 0x33c63a730ecd839c, 0xc40909d46bbee25d},
    {100000, 0x6b73254e88654630, 0x040ada2d4d5e1070},
};

START_TEST(permutes) {
    const uint64_t entropy[] = {0, 5};
    const uint32_t count = permutation_cases[_i].count;
    mha_rng rng;
    mha_rng_seed(&rng, entropy, COUNT(entropy));
    uint32_t *order = malloc(count * sizeof *order);
    ck_assert_ptr_nonnull(order);
    mha_rng_permutation(order, &rng, count);
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < count; i++) {
        add_to_checksum(&checksum, order[i]);
    }
    free(order);
    ck_assert_uint_eq(checksum, permutation_cases[_i].checksum);
    ck_assert_uint_eq(mha_rng_bits64(&rng), permutation_cases[_i].next_bits);
}
END_TEST

START_TEST(keeps_half_across_other_draws) {
    mha_rng rng = seeded(9);
    ck_assert_uint_eq(mha_rng_bits32(&rng), 1810532129);
    mha_rng fork = rng;
    for (int copy = 0; copy < 2; copy++) {
        ck_assert_uint_eq(mha_rng_bits64(&rng), 0x496cda44f6070420);
        ck_assert_uint_eq(bits_of(mha_rng_normal(&rng)), bits_of(-1.656345427042233));
        ck_assert_uint_eq(mha_rng_bits32(&rng), 3737691870);
        rng = fork;
    }
}
END_TEST

START_TEST(interleaves_all_draws) {
    const uint64_t entropy[] = {7, 1, 2};
    mha_rng rng;
    mha_rng_seed(&rng, entropy, COUNT(entropy));
    uint64_t checksum = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        add_to_checksum(&checksum, mha_rng_integers(&rng, i + 2));
        add_to_checksum(&checksum, mha_rng_bits64(&rng));
        add_to_checksum(&checksum, bits_of(mha_rng_random(&rng)));
        add_to_checksum(&checksum, bits_of(mha_rng_normal(&rng)));
        uint32_t order[7];
        mha_rng_permutation(order, &rng, i % 7);
        for (uint32_t j = 0; j < i % 7; j++) {
            add_to_checksum(&checksum, order[j]);
        }
    }
    ck_assert_uint_eq(checksum, 0x572e2b6f01ffcf60);
}
END_TEST

Suite *rng_suite(void) {
    Suite *suite = suite_create("rng");
    TCase *cases = tcase_create("numpy");
    tcase_add_loop_test(cases, seeds_as_numpy, 0, COUNT(seed_cases));
    tcase_add_test(cases, seeds_from_no_and_from_many_numbers);
    tcase_add_test(cases, tables_follow_from_their_recipe);
    tcase_add_test(cases, draws_uniform_numbers);
    tcase_add_loop_test(cases, draws_normal_numbers, 0, COUNT(normal_cases));
    tcase_add_loop_test(cases, draws_long_streams_of_normal_numbers, 0, COUNT(stream_cases));
    tcase_add_test(cases, draws_no_negative_zero);
    tcase_add_loop_test(cases, draws_integers, 0, COUNT(integer_cases));
    tcase_add_test(cases, draws_nothing_where_nothing_is_random);
    tcase_add_loop_test(cases, permutes, 0, COUNT(permutation_cases));
    tcase_add_test(cases, keeps_half_across_other_draws);
    tcase_add_test(cases, interleaves_all_draws);
    suite_add_tcase(suite, cases);
    return suite;
}
