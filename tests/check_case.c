/* mha gradcheck --case on gradients that are right. */
#include "case_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mha/rng.h>

#include "case_file.h"
#include "folder.h"

Suite *case_suite(void);

static struct case_file file;

/* Right gradients of the layer itself, of doubles by the readable wing and of floats by the fused one. */
START_TEST(right_gradients_pass) {
    const bool self_attention = _i % 2 == 1, in_float = _i / 2 % 2 == 1;
    const mha_shape shape = case_file_shape(self_attention);
    case_file_fill(&file, &shape, self_attention, (enum case_mask)(_i / 4),
        in_float ? MHA_FLOAT32 : MHA_FLOAT64);
    if (in_float) {
        case_file_walk_in_float(&file);
    }
    assert_case_called(&file, "right", "",
        WORDS(self_attention ? "PASS: 5 gradients are right" : "PASS: 6 gradients are right"));
}
END_TEST

/* Every value that may be claimed. */
START_TEST(right_gradients_of_activations_pass) {
    const bool self_attention = _i % 2 == 1;
    const mha_shape shape = case_file_shape(self_attention);
    case_file_fill(&file, &shape, self_attention, (enum case_mask)(_i / 4),
        _i / 2 % 2 == 1 ? MHA_FLOAT32 : MHA_FLOAT64);
    file.claimed |= INTERMEDIATE;
    assert_case_called(&file, "activations", "", WORDS("gradients are right"));
}
END_TEST

static const mha_shape smallest[] = {{1, 1, 1, 1, 1}, {1, 1, 1, 4, 2}, {2, 1, 3, 4, 4},
    {1, 3, 1, 4, 1}, {2, 2, 2, 1, 1}, {1, 4, 4, 6, 6}, {3, 1, 1, 2, 2}};
enum { SMALLEST = sizeof smallest / sizeof *smallest };

/* B, T, S, D, d or h of 1; then what is wrong there is called so, and nothing is read that is not there. */
START_TEST(smallest_sizes) {
    const mha_shape *shape = &smallest[_i % SMALLEST];
    const bool self_attention = shape->target_length == shape->source_length && _i / SMALLEST > 0;
    case_file_fill(&file, shape, self_attention, CASE_OPEN, MHA_FLOAT64);
    file.claimed |= INTERMEDIATE;
    assert_case_called(&file, "smallest", "", WORDS("gradients are right"));
    for (int value = 0; value < MHA_OUTPUT; value++) {
        if ((file.claimed >> value & 1) == 0) {
            continue;
        }
        const double kept = file.gradient[value][0];
        file.gradient[value][0] += 0.25;
        assert_case_called(
            &file, "smallest", case_file_name((mha_value)value), WORDS("FAIL: 1 of"));
        file.gradient[value][0] = kept;
    }
}
END_TEST

/* Without a source nothing is computed from anything: all gradients are zero. */
START_TEST(an_empty_source) {
    case_file_fill(&file, &(mha_shape){2, 3, 0, 4, 2}, false, CASE_OPEN, MHA_FLOAT64);
    file.claimed |= INTERMEDIATE;
    assert_case_called(&file, "empty", "", WORDS("gradients are right", "zero is right"));
    file.gradient[MHA_WQ][3] = 1.0;
    file.gradient[MHA_WO][5] = 1e-30;
    assert_case_called(&file, "empty", "grad_wq grad_wo", WORDS("FAIL: 2 of"));
}
END_TEST

/* Random sizes, masks and sets of claims, of which random ones have a random entry that is off, or all of them. */
START_TEST(any_sizes_and_claims) {
    mha_rng rng;
    mha_rng_seed(&rng, (uint64_t[]){34, (uint64_t)_i}, 2);
    const size_t heads = 1 + mha_rng_integers(&rng, 4);
    mha_shape shape = {1 + mha_rng_integers(&rng, 3), 1 + mha_rng_integers(&rng, 6),
        1 + mha_rng_integers(&rng, 7), heads * (1 + mha_rng_integers(&rng, 4)), heads};
    const bool self_attention = mha_rng_integers(&rng, 2) == 1;
    shape.source_length = self_attention ? shape.target_length : shape.source_length;
    case_file_fill(&file, &shape, self_attention,
        (enum case_mask)mha_rng_integers(&rng, CASE_MASKS),
        _i % 2 == 1 ? MHA_FLOAT32 : MHA_FLOAT64);
    file.claimed = (file.claimed | INTERMEDIATE) & (mha_rng_bits32(&rng) | BIT_OF(MHA_WO));
    char wrong[512] = "";
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        const size_t count = mha_value_count((mha_value)value, &shape), used = strlen(wrong);
        const size_t first = mha_rng_integers(&rng, (uint32_t)count),
                     kind = mha_rng_integers(&rng, 6);
        if ((file.claimed >> value & 1) == 0 || kind > 1) {
            continue;
        }
        for (size_t i = first; i < (kind == 0 ? first + 1 : count); i++) {
            file.gradient[value][i] = 1.5 * file.gradient[value][i] + 0.25;
        }
        snprintf(wrong + used, sizeof wrong - used, "%s%s", used > 0 ? " " : "",
            case_file_name((mha_value)value));
    }
    assert_case_called(&file, "any", wrong, WORDS("held against mha's own gradients"));
}
END_TEST

