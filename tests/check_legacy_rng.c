/* NumPy's older random stream against values drawn with NumPy 1.24.2, glibc and fused multiply-add.
 * Normal variates take a logarithm of the C library: they may differ by one unit in the last place. */
#define MHA_NO_SHORT_NAMES
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mha32.h>
#include <mha/mha64.h>
#include <mha/rng.h>

#include "count.h"
#include "suites.h"

static int64_t bits_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void assert_near(double x, double expected, int64_t units) {
    const int64_t apart = llabs(bits_of(x) - bits_of(expected));
    ck_assert_msg(apart <= units, "%a is not %a", x, expected);
}

static mha_legacy_rng seeded(uint32_t seed) {
    mha_legacy_rng rng;
    memset(&rng, 0xff, sizeof rng);
    mha_legacy_rng_seed(&rng, seed);
    return rng;
}

START_TEST(seeds_as_numpy) {
    mha_legacy_rng rng = seeded(42);
    ck_assert_uint_eq(rng.key[0], 42);
    ck_assert_uint_eq(rng.key[1], 0xb93c8a93);
    ck_assert_uint_eq(rng.key[2], 0x71014437);
    ck_assert_uint_eq(rng.key[623], 0x197b52a);
    ck_assert_uint_eq(rng.position, 624);
    ck_assert_int_eq(rng.has_kept, 0);
}
END_TEST

/* Two words a number: 312 numbers use up the first words. */
static const struct {
    uint32_t seed;
    double first[3], before, after, late; /* numbers 0-2, 311, 312 and 1999 */
} uniform_cases[] = {
    {0, {0x1.18fe1565f12a8p-1, 0x1.6e2d4cf608733p-1, 0x1.349d66b6e894bp-1}, 0x1.2cf25ce2031ccp-3,
        0x1.45b8f280519f0p-4, 0x1.00e86864bc501p-1},
    {42, {0x1.7f8771e5f51ecp-2, 0x1.e6c4068bbd654p-1, 0x1.76c7e8f1e6751p-1}, 0x1.415b7a8070ca8p-4,
        0x1.9f58b97983ee0p-6, 0x1.20f5a604a512ap-2},
    {UINT32_MAX, {0x1.8fe69a3924820p-4, 0x1.d323d824032b1p-1, 0x1.93fc6f61af3f9p-1},
        0x1.2369739e9c078p-2, 0x1.cc39c1c9cc10cp-1, 0x1.6f8e202307648p-3},
};

START_TEST(draws_uniform_numbers) {
    mha_legacy_rng rng = seeded(uniform_cases[_i].seed);
    for (size_t i = 0; i < 2000; i++) {
        const double x = mha_legacy_rng_random(&rng);
        ck_assert(x >= 0.0 && x < 1.0);
        const double expected = i < 3       ? uniform_cases[_i].first[i]
                                : i == 311  ? uniform_cases[_i].before
                                : i == 312  ? uniform_cases[_i].after
                                : i == 1999 ? uniform_cases[_i].late
                                            : x;
        ck_assert(bits_of(x) == bits_of(expected));
    }
}
END_TEST

static const struct {
    uint32_t seed;
    double first[6], middle[2], late[2]; /* numbers 0-5, 623 and 624, 4999 and 5000 */
} normal_cases[] = {
    {0,
        {0x1.c398ef3e5cfa5p+0, 0x1.99c2cfacc8953p-2, 0x1.f51d25222c9abp-1, 0x1.1ed5969e3314ep+1,
            0x1.de1847cb13ddap+0, -0x1.f45dc42a58c82p-1},
        {-0x1.3580f40e1e0b9p-2, -0x1.802690d4fee28p-2},
        {0x1.a85a039f1414bp-2, 0x1.3d283e0b7ce22p-2}},
    {42,
        {0x1.fca2a28a9307cp-2, -0x1.1b2a505de052ap-3, 0x1.4b9dd50245e68p-1, 0x1.85e548e01aa2bp+0,
            -0x1.df8bcdf57a640p-3, -0x1.df8332670db3bp-3},
        {0x1.586d72b99e521p+0, 0x1.97db1429d73cep+0},
        {-0x1.b235a770ceb3fp-1, -0x1.b1ee0ede9a7d9p-2}},
    {123,
        {-0x1.15ebe320b670ep+0, 0x1.fea40ff7c8334p-1, 0x1.21c51d8a6b038p-2, -0x1.819c87c66a773p+0,
            -0x1.283e4acf530efp-1, 0x1.a6c48b7e40730p+0},
        {-0x1.e014ece30e4a9p-3, -0x1.16b56d6b790ebp-2},
        {-0x1.5a953e3eece78p+0, 0x1.4669f092243b7p-2}},
    {UINT32_MAX,
        {0x1.4bfc38c486d8ap-1, 0x1.56b192e507eeep-1, -0x1.149e836f192fdp+0, 0x1.23543dec5a0fcp-2,
            0x1.d27bf27c6aaafp-4, 0x1.bc38efd644bd1p-1},
        {-0x1.24234aafb6ba0p+0, 0x1.64314a6a1dd19p-1},
        {0x1.49b49d98881bap-2, -0x1.b63afbeb0a9d9p-1}},
};

START_TEST(draws_normal_numbers) {
    mha_legacy_rng rng = seeded(normal_cases[_i].seed);
    for (size_t i = 0; i <= 5000; i++) {
        const double x = mha_legacy_rng_normal(&rng);
        if (i < 6) {
            assert_near(x, normal_cases[_i].first[i], 1);
        } else if (i == 623 || i == 624) {
            assert_near(x, normal_cases[_i].middle[i - 623], 1);
        } else if (i >= 4999) {
            assert_near(x, normal_cases[_i].late[i - 4999], 1);
        }
    }
}
END_TEST

