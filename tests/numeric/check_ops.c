/* The operators against their definitions, written here with plain indices. Whole numbers make
 * every sum exact, so that equality is exact too. The suite of all tests of operators. */
#include "base/real.h"

#include "arrays.h"
#include "ops_cases.h"

#define ops_suite MHA_NAME(ops_suite)

Suite *ops_suite(void);

/* All axes differ, so that no two can be exchanged unseen. */
enum { B = 2, T = 3, S = 5, H = 3, HEAD = 4, D = H * HEAD };
static const mha_shape shape = {B, T, S, D, H};

START_TEST(projection_is_the_matrix_product) {
    enum { ROWS = 6, IN = 5, OUT = 3 };
    const mha_real *x = array_whole(ROWS * IN, 1), *w = array_whole(IN * OUT, 2);
    mha_real *y = array_new(ROWS * OUT);
    mha_projection_forward(y, x, w, ROWS, IN, OUT);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t o = 0; o < OUT; o++) {
            mha_real sum = REAL(0.0);
            for (size_t i = 0; i < IN; i++) {
                sum += x[r * IN + i] * w[i * OUT + o];
            }
            ck_assert(y[r * OUT + o] == sum);
        }
    }
}
END_TEST

/* <dy, y> = <dx, x> = <dw, w>: the product is linear in each of its factors. */
START_TEST(projection_backward_is_the_adjoint) {
    enum { ROWS = 6, IN = 5, OUT = 3 };
    const mha_real *x = array_whole(ROWS * IN, 1), *w = array_whole(IN * OUT, 2);
    const mha_real *dy = array_whole(ROWS * OUT, 3);
    mha_real *y = array_new(ROWS * OUT);
    mha_real *dx = array_constant(ROWS * IN, REAL(0.0));
    mha_real *dw = array_constant(IN * OUT, REAL(0.0));
    mha_projection_forward(y, x, w, ROWS, IN, OUT);
    mha_projection_backward(dx, dw, dy, x, w, ROWS, IN, OUT);
    mha_real products[3] = {0};
    for (size_t i = 0; i < ROWS * OUT; i++) {
        products[0] += dy[i] * y[i];
    }
    for (size_t i = 0; i < ROWS * IN; i++) {
        products[1] += dx[i] * x[i];
    }
    for (size_t i = 0; i < IN * OUT; i++) {
        products[2] += dw[i] * w[i];
    }
    ck_assert(products[0] != REAL(0.0));
    ck_assert(products[0] == products[1] && products[0] == products[2]);
}
END_TEST

START_TEST(split_takes_heads_from_columns) {
    const mha_real *x = array_normal(B * S * D, 1);
    mha_real *heads = array_new(B * S * D), *back = array_new(B * S * D);
    mha_split_heads_forward(heads, x, B, S, H, HEAD);
    for (size_t b = 0; b < B; b++) {
        for (size_t h = 0; h < H; h++) {
            for (size_t s = 0; s < S; s++) {
                for (size_t i = 0; i < HEAD; i++) {
                    ck_assert(heads[((b * H + h) * S + s) * HEAD + i] ==
                              x[(b * S + s) * D + h * HEAD + i]);
                }
            }
        }
    }
    mha_combine_heads_forward(back, heads, B, S, H, HEAD);
    assert_arrays_same("combine(split(x))", back, x, B * S * D);
    mha_split_heads_forward(heads, back, B, S, H, HEAD);
    mha_combine_heads_forward(back, heads, B, S, H, HEAD);
    assert_arrays_same("combine(split(combine(split(x))))", back, x, B * S * D);
}
END_TEST

static mha_real inner_product(const mha_real *a, const mha_real *b, size_t count) {
    mha_real sum = REAL(0.0);
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* <split a, b> = <a, combine b>, and each one's backward moves as the other's forward. */
START_TEST(split_and_combine_are_adjoint) {
    enum { ALL = B * S * D };
    const mha_real *a = array_whole(ALL, 1), *b = array_whole(ALL, 2);
    mha_real *split_a = array_new(ALL), *combined_b = array_new(ALL);
    mha_split_heads_forward(split_a, a, B, S, H, HEAD);
    mha_combine_heads_forward(combined_b, b, B, S, H, HEAD);
    const mha_real product = inner_product(split_a, b, ALL);
    ck_assert(product != inner_product(a, b, ALL));
    ck_assert(product == inner_product(a, combined_b, ALL));
    mha_real *dx = array_constant(ALL, REAL(0.0)), *dheads = array_constant(ALL, REAL(0.0));
    mha_split_heads_backward(dx, b, B, S, H, HEAD);
    mha_combine_heads_backward(dheads, a, B, S, H, HEAD);
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(dx[i] == combined_b[i] && dheads[i] == split_a[i]);
    }
}
END_TEST

