/* Layouts of heads and of exported weights, by numbers that can be checked by hand, as a user sees
 * them: through the program and its files. */
#include "check_apply.h"

#include <math.h>

#include "folder.h"

Suite *reports_layout_suite(void);

/* All four matrices are the identity. */
static void set_identity(struct input *input, size_t width, const int64_t *heads) {
    static double identity[4 * 4];
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    for (size_t i = 0; i < width * width; i++) {
        identity[i] = i % (width + 1) == 0 ? 1.0 : 0.0;
    }
    for (size_t i = 0; i < 4; i++) {
        input_set(input, DOUBLES(names[i], identity, width, width));
    }
    input_set(input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = heads});
}

/* Each of two positions sees only the other: the rows are exchanged. Heads taken by a reshape
 * without a transposition mix positions and features: (3,4,1,2) and (7,8,5,6). */
START_TEST(heads_are_features_side_by_side) {
    static const double query[] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, 10, 20, 30, 40};
    static const double expected[] = {5, 6, 7, 8, 1, 2, 3, 4, 10, 20, 30, 40, -1, -2, -3, -4};
    static const unsigned char other[] = {0, 1, 1, 0};
    static const int64_t heads = 2;
    for (size_t batch = 1; batch <= 2; batch++) {
        struct input input = {.count = 0};
        set_identity(&input, 4, &heads);
        input_set(&input, DOUBLES("query", query, batch, 2, 4));
        input_set(&input, ARRAY("mask", MHA_BOOL, other, 2, 2));
        mha_arrays *arrays = apply(&input, NO_OPTIONS);
        const double *output = RESULT(arrays, "output", batch, 2, 4);
        for (size_t i = 0; i < batch * 8; i++) {
            ck_assert_msg(output[i] == expected[i], "%zu: %g", i, output[i]);
        }
        mha_arrays_free(arrays);
    }
}
END_TEST

/* The map is of each head, (B,h,T,S), its rows sum to 1, and with the values it makes the output. */
START_TEST(exported_weights_are_those_that_were_used) {
    const double l = log(3.0);
    const double query[] = {1, 1}, context[] = {l, 0, 0, l};
    static const double expected[] = {0.75, 0.25, 0.25, 0.75};
    static const int64_t heads = 2;
    struct input input = {.count = 0};
    set_identity(&input, 2, &heads);
    input_set(&input, DOUBLES("query", query, 1, 1, 2));
    input_set(&input, DOUBLES("context", context, 1, 2, 2));
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    const double *weights = RESULT(arrays, "weights", 1, 2, 1, 2);
    const double *output = RESULT(arrays, "output", 1, 1, 2);
    for (size_t h = 0; h < 2; h++) {
        ck_assert_double_eq_tol(weights[2 * h], expected[2 * h], 1e-15);
        ck_assert_double_eq_tol(weights[2 * h + 1], expected[2 * h + 1], 1e-15);
        ck_assert_double_eq_tol(weights[2 * h] + weights[2 * h + 1], 1.0, 1e-15);
        const double made = weights[2 * h] * context[h] + weights[2 * h + 1] * context[2 + h];
        ck_assert_double_eq_tol(output[h], made, 1e-15);
        ck_assert_double_eq_tol(output[h], 0.75 * l, 1e-15);
    }
    mha_arrays_free(arrays);
}
END_TEST

Suite *reports_layout_suite(void) {
    Suite *suite = suite_create("reports layout");
    TCase *cases = tcase_create("heads");
    tcase_add_checked_fixture(cases, folder_make, folder_remove);
    tcase_add_test(cases, heads_are_features_side_by_side);
    tcase_add_test(cases, exported_weights_are_those_that_were_used);
    suite_add_tcase(suite, cases);
    return suite;
}