/* Which of the claims are there does not matter. */
START_TEST(one_claim_alone) {
    const mha_shape shape = case_file_shape(false);
    case_file_fill(&file, &shape, false, CASE_EXPLICIT, MHA_FLOAT64);
    file.claimed = BIT_OF(_i);
    assert_case_called(&file, "one", "", WORDS("PASS: 1 gradient is right"));
    file.gradient[_i][1] *= 1.5;
    assert_case_called(&file, "one", case_file_name((mha_value)_i), WORDS("FAIL: 1 of 1"));
}
END_TEST

/* Larger sizes than checks entry by entry have, as a user's are. */
START_TEST(a_user_s_sizes) {
    static const mha_shape shape = {2, 12, 14, 48, 3};
    case_file_fill(&file, &shape, false, CASE_CAUSAL, MHA_FLOAT32);
    case_file_walk_in_float(&file);
    assert_case_called(&file, "large", "", WORDS("PASS: 6 gradients are right"));
    file.gradient[MHA_WV][47 * 48 + 5] += 0.01;
    assert_case_called(&file, "large", "grad_wv",
        WORDS("    grad_wv[47,5] (head 0) is ", "    this entry alone, by "));
}
END_TEST

/* Rows that nobody sees may hold anything. */
START_TEST(nan_where_nobody_looks) {
    const mha_shape shape = case_file_shape(false);
    case_file_fill(&file, &shape, false, CASE_LENGTHS, MHA_FLOAT64);
    const size_t row = 2 * shape.source_length - 1;
    for (size_t i = 0; i < shape.width; i++) {
        file.leaf[MHA_SOURCE][row * shape.width + i] = (double)NAN;
    }
    assert_case_called(&file, "unseen", "", WORDS("PASS: 6 gradients are right"));
    file.gradient[MHA_WK][0] += 1.0;
    file.gradient[MHA_WK][9] += 1.0;
    assert_case_called(&file, "unseen", "grad_wk", WORDS("no mark of a common mistake"));
}
END_TEST

/* The head says how sure the program is of what it holds claims against. */
START_TEST(it_vouches_for_itself) {
    const mha_shape shape = case_file_shape(false);
    double by_complex, by_differences;
    case_file_fill(&file, &shape, false, CASE_EXPLICIT, MHA_FLOAT64);
    struct outcome outcome = case_file_check(&file);
    ck_assert_int_eq(
        sscanf(outcome.out,
            "held against mha's own gradients of these arrays, which are within %lf of "
            "the complex step, and of\ndifferences within %lf of what is allowed\n",
            &by_complex, &by_differences),
        2);
    ck_assert(by_complex <= 1e-12 && by_differences <= 1.0);
    outcome_free(&outcome);
}
END_TEST

/* The same arrays as .safetensors, and without heads where --heads tells them. */
START_TEST(heads_by_the_option) {
    const mha_shape shape = case_file_shape(false);
    case_file_fill(&file, &shape, false, CASE_OPEN, MHA_FLOAT64);
    file.extra[file.extra_count++] = (mha_array){.name = "heads"};
    case_file_write(&file, "case.npz");
    struct outcome outcome =
        run_program(folder_path(""), WORDS("gradcheck", "--case", "case.npz", "--heads", "2"));
    ck_assert_int_eq(outcome.status, 0);
    outcome_free(&outcome);
    outcome =
        run_program(folder_path(""), WORDS("gradcheck", "--case", "case.npz", "--heads", "4"));
    ck_assert_int_eq(outcome.status, 1);
    outcome_free(&outcome);
}
END_TEST

TCase *case_right(void) {
    TCase *tests = tcase_create("right");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, right_gradients_pass, 0, 4 * CASE_MASKS);
    tcase_add_loop_test(tests, right_gradients_of_activations_pass, 0, 4 * CASE_MASKS);
    tcase_add_loop_test(tests, smallest_sizes, 0, 2 * SMALLEST);
    tcase_add_loop_test(tests, any_sizes_and_claims, 0, 80);
    tcase_add_test(tests, an_empty_source);
    tcase_add_loop_test(tests, one_claim_alone, 0, CASE_FILE_LEAVES);
    tcase_add_test(tests, a_user_s_sizes);
    tcase_add_test(tests, nan_where_nobody_looks);
    tcase_add_test(tests, it_vouches_for_itself);
    tcase_add_test(tests, heads_by_the_option);
    return tests;
}

Suite *case_suite(void) {
    Suite *suite = suite_create("case");
    suite_add_tcase(suite, case_right());
    suite_add_tcase(suite, case_wrong());
    suite_add_tcase(suite, case_wrong_stages());
    suite_add_tcase(suite, case_wrong_passes());
    suite_add_tcase(suite, case_told());
    suite_add_tcase(suite, case_refusals());
    return suite;
}