START_TEST(scores_are_dot_products) {
    const mha_real *q = array_whole(B * H * T * HEAD, 1), *k = array_whole(B * H * S * HEAD, 2);
    mha_real *scores = array_new(B * H * T * S);
    mha_scores_forward(scores, q, k, &shape);
    for (size_t i = 0; i < B * H * T * S; i++) {
        const size_t bh = i / (T * S), t = i / S % T, s = i % S;
        ck_assert(
            scores[i] == inner_product(q + (bh * T + t) * HEAD, k + (bh * S + s) * HEAD, HEAD));
    }
}
END_TEST

START_TEST(context_is_the_weighted_sum) {
    const mha_real *w = array_whole(B * H * T * S, 1), *v = array_whole(B * H * S * HEAD, 2);
    mha_real *context = array_new(B * H * T * HEAD);
    mha_context_forward(context, w, v, NULL, &shape);
    for (size_t i = 0; i < B * H * T * HEAD; i++) {
        const size_t bh = i / (T * HEAD), t = i / HEAD % T, column = i % HEAD;
        mha_real sum = REAL(0.0);
        for (size_t s = 0; s < S; s++) {
            sum += w[(bh * T + t) * S + s] * v[(bh * S + s) * HEAD + column];
        }
        ck_assert(context[i] == sum);
    }
}
END_TEST

/* By the root of the head width, not of the width; the largest finite number is divided too. */
START_TEST(scale_divides_by_the_root_of_the_head_width) {
    mha_real *scores = array_whole(B * H * T * S, 1);
    mha_real *scaled = array_new(B * H * T * S);
    scores[7] = REAL_LARGEST;
    mha_scale_forward(scaled, scores, &shape);
    for (size_t i = 0; i < B * H * T * S; i++) {
        ck_assert(scaled[i] == scores[i] / REAL(2.0));
    }
    mha_real *dscores = array_constant(B * H * T * S, REAL(1.0));
    mha_scale_backward(dscores, scaled, &shape);
    for (size_t i = 0; i < B * H * T * S; i++) {
        ck_assert(dscores[i] == REAL(1.0) + scaled[i] / REAL(2.0));
    }
    const mha_shape one_wide = {1, 1, 1, 3, 3};
    mha_scale_forward(scaled, scores, &one_wide);
    assert_arrays_same("scaled, d = 1", scaled, scores, 3);
}
END_TEST

/* -infinity at blocked pairs whatever stands there; backward leaves their gradients untouched. */
START_TEST(mask_selects) {
    static const mha_shape two = {1, 2, 4, 1, 1};
    static const unsigned char allowed[] = {1, 0, 1, 0, /**/ 0, 0, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {2, 4}};
    const mha_real scaled[] = {REAL(1.0), not_a_number, not_a_number, REAL_INFINITY, -REAL_INFINITY,
        REAL_LARGEST, REAL_LARGEST, -REAL_INFINITY};
    mha_real masked[8], dscaled[8];
    mha_mask_forward(masked, scaled, &mask, &two);
    mha_real *dmasked = array_new(8);
    for (size_t i = 0; i < 8; i++) {
        if (allowed[i] == 0) {
            ck_assert(masked[i] == -REAL_INFINITY);
        } else {
            assert_arrays_same("masked", masked + i, scaled + i, 1);
            dmasked[i] = REAL(2.0);
        }
        dscaled[i] = REAL(0.5);
    }
    mha_mask_backward(dscaled, dmasked, &mask, &two);
    for (size_t i = 0; i < 8; i++) {
        ck_assert(dscaled[i] == (allowed[i] != 0 ? REAL(2.5) : REAL(0.5)));
    }
}
END_TEST

Suite *ops_suite(void) {
    Suite *suite = suite_create(MHA_PRECISION == 32 ? "ops (float)" : "ops (double)");
    TCase *definitions = tcase_create("definitions");
    tcase_add_checked_fixture(definitions, NULL, arrays_release);
    tcase_add_test(definitions, projection_is_the_matrix_product);
    tcase_add_test(definitions, projection_backward_is_the_adjoint);
    tcase_add_test(definitions, split_takes_heads_from_columns);
    tcase_add_test(definitions, split_and_combine_are_adjoint);
    tcase_add_test(definitions, scores_are_dot_products);
    tcase_add_test(definitions, context_is_the_weighted_sum);
    tcase_add_test(definitions, scale_divides_by_the_root_of_the_head_width);
    tcase_add_test(definitions, mask_selects);
    suite_add_tcase(suite, matmul_case());
    suite_add_tcase(suite, definitions);
    suite_add_tcase(suite, operator_case());
    suite_add_tcase(suite, softmax_case());
    suite_add_tcase(suite, attention_case());
    return suite;
}