/* Three normal variates keep a fourth, which comes after two uniform numbers and before a new pair. */
static const struct {
    uint32_t seed;
    double uniform[2], normal[2];
} kept_cases[] = {
    {42, {0x1.3f86b37222184p-3, 0x1.3f7a0e1997f4cp-3},
        {0x1.85e548e01aa2bp+0, 0x1.94474a8407408p+0}},
    {123, {0x1.705e3c9f6e7e1p-1, 0x1.b142d1e3d7f30p-2},
        {-0x1.819c87c66a773p+0, -0x1.369d6cea20acfp+1}},
};

START_TEST(keeps_a_variate_across_other_draws) {
    mha_legacy_rng rng = seeded(kept_cases[_i].seed);
    for (size_t i = 0; i < 3; i++) {
        mha_legacy_rng_normal(&rng);
    }
    for (size_t i = 0; i < 2; i++) {
        ck_assert(bits_of(mha_legacy_rng_random(&rng)) == bits_of(kept_cases[_i].uniform[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        assert_near(mha_legacy_rng_normal(&rng), kept_cases[_i].normal[i], 1);
    }
}
END_TEST

START_TEST(seeding_drops_the_kept_variate) {
    mha_legacy_rng rng = seeded(0);
    mha_legacy_rng_normal(&rng);
    ck_assert_int_eq(rng.has_kept, 1);
    mha_legacy_rng_seed(&rng, 42);
    assert_near(mha_legacy_rng_normal(&rng), 0x1.fca2a28a9307cp-2, 1);
}
END_TEST

/* Entries (row, column) of wq, wk, wv and wo; the width 6 has 6*18 numbers before wo, which is even,
 * and 64 passes many refills of the 624 words. The product with the scale may double the last unit. */
enum { ENTRIES = 4 };
static const struct {
    uint32_t seed;
    size_t width, at[ENTRIES][2];
    double matrix[4][ENTRIES];
} handbook_cases[] = {
    {42, 64, {{0, 0}, {0, 63}, {1, 0}, {37, 21}},
        {{0x1.67a8d2ac2942cp-4, -0x1.b112b3e6d0b8dp-3, 0x1.360a75bfb8ad2p-5, -0x1.5e1b76a9f5524p-2},
            {0x1.262a6fe1b5922p-3, -0x1.9a0b195fc1745p-4, 0x1.caabbb8302901p-3,
                -0x1.6e9245fe4e55ap-2},
            {0x1.209f05d982eaep-6, 0x1.360caadd141b7p-3, 0x1.18ee29a2db519p-6,
                0x1.5e0584f5fa859p-3},
            {-0x1.e12ea93e996acp-5, -0x1.dde6a78813115p-5, -0x1.acd6d652ba492p-2,
                -0x1.213714352ca15p-3}}},
    {7, 6, {{0, 0}, {0, 5}, {3, 2}, {5, 5}},
        {{0x1.f3b99c44cf5f0p-1, 0x1.389f48df8638ep-10, -0x1.a82e13d6c055cp-1,
             -0x1.083bd22624d15p-5},
            {-0x1.0d84923b3d352p-11, -0x1.95ae91943e1bap-4, -0x1.d71faf04feb79p-5,
                0x1.baa91684d4af8p-3},
            {0x1.2abc824ce9d70p-2, 0x1.24f4f59d10b2fp-4, -0x1.62f3fd34c65a6p-3,
                0x1.72e8a9ca82b69p-4},
            {0x1.fbc448d23489bp-1, 0x1.4e8db27f6edf7p-2, 0x1.1d05587dbfc4ap-1,
                -0x1.4ba7e44504f0bp-1}}},
};

START_TEST(draws_the_handbooks_weights) {
    const size_t width = handbook_cases[_i].width, size = width * width;
    double *doubles = calloc(4 * size, sizeof *doubles);
    float *floats = calloc(4 * size, sizeof *floats);
    ck_assert(doubles != NULL && floats != NULL);
    const mha_f64_weights in_double = mha_f64_weights_view(doubles, width);
    const mha_f32_weights in_float = mha_f32_weights_view(floats, width);
    mha_legacy_rng rng = seeded(handbook_cases[_i].seed);
    mha_f64_weights_draw_handbook(&in_double, &rng, width);
    rng = seeded(handbook_cases[_i].seed);
    mha_f32_weights_draw_handbook(&in_float, &rng, width);
    for (size_t m = 0; m < 4; m++) {
        for (size_t e = 0; e < ENTRIES; e++) {
            const size_t at = handbook_cases[_i].at[e][0] * width + handbook_cases[_i].at[e][1];
            assert_near(in_double.matrix[m][at], handbook_cases[_i].matrix[m][e], 2);
        }
        for (size_t i = 0; i < size; i++) {
            ck_assert(in_float.matrix[m][i] == (float)in_double.matrix[m][i]);
        }
    }
    free(doubles);
    free(floats);
}
END_TEST

Suite *legacy_rng_suite(void) {
    Suite *suite = suite_create("legacy rng");
    TCase *cases = tcase_create("numpy.random.seed");
    tcase_add_test(cases, seeds_as_numpy);
    tcase_add_loop_test(cases, draws_uniform_numbers, 0, COUNT(uniform_cases));
    tcase_add_loop_test(cases, draws_normal_numbers, 0, COUNT(normal_cases));
    tcase_add_loop_test(cases, keeps_a_variate_across_other_draws, 0, COUNT(kept_cases));
    tcase_add_test(cases, seeding_drops_the_kept_variate);
    tcase_add_loop_test(cases, draws_the_handbooks_weights, 0, COUNT(handbook_cases));
    suite_add_tcase(suite, cases);
    return suite;
}
