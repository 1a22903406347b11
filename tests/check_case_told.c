/* mha gradcheck --case where rounding, precision or what the pass began with decide: what can be told, and what is
 * said of it. */
#include "case_cases.h"

#include <math.h>
#include <string.h>

#include "case_file.h"
#include "checks/walk.h"
#include "folder.h"

static struct case_file file;

static void fill(mha_dtype dtype) {
    const mha_shape shape = {2, 5, 5, 8, 2};
    case_file_fill(&file, &shape, true, CASE_OPEN, dtype);
}

static size_t count_of(mha_value value) {
    return mha_value_count(value, &file.shape);
}

/* Scores so large that the softmax chooses one key, and what is left of dWq and dWk cancels to less than rounding. */
static void choose_one_key(void) {
    fill(MHA_FLOAT32);
    for (size_t i = 0; i < count_of(MHA_WQ); i++) {
        file.leaf[MHA_WQ][i] *= 60.0;
        file.leaf[MHA_WK][i] *= 60.0;
    }
    case_file_walk(&file, mha_stages, NULL);
}

static void assert_out(int status, const char *const *texts) {
    struct outcome outcome = case_file_check(&file);
    ck_assert_msg(outcome.status == status, "%d: %s%s", outcome.status, outcome.out, outcome.err);
    for (; *texts != NULL; texts++) {
        ck_assert_msg(strstr(outcome.out, *texts) != NULL, "no '%s' in:\n%s", *texts, outcome.out);
    }
    outcome_free(&outcome);
}

/* Wrong by as much as they are, dWq and dWk are neither right nor wrong. */
START_TEST(what_rounding_hides_is_not_told) {
    choose_one_key();
    for (size_t i = 0; i < count_of(MHA_WQ); i++) {
        file.gradient[MHA_WQ][i] = file.gradient[MHA_WK][i] = 0.0;
    }
    assert_out(0, WORDS("smaller than rounding\n", " of them are told no better than to ",
                      "PASS: 3 gradients are right; not told from rounding: grad_wq grad_wk\n"));
    file.claimed = BIT_OF(MHA_WQ) | BIT_OF(MHA_WK);
    assert_out(2, WORDS("NOTHING TOLD; not told from rounding: grad_wq grad_wk\n"));
}
END_TEST

/* The first sample is a million times the other, whose gradient is lost. */
START_TEST(a_small_sample_is_told_beside_a_large_one) {
    const mha_dtype dtypes[] = {MHA_FLOAT32, MHA_FLOAT64};
    fill(dtypes[_i]);
    const size_t half = count_of(MHA_OUTPUT) / 2;
    for (size_t i = 0; i < half; i++) {
        file.grad_output[i] *= 1e6;
    }
    case_file_walk(&file, mha_stages, NULL);
    assert_case_called(&file, "as it is", "", WORDS("PASS: 5 gradients are right\n"));
    for (size_t i = half; i < count_of(MHA_QUERY); i++) {
        file.gradient[MHA_QUERY][i] = 0.0;
    }
    assert_case_called(
        &file, "a sample lost", "grad_query", WORDS("    zero in sample 1, right elsewhere\n"));
}
END_TEST

/* Noise all over, of single precision in double and of half precision in float. */
START_TEST(lower_precision_is_named) {
    fill(_i == 0 ? MHA_FLOAT64 : MHA_FLOAT32);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        for (size_t i = 0; i < count_of((mha_value)value); i++) {
            const double noise =
                (double)((i * 7919 + (size_t)value * 104729) % 1009) / 1009.0 - 0.5;
            file.gradient[value][i] *= 1.0 + (_i == 0 ? 1e-7 : 1e-3) * noise;
        }
    }
    assert_out(
        1, WORDS("    no mark of a common mistake\n",
               "of the largest entry: computed in lower precision than it is stored in, or"));
}
END_TEST

START_TEST(one_factor_of_all_is_named) {
    fill(_i == 0 ? MHA_FLOAT64 : MHA_FLOAT32);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        for (size_t i = 0; i < count_of((mha_value)value); i++) {
            file.gradient[value][i] *= -1.0;
        }
    }
    assert_out(
        1, WORDS("all are -1 times what is right: the loss, or grad_output, may be another one\n"));
}
END_TEST

