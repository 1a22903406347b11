/* mha gradcheck --case on gradients of another program, which shares nothing with the layer, right and with a mistake
 * in it. */
#include "case_cases.h"

#include <math.h>
#include <string.h>

#include "case_explained.h"
#include "folder.h"
#include "naive_case.h"

static unsigned char seen[CASE_FILE_MOST], everything[CASE_FILE_MOST];

static struct naive_pass naive(void) {
    memset(everything, 1, sizeof everything);
    return naive_case(&file, seen);
}

static void compute(const struct naive_pass *pass) {
    naive_case_compute(&file, pass);
}

/* Bit 0: in float; bit 1: self-attention; then the mask. */
static void fill_case(int i, enum case_mask mask) {
    const bool self_attention = i / 2 % 2 == 1;
    const mha_shape shape = {3, self_attention ? 5 : 4, 5, 12, 2};
    fill_both(&shape, self_attention, mask, i % 2);
}

START_TEST(right_gradients_of_another_program) {
    fill_case(_i, (enum case_mask)(_i / 4));
    const struct naive_pass pass = naive();
    compute(&pass);
    assert_case_called(&file, "another", "", WORDS("gradients are right"));
}
END_TEST

/* Doubles go in, and floats are computed: that they were rounded before is rounding too. */
START_TEST(floats_of_doubles) {
    fill_case(2 * (_i % 2), (enum case_mask)(_i / 2));
    file.claimed_dtype = MHA_FLOAT32;
    const struct naive_pass pass = naive();
    compute(&pass);
    assert_case_called(&file, "floats of doubles", "", WORDS("gradients are right", " float32 "));
}
END_TEST

START_TEST(scale_missing) {
    fill_case(_i, CASE_CAUSAL);
    struct naive_pass pass = naive();
    pass.scale_back = 1.0;
    compute(&pass);
    char wrong[256];
    list_wrong(wrong, sizeof wrong);
    assert_case_called(&file, "scale", wrong,
        WORDS("sqrt(d) times what is right: the scale 1/sqrt(d) is missing"));
    assert_explained("scale lost, in backward", "scale");
    pass.scale = 1.0;
    compute(&pass);
    assert_explained("the scale 1/sqrt(d) missing, in forward and backward", "scale");
}
END_TEST

START_TEST(mask_forgotten) {
    fill_case(_i, (enum case_mask)(1 + _i / 4));
    struct naive_pass pass = naive();
    pass.seen_by_softmax = everything;
    compute(&pass);
    assert_explained("mask forgotten, in the softmax's backward", "softmax");
    pass.seen_by_values = everything;
    compute(&pass);
    assert_explained("mask forgotten, in all of backward", "context");
    pass.seen = everything;
    compute(&pass);
    assert_explained("mask forgotten, in forward and backward", "mask");
}
END_TEST

START_TEST(mask_the_other_way_round) {
    fill_case(_i, CASE_EXPLICIT);
    const struct naive_pass pass = naive();
    for (size_t i = 0; i < mha_value_count(MHA_SCORES, &file.shape); i++) {
        seen[i] = !seen[i];
    }
    compute(&pass);
    assert_explained("the mask the other way round: what is allowed was blocked", "mask");
}
END_TEST

/* --causal was not given to the check, but the program had it. */
START_TEST(causal_not_told) {
    fill_case(_i, CASE_CAUSAL);
    const struct naive_pass pass = naive();
    compute(&pass);
    file.causal = NULL;
    assert_case_called(&file, "causal", "grad_query grad_context grad_wq grad_wk grad_wv grad_wo",
        WORDS(file.self_attention ? "a causal mask from the top left (--causal=top-left)"
                                  : "a causal mask from the bottom right (--causal=bottom-right)"));
}
END_TEST

START_TEST(row_term_and_exchange) {
    fill_case(_i, CASE_EXPLICIT);
    struct naive_pass pass = naive();
    pass.without_row_term = true;
    compute(&pass);
    assert_explained("softmax row term dropped, in backward", "softmax");
    pass.without_row_term = false;
    pass.exchanges_key_and_value = true;
    compute(&pass);
    assert_explained("dK and dV exchanged", "project_value");
}
END_TEST

static void transpose_wo(void) {
    const size_t d = file.shape.width;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) {
            const double kept = file.leaf[MHA_WO][i * d + j];
            file.leaf[MHA_WO][i * d + j] = file.leaf[MHA_WO][j * d + i];
            file.leaf[MHA_WO][j * d + i] = kept;
        }
    }
}

/* The arrays alone do not say which. */
START_TEST(alternatives_are_told) {
    const mha_shape shape = {3, 4, 5, 8, 2};
    fill_both(&shape, false, CASE_EXPLICIT, _i);
    struct naive_pass pass = naive();
    pass.scale_back = 1.0;
    compute(&pass);
    assert_explained("scale lost, in backward, or a factor of two, sqrt(d) being 2", "scale");
    pass = naive();
    transpose_wo();
    compute(&pass);
    transpose_wo();
    assert_explained("Wo not transposed, in backward, or wo stored transposed", "project_output");
}
END_TEST

TCase *case_wrong_passes(void) {
    TCase *tests = tcase_create("wrong passes");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, right_gradients_of_another_program, 0, 4 * CASE_MASKS);
    tcase_add_loop_test(tests, floats_of_doubles, 0, 2 * CASE_MASKS);
    tcase_add_loop_test(tests, scale_missing, 0, 4);
    tcase_add_loop_test(tests, mask_forgotten, 0, 4 * (CASE_MASKS - 1));
    tcase_add_loop_test(tests, mask_the_other_way_round, 0, 4);
    tcase_add_loop_test(tests, causal_not_told, 0, 4);
    tcase_add_loop_test(tests, row_term_and_exchange, 0, 4);
    tcase_add_loop_test(tests, alternatives_are_told, 0, 2);
    return tests;
}
