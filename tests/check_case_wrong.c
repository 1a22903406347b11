/* mha gradcheck --case on arrays that were spoiled one by one. */
#include "case_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case_file.h"
#include "folder.h"

static struct case_file file;

/* In double, and in float where _i is odd. */
static void fill(int i, const mha_shape *shape, bool self_attention, enum case_mask mask) {
    case_file_fill(&file, shape, self_attention, mask, i % 2 == 1 ? MHA_FLOAT32 : MHA_FLOAT64);
}

static void fill_cross(int i, enum case_mask mask) {
    const mha_shape shape = case_file_shape(false);
    fill(i, &shape, false, mask);
}

static size_t count_of(mha_value value) {
    return mha_value_count(value, &file.shape);
}

static void scale(mha_value value, double factor) {
    for (size_t i = 0; i < count_of(value); i++) {
        file.gradient[value][i] *= factor;
    }
}

static size_t largest_of(mha_value value) {
    const double *gradient = file.gradient[value];
    size_t largest = 0;
    for (size_t i = 1; i < count_of(value); i++) {
        largest = fabs(gradient[i]) > fabs(gradient[largest]) ? i : largest;
    }
    return largest;
}

START_TEST(gradients_of_wk_and_wv_exchanged) {
    fill_cross(_i, CASE_EXPLICIT);
    for (size_t i = 0; i < count_of(MHA_WK); i++) {
        const double dwk = file.gradient[MHA_WK][i];
        file.gradient[MHA_WK][i] = file.gradient[MHA_WV][i];
        file.gradient[MHA_WV][i] = dwk;
    }
    assert_case_called(&file, "exchanged", "grad_wk grad_wv",
        WORDS("    the gradient of grad_wv: the two are exchanged",
            "    the gradient of grad_wk: the two are exchanged",
            "all of it comes of one mistake: K and V exchanged, in backward\n"
            "first wrong stage on the way back: project_value\n",
            "FAIL: 2 of 6 gradients wrong: grad_wk grad_wv"));
}
END_TEST

START_TEST(one_gradient_in_place_of_another) {
    fill_cross(_i, CASE_OPEN);
    for (size_t i = 0; i < count_of(MHA_WK); i++) {
        file.gradient[MHA_WK][i] = file.gradient[MHA_WQ][i];
    }
    assert_case_called(&file, "copied", "grad_wk",
        WORDS("    the gradient of grad_wq\n", "first wrong stage on the way back: project_key\n"));
}
END_TEST

START_TEST(a_weight_gradient_transposed) {
    static const char *const stages[] = {
        "project_query", "project_key", "project_value", "project_output"};
    const mha_value value = (mha_value)(MHA_FIRST_WEIGHT + _i / 2);
    char stage[128];
    fill_cross(_i, CASE_EXPLICIT);
    const size_t D = file.shape.width;
    for (size_t i = 0; i < D * D; i++) {
        if (i / D < i % D) {
            const double upper = file.gradient[value][i];
            file.gradient[value][i] = file.gradient[value][i % D * D + i / D];
            file.gradient[value][i % D * D + i / D] = upper;
        }
    }
    snprintf(stage, sizeof stage, "first wrong stage on the way back: %s\n", stages[_i / 2]);
    assert_case_called(&file, "transposed", case_file_name(value),
        WORDS("    the transpose of what is right\n", stage));
}
END_TEST

START_TEST(one_head_of_wv_zero) {
    fill_cross(_i, CASE_LENGTHS);
    const size_t D = file.shape.width;
    for (size_t i = 0; i < D * D; i++) {
        file.gradient[MHA_WV][i] *= i % D >= D / 2;
    }
    assert_case_called(&file, "head", "grad_wv",
        WORDS("    zero in head 0, right elsewhere\n",
            "first wrong stage on the way back: project_value\n"));
}
END_TEST