/* The file's output tells forward from backward. */
START_TEST(output_tells_forward_from_backward) {
    static double output[CASE_FILE_MOST];
    fill(MHA_FLOAT64);
    struct walk walk;
    struct walk_leaves leaves = {.query = file.leaf[MHA_QUERY]};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves.weights[i] = file.leaf[MHA_FIRST_WEIGHT + i];
    }
    ck_assert_int_eq(walk_create(&walk, &leaves, NULL, &file.shape, mha_stages, NULL), MHA_OK);
    walk_forward(&walk);
    for (size_t i = 0; i < count_of(MHA_OUTPUT); i++) {
        output[i] = (_i == 0 ? 1.0 : 1.5) * walk.pass.value[MHA_OUTPUT][i];
    }
    walk_destroy(&walk);
    file.extra[file.extra_count++] = (mha_array){
        .name = "output", .dtype = MHA_FLOAT64, .rank = 3, .dims = {2, 5, 8}, .data = output};
    assert_out(
        0, WORDS("output is off by ", _i == 0 ? ": forward is the same function\n"
                                              : ": forward is another function: its mask, heads, "
                                                "scale or layout\n"));
}
END_TEST

/* Of another shape there is nothing to say; a number that is none makes it another function. */
START_TEST(an_output_is_compared_whole) {
    static double output[CASE_FILE_MOST];
    fill(MHA_FLOAT64);
    output[0] = (double)NAN;
    file.extra[file.extra_count++] = (mha_array){
        .name = "output", .dtype = MHA_FLOAT64, .rank = 3, .dims = {2, 5, 8}, .data = output};
    assert_out(0, WORDS(": forward is another function: its mask"));
    file.extra[0].dims[0] = 5;
    file.extra[0].dims[1] = 2;
    struct outcome outcome = case_file_check(&file);
    ck_assert_ptr_null(strstr(outcome.out, "output is off"));
    outcome_free(&outcome);
}
END_TEST

/* A mean loss, and a context that is the query. */
START_TEST(what_the_pass_began_with_is_named) {
    const mha_shape shape = {3, 5, 5, 12, 2};
    case_file_fill(&file, &shape, false, CASE_OPEN, MHA_FLOAT64);
    memcpy(file.leaf[MHA_SOURCE], file.leaf[MHA_QUERY], sizeof file.leaf[MHA_SOURCE]);
    case_file_walk(&file, mha_stages, NULL);
    for (int value = 0; value < CASE_FILE_LEAVES; value++) {
        for (size_t i = 0; i < count_of((mha_value)value); i++) {
            file.gradient[value][i] /= 3.0 * 5.0 * 12.0;
        }
    }
    assert_out(1, WORDS("    1/(B T D) of what is right: the loss is a mean\n",
                      "context is the query: for self-attention leave it out"));
}
END_TEST

START_TEST(the_layout_of_pytorch_is_named) {
    fill(MHA_FLOAT64);
    const size_t D = file.shape.width;
    for (int value = MHA_WQ; value <= MHA_WO; value++) {
        for (size_t i = 0; i < D; i++) {
            for (size_t k = 0; k < i; k++) {
                const double kept = file.gradient[value][i * D + k];
                file.gradient[value][i * D + k] = file.gradient[value][k * D + i];
                file.gradient[value][k * D + i] = kept;
            }
        }
    }
    assert_case_called(&file, "transposed", "grad_wq grad_wk grad_wv grad_wo",
        WORDS("all weight gradients are (out,in), as PyTorch keeps them: (in,out) is needed\n"));
}
END_TEST

/* Gradients of other weights than those of the file. */
START_TEST(another_function_is_not_blamed_on_a_stage) {
    fill(MHA_FLOAT64);
    for (size_t i = 0; i < count_of(MHA_WQ); i++) {
        file.leaf[MHA_WQ][i] = -0.7 * file.leaf[MHA_WV][i];
        file.leaf[MHA_WO][i] += 0.3 * file.leaf[MHA_WK][i];
    }
    assert_out(1, WORDS("all are wrong: forward may be another function"));
}
END_TEST

TCase *case_told(void) {
    TCase *tests = tcase_create("told");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_test(tests, what_rounding_hides_is_not_told);
    tcase_add_loop_test(tests, a_small_sample_is_told_beside_a_large_one, 0, 2);
    tcase_add_loop_test(tests, lower_precision_is_named, 0, 2);
    tcase_add_loop_test(tests, one_factor_of_all_is_named, 0, 2);
    tcase_add_loop_test(tests, output_tells_forward_from_backward, 0, 2);
    tcase_add_test(tests, an_output_is_compared_whole);
    tcase_add_test(tests, what_the_pass_began_with_is_named);
    tcase_add_test(tests, the_layout_of_pytorch_is_named);
    tcase_add_test(tests, another_function_is_not_blamed_on_a_stage);
    return tests;
}
