/* What rounding may do to a right gradient: a program that shares nothing with the layer stays within it at any size
 * of numbers, and what is wrong does not. */
#include "claims_cases.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "commands/gradcheck_rounding.h"
#include "naive_case.h"

static struct case_file file;
static unsigned char seen[CASE_FILE_MOST];

static const double sizes[] = {1e-12, 1e-3, 1.0, 30.0, 1e6};
enum { SIZES = sizeof sizes / sizeof *sizes, DRAWS = 200 };

/* A random shape and mask; leaves and grad_output times the size. */
static void draw(int i) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){44, (uint64_t)i}, 2);
    const size_t heads = 1 + mha_rng_integers(&rng, 3), d = 1 + mha_rng_integers(&rng, 5);
    mha_shape shape = {1 + mha_rng_integers(&rng, 3), 1 + mha_rng_integers(&rng, 6),
        1 + mha_rng_integers(&rng, 7), heads * d, heads};
    const bool self_attention = mha_rng_integers(&rng, 2) == 1;
    shape.source_length = self_attention ? shape.target_length : shape.source_length;
    const double size = sizes[i / 2 % SIZES];
    case_file_fill(&file, &shape, self_attention,
        (enum case_mask)mha_rng_integers(&rng, CASE_MASKS), i % 2 == 1 ? MHA_FLOAT32 : MHA_FLOAT64);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        for (size_t k = 0; k < mha_value_count((mha_value)value, &shape); k++) {
            const double number = file.leaf[value][k] * size + mha_rng_normal(&rng) * 0.1 * size;
            file.leaf[value][k] = file.dtype == MHA_FLOAT32 ? (double)(float)number : number;
        }
    }
}

static void compute_anew(void) {
    const struct naive_pass pass = naive_case(&file, seen);
    naive_case_compute(&file, &pass);
}

/* The claims of the file, with their truths and what is allowed; truth_destroy the truth. */
static void hold(struct claim_set *set, struct truth *truth) {
    static double matrices[MHA_WEIGHT_COUNT * CASE_FILE_MOST];
    const size_t D = file.shape.width;
    struct apply_input input = {.shape = file.shape,
        .query.data = file.leaf[MHA_QUERY],
        .context.data = file.leaf[MHA_SOURCE],
        .grad_output.data = file.grad_output,
        .has_context = !file.self_attention,
        .weights.matrices = matrices,
        .mask.mask = file.mask};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        memcpy(matrices + i * D * D, file.leaf[MHA_FIRST_WEIGHT + i], D * D * sizeof *matrices);
    }
    *set = (struct claim_set){.count = 0};
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        if ((file.claimed >> value & 1) != 0) {
            set->dtype[set->count] = file.dtype;
            set->claims[set->count++] = (struct claim){.name = case_file_name((mha_value)value),
                .value = (mha_value)value,
                .claimed = file.gradient[value]};
        }
    }
    mha_error error;
    /* The mask is read as long as the truth lives, and stands in the file. */
    ck_assert_msg(truth_create(truth, &input, &error) == MHA_OK, "%s", error.text);
    truth->walk.pass.mask = &file.mask;
    ck_assert_msg(rounding_set(set, truth, "case.npz", &error) == MHA_OK, "%s", error.text);
}

static void assert_within(const struct claim *claim, int i) {
    for (size_t k = 0; k < mha_value_count(claim->value, &file.shape); k++) {
        const double distance = fabs(claim->claimed[k] - claim->truth[k]);
        ck_assert_msg(distance <= claim_allowed(claim, k),
            "draw %d, size %g, %s[%zu]: %.3g off, %.3g allowed of %.3g", i, sizes[i / 2 % SIZES],
            claim->name, k, distance, claim_allowed(claim, k), claim->truth[k]);
    }
}

/* Ten shapes a loop: doubles and floats of every size. */
START_TEST(right_gradients_are_within) {
    for (int i = 10 * _i; i < 10 * (_i + 1); i++) {
        struct claim_set set;
        struct truth truth;
        draw(i);
        compute_anew();
        hold(&set, &truth);
        for (size_t c = 0; c < set.count; c++) {
            assert_within(&set.claims[c], i);
        }
        claim_set_free(&set);
        truth_destroy(&truth);
    }
}
END_TEST

/* Units of the largest entry that are allowed; 0 where the table says that it is smaller than rounding. */
static double units_allowed(const struct claim *claim) {
    const double unit = file.dtype == MHA_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON;
    const double largest = claim_largest(claim, &file.shape);
    return claim->allowed > 0.1 * largest ? 0.0 : claim->allowed / (unit * largest);
}

/* An error of 1000 units of the largest entry is no rounding, 10000 where terms cancel; but for numbers of 30, whose
 * softmax makes much more of the rounding of the scores. */
START_TEST(wrong_gradients_are_outside) {
    size_t claims = 0, blurred = 0;
    for (int i = 0; i < DRAWS; i++) {
        struct claim_set set;
        struct truth truth;
        draw(i);
        hold(&set, &truth);
        for (size_t c = 0; c < set.count && sizes[i / 2 % SIZES] <= 1.0; c++) {
            const double units = units_allowed(&set.claims[c]);
            ck_assert_msg(units < 10000.0, "draw %d, %s: %g", i, set.claims[c].name, units);
            blurred += units > 1000.0;
            claims++;
        }
        claim_set_free(&set);
        truth_destroy(&truth);
    }
    ck_assert_msg(blurred * 50 < claims, "%zu of %zu", blurred, claims);
}
END_TEST

TCase *claims_rounding(void) {
    TCase *tests = tcase_create("rounding");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, right_gradients_are_within, 0, DRAWS / 10);
    tcase_add_test(tests, wrong_gradients_are_outside);
    return tests;
}