/* sqrt(d) is 2 as well: what is right beside it tells which is meant. */
START_TEST(query_counted_twice) {
    const bool self_attention = _i / 2 == 1;
    const mha_shape shape = case_file_shape(self_attention);
    fill(_i, &shape, self_attention, CASE_OPEN);
    ck_assert_uint_eq(mha_head_width(&shape), 4);
    scale(MHA_QUERY, 2.0);
    assert_case_called(&file, "twice", "grad_query",
        WORDS("    2 times what is right: counted twice\n", "first wrong stage on the way back"));
}
END_TEST

static const struct {
    const char *what;
    double factor;
    const char *text;
} factors[] = {
    {"sign", -1.0, "    -1 times what is right: the sign is wrong\n"},
    {"batch", 1.0 / 3.0, "    1/B of what is right: averaged over the batch\n"},
    {"queries", 1.0 / 15.0, "    1/(B T) of what is right: averaged over the queries\n"},
    {"half", 0.5, "    half of what is right\n"},
    {"batch again", 3.0, "    B times what is right: the batch counted again\n"},
    {"zero", 0.0, "    zero everywhere: no gradient reaches it\n"},
    {"other", 1.25, "    1.25"},
};
enum { FACTORS = sizeof factors / sizeof *factors };

START_TEST(times_a_number) {
    const mha_shape shape = {3, 5, 4, 12, 2};
    fill(_i, &shape, false, CASE_CAUSAL);
    scale(MHA_WO, factors[_i / 2].factor);
    assert_case_called(&file, factors[_i / 2].what, "grad_wo",
        WORDS(factors[_i / 2].text, "first wrong stage on the way back: project_output\n"));
}
END_TEST

/* An average over the batch reaches all of them. */
START_TEST(all_averaged_over_the_batch) {
    const mha_shape shape = {3, 5, 4, 12, 2};
    fill(_i, &shape, false, CASE_CAUSAL);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        scale((mha_value)value, 1.0 / 3.0);
    }
    assert_case_called(&file, "averaged", "grad_query grad_context grad_wq grad_wk grad_wv grad_wo",
        WORDS("    1/B of what is right: averaged over the batch\n",
            "all are 0.333333 times what is right: the loss, or grad_output, may be another one\n",
            "FAIL: 6 of 6"));
}
END_TEST

/* By a billionth in double, by a thousandth in float, of the array's largest. */
START_TEST(one_entry_off) {
    const mha_value value = (mha_value)(_i / 2);
    char entry[64];
    fill_cross(_i, CASE_OPEN);
    const size_t at = largest_of(value);
    file.gradient[value][at] *= 1.0 + (_i % 2 == 1 ? 1e-3 : 1e-9);
    const mha_value_shape of = mha_value_shape_of(value, &file.shape);
    const size_t last = of.dims[of.rank - 1];
    if (of.rank == 2) {
        snprintf(
            entry, sizeof entry, "    %s[%zu,%zu]", case_file_name(value), at / last, at % last);
    } else {
        snprintf(entry, sizeof entry, "    %s[%zu,%zu,%zu]", case_file_name(value),
            at / last / of.dims[1], at / last % of.dims[1], at % last);
    }
    assert_case_called(&file, "one entry", case_file_name(value),
        WORDS(entry, _i % 2 == 1 ? "    this entry alone, by 0.001 of it\n"
                                 : "    this entry alone, by 1e-09 of it\n"));
}
END_TEST

