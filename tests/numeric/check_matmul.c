/* The three matrix products against the plain loops they are defined by, to the last bit. */
#include "base/real.h"

#include <string.h>

#include "arrays.h"
#include "math/matmul.h"
#include "ops_cases.h"

enum product { NN, NT, TN };

/* Sizes around the tiles of 4 rows and 4 or 8 columns, and around the chunks of 128. */
static const size_t sides[] = {0, 1, 3, 4, 5, 7, 8, 9, 17, 33};
static const size_t depths[] = {0, 1, 3, 4, 5, 7, 8, 9, 17, 127, 128, 129, 130, 257};

/* A rows x columns matrix whose rows lie ld apart, in an array that ends with its last entry. What
 * lies between the rows is NaN. */
typedef struct table {
    mha_real *at;
    size_t rows, columns, ld;
} table;

static size_t length_of(const table *t) {
    return t->rows == 0 ? 0 : (t->rows - 1) * t->ld + t->columns;
}

static table make(size_t rows, size_t columns, size_t gap, uint64_t seed) {
    table t = {NULL, rows, columns, columns + gap};
    t.at = array_normal(length_of(&t), seed);
    for (size_t i = 0; i + 1 < rows; i++) {
        for (size_t j = columns; j < t.ld; j++) {
            t.at[i * t.ld + j] = not_a_number;
        }
    }
    return t;
}

static mha_real entry(const table *t, size_t i, size_t j, bool transposed) {
    return transposed ? t->at[j * t->ld + i] : t->at[i * t->ld + j];
}

/* C += A B, each entry one sum that starts from what C holds and runs upwards through k. */
static void plain_product(table c, const table *a, const table *b, enum product product, size_t K) {
    for (size_t i = 0; i < c.rows; i++) {
        for (size_t j = 0; j < c.columns; j++) {
            mha_real sum = c.at[i * c.ld + j];
            for (size_t k = 0; k < K; k++) {
                sum += entry(a, i, k, product == TN) * entry(b, k, j, product == NT);
            }
            c.at[i * c.ld + j] = sum;
        }
    }
}

static void assert_product(enum product product, size_t M, size_t N, size_t K, size_t gap) {
    const table a = product == TN ? make(K, M, gap, 1) : make(M, K, gap, 1);
    const table b = product == NT ? make(N, K, 2 * gap, 2) : make(K, N, 2 * gap, 2);
    table c = make(M, N, gap, 3), expected = c;
    expected.at = array_copy(c.at, length_of(&c));
    plain_product(expected, &a, &b, product, K);
    const matrix result = {c.at, c.ld};
    const const_matrix left = {a.at, a.ld}, right = {b.at, b.ld};
    switch (product) {
    case NN:
        matmul_nn(result, left, right, M, N, K);
        break;
    case NT:
        matmul_nt(result, left, right, M, N, K);
        break;
    case TN:
        matmul_tn(result, left, right, M, N, K);
        break;
    }
    assert_arrays_same("c", c.at, expected.at, length_of(&c));
    arrays_release();
}

START_TEST(products_have_the_bits_of_the_plain_loop) {
    const enum product product = (enum product)_i;
    for (size_t m = 0; m < COUNT(sides); m++) {
        for (size_t n = 0; n < COUNT(sides); n++) {
            for (size_t k = 0; k < COUNT(depths); k++) {
                assert_product(product, sides[m], sides[n], depths[k], (m + n + k) % 3);
            }
        }
    }
    assert_product(product, 130, 257, 9, 0);
    assert_product(product, 257, 130, 3, 5);
    assert_product(product, 130, 9, 257, 1);
}
END_TEST

START_TEST(products_of_nothing_leave_c_alone) {
    const enum product product = (enum product)_i;
    table c = make(5, 9, 2, 3);
    const mha_real *kept = array_copy(c.at, length_of(&c));
    const matrix result = {c.at, c.ld};
    const const_matrix none = {NULL, 1};
    void (*const multiply[])(matrix, const_matrix, const_matrix, size_t, size_t, size_t) = {
        [NN] = matmul_nn, [NT] = matmul_nt, [TN] = matmul_tn};
    multiply[product](result, none, none, 5, 9, 0);
    multiply[product](result, none, none, 0, 9, 0);
    multiply[product](result, none, none, 5, 0, 0);
    assert_arrays_same("c", c.at, kept, length_of(&c));
}
END_TEST

/* A NaN or an infinity reaches the entries it belongs to and no other. */
START_TEST(products_keep_what_is_not_finite_in_its_row) {
    const enum product product = (enum product)_i;
    const size_t M = 6, N = 11, K = 130;
    table a = product == TN ? make(K, M, 0, 1) : make(M, K, 0, 1);
    const table b = product == NT ? make(N, K, 0, 2) : make(K, N, 0, 2);
    a.at[product == TN ? 129 * a.ld + 4 : 4 * a.ld + 129] = not_a_number;
    table c = make(M, N, 0, 3);
    void (*const multiply[])(matrix, const_matrix, const_matrix, size_t, size_t, size_t) = {
        [NN] = matmul_nn, [NT] = matmul_nt, [TN] = matmul_tn};
    multiply[product](
        (matrix){c.at, c.ld}, (const_matrix){a.at, a.ld}, (const_matrix){b.at, b.ld}, M, N, K);
    for (size_t i = 0; i < M * N; i++) {
        ck_assert_int_eq(isnan(c.at[i]) != 0, i / N == 4);
    }
}
END_TEST

TCase *matmul_case(void) {
    TCase *cases = tcase_create("matmul");
    tcase_add_checked_fixture(cases, NULL, arrays_release);
    tcase_add_loop_test(cases, products_have_the_bits_of_the_plain_loop, NN, TN + 1);
    tcase_add_loop_test(cases, products_of_nothing_leave_c_alone, NN, TN + 1);
    tcase_add_loop_test(cases, products_keep_what_is_not_finite_in_its_row, NN, TN + 1);
    return cases;
}