START_TEST(not_finite) {
    static const char *const texts[] = {"is +nan", "is +inf", "is -inf"};
    const double numbers[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    fill_cross(_i, CASE_EXPLICIT);
    file.gradient[MHA_WK][7] = fabs(numbers[_i / 2]) > 0.0 ? numbers[_i / 2] : (double)NAN;
    file.gradient[MHA_WK][9] = 1e3;
    assert_case_called(&file, "not finite", "grad_wk",
        WORDS("    grad_wk[0,7] (head 1) ", texts[_i / 2], "    not finite\n",
            "first wrong stage on the way back: project_key\n"));
}
END_TEST

START_TEST(another_number_of_wrong_ones) {
    fill_cross(_i, CASE_OPEN);
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){32}, 1);
    for (size_t i = 0; i < count_of(MHA_SOURCE); i++) {
        file.gradient[MHA_SOURCE][i] += mha_rng_normal(&rng);
    }
    assert_case_called(&file, "noise", "grad_context", WORDS("    no mark of a common mistake\n"));
}
END_TEST

/* What the table says is allowed of an array, of its largest entry. */
static double allowed_of(mha_value value) {
    struct outcome outcome = case_file_check(&file);
    const char *line = strstr(outcome.out, case_file_name(value));
    double allowed = 0.0;
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "%*s %*s %*u %*u %*f %lf", &allowed), 1);
    outcome_free(&outcome);
    return allowed;
}

/* A little more than rounding is wrong, but no mistake is read into it: not one that would change nothing here. */
START_TEST(little_more_than_rounding) {
    static const mha_shape shapes[] = {{1, 3, 3, 4, 1}, {2, 3, 3, 8, 2}};
    static const double times[] = {2.0, 6.0, 15.0};
    const mha_shape *shape = &shapes[_i / 2 % 2];
    const double factor = times[_i / 4 % 3];
    fill(_i, shape, _i / 12 == 1, CASE_OPEN);
    const double allowed =
        factor * allowed_of(MHA_WQ) * fabs(file.gradient[MHA_WQ][largest_of(MHA_WQ)]);
    for (size_t i = 0; i < count_of(MHA_WQ); i++) {
        file.gradient[MHA_WQ][i] += i % 3 == 1 ? -allowed : allowed;
    }
    assert_case_called(&file, "little more", "grad_wq",
        WORDS("    no mark of a common mistake\n",
            "\nfirst wrong stage on the way back: project_query\n"));
}
END_TEST

/* A sample, and a position. */
START_TEST(some_places_alone) {
    fill_cross(_i, CASE_OPEN);
    const size_t D = file.shape.width, S = file.shape.source_length, T = file.shape.target_length;
    for (size_t i = 0; i < count_of(MHA_SOURCE); i++) {
        file.gradient[MHA_SOURCE][i] *= i / D / S == 1 ? 3.0 : 1.0;
    }
    for (size_t i = 0; i < count_of(MHA_QUERY); i++) {
        file.gradient[MHA_QUERY][i] *= i / D % T != T - 1;
    }
    assert_case_called(&file, "places", "grad_query grad_context",
        WORDS("    3 times what is right in sample 1, right elsewhere\n",
            "    zero in target position 2, right elsewhere\n",
            "no stage alone spoils just these\n"));
}
END_TEST

TCase *case_wrong(void) {
    TCase *tests = tcase_create("wrong arrays");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gradients_of_wk_and_wv_exchanged, 0, 2);
    tcase_add_loop_test(tests, one_gradient_in_place_of_another, 0, 2);
    tcase_add_loop_test(tests, a_weight_gradient_transposed, 0, 8);
    tcase_add_loop_test(tests, one_head_of_wv_zero, 0, 2);
    tcase_add_loop_test(tests, query_counted_twice, 0, 4);
    tcase_add_loop_test(tests, times_a_number, 0, 2 * FACTORS);
    tcase_add_loop_test(tests, all_averaged_over_the_batch, 0, 2);
    tcase_add_loop_test(tests, one_entry_off, 0, 2 * CASE_FILE_LEAVES);
    tcase_add_loop_test(tests, not_finite, 0, 6);
    tcase_add_loop_test(tests, another_number_of_wrong_ones, 0, 2);
    tcase_add_loop_test(tests, little_more_than_rounding, 0, 24);
    tcase_add_loop_test(tests, some_places_alone, 0, 2);
    return tests;
}
