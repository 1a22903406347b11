/* Overflow, the scale, and what stands in blocked places. All on inputs that have gone wrong
 * elsewhere. */
#include "base/real.h"

#include <string.h>

#include "reports_case.h"

#define reports_numbers_suite MHA_NAME(reports_numbers_suite)

Suite *reports_numbers_suite(void);

static void assert_finite_gradients(const layer_case *c) {
    leaf leaves[CASE_LEAVES];
    const size_t count = leaves_of(leaves, c);
    for (size_t l = 0; l < count; l++) {
        for (size_t i = 0; i < leaves[l].shape.count; i++) {
            ck_assert_msg(isfinite(leaves[l].gradient[i]), "gradient of %s[%zu] is %g",
                leaves[l].shape.name, i, (wide)leaves[l].gradient[i]);
        }
    }
}

/* Scores of hundreds overflow exp, or make every exponential 0, unless the maximum is taken off
 * first. The error is that of scores of 1000 in the precision. */
START_TEST(large_scores_are_right) {
    static const struct {
        size_t S;
        wide source[3], weights[3], output, rounding[2]; /* in float, in double */
    } cases[] = {
        {2, {1, -1}, {1, 0}, 1, {0, 0}},
        {3, {10, 10, 10}, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 10, {0, 0}},
        {2, {-10, -9.99}, {.268941, .731059}, -9.992689, {1e-4, 1e-6}},
        {2, {8, -8}, {1, 0}, 8, {0, 0}},
        {2, {-8, -8}, {.5, .5}, -8, {0, 0}},
    };
    const wide rounding = cases[_i].rounding[MHA_PRECISION == 32 ? 0 : 1];
    layer_case c;
    open_case(&c, (mha_shape){1, 1, cases[_i].S, 1, 1}, false);
    set_identity(&c);
    c.query[0] = REAL(100.0);
    set_numbers(c.source, cases[_i].source, cases[_i].S);
    run_forward(&c);
    run_backward(&c);
    assert_numbers("attention weights", attention_of(&c), cases[_i].weights, cases[_i].S, rounding);
    assert_numbers("output", c.output, &cases[_i].output, 1, rounding);
    if (cases[_i].weights[1] == 0) {
        ck_assert((wide)attention_of(&c)[1] <= 1e-38 && c.output[0] == c.source[0]);
    }
    assert_finite_gradients(&c);
    close_case(&c);
}
END_TEST

/* Scores divided by the root of D or h, by nothing, or multiplied, still train; here the weights
 * would be .685 or .825, .9, .988. The same constant stands in backward. */
START_TEST(scores_are_divided_by_the_root_of_the_head_width) {
    enum { D = 8, S = 2 };
    const wide a = 2 * log(3);
    const wide expected[D] = {.75 * a, 0, 0, 0, .75 * a, 0, 0, 0};
    layer_case c;
    open_case(&c, (mha_shape){1, 1, S, D, 2}, false);
    set_identity(&c);
    set_numbers(c.query, (const wide[D]){1, 0, 0, 0, 1, 0, 0, 0}, D);
    set_numbers(c.source, (const wide[D]){a, 0, 0, 0, a, 0, 0, 0}, D);
    run_forward(&c);
    assert_numbers("attention weights", attention_of(&c), (const wide[]){.75, .25, .75, .25}, 4, 0);
    assert_numbers("output", c.output, expected, D, 0);
    assert_numbers("output", c.output, (const wide[]){1.647918}, 1, 5e-7);
    draw_case(&c, 11);
    assert_gradients(&c, 0);
    close_case(&c);
}
END_TEST

static const mha_real garbage[][2] = {{REAL(1e30), REAL(1e30)}, {REAL(-1e30), REAL(1e30)},
    {(mha_real)NAN, (mha_real)NAN}, {(mha_real)INFINITY, REAL(0.0)}};

/* Padding that nobody sees held NaN or huge numbers, and 0 times NaN let them through. */
START_TEST(hidden_source_rows_do_not_matter) {
    static const int64_t lengths[] = {1};
    static const unsigned char keys[] = {1, 0};
    const mha_mask masks[] = {
        {.lengths = lengths}, {.allowed = keys, .rank = 4, .dims = {1, 1, 1, 2}}};
    layer_case zero, c;
    open_case(&zero, (mha_shape){1, 2, 2, 2, 1}, false);
    open_case(&c, zero.shape, false);
    layer_case *const both[] = {&zero, &c};
    for (size_t i = 0; i < 2; i++) {
        both[i]->mask = &masks[_i % 2];
        set_identity(both[i]);
        set_numbers(both[i]->query, (const wide[]){1, 0, 0, 1}, 4);
        set_numbers(both[i]->source, (const wide[]){1, 2, 0, 0}, 4);
    }
    memcpy(c.source + 2, garbage[_i / 2], 2 * sizeof *c.source);
    for (size_t i = 0; i < 2; i++) {
        run_forward(both[i]);
        run_backward(both[i]);
    }
    assert_numbers("output", c.output, (const wide[]){1, 2, 1, 2}, 4, 0);
    assert_same_results(&zero, &c);
    assert_zeros("dx of the hidden row", c.dx_source + 2, 2);
    close_case(&zero);
    close_case(&c);
}
END_TEST

/* A finite number that is hidden from one query and seen by another reaches only the other. */
START_TEST(hidden_numbers_do_not_reach_a_query) {
    const mha_mask mask = {.causal = MHA_CAUSAL_TOP_LEFT};
    layer_case zero, c;
    open_case(&zero, (mha_shape){1, 2, 2, 2, 1}, false);
    open_case(&c, zero.shape, false);
    layer_case *const both[] = {&zero, &c};
    for (size_t i = 0; i < 2; i++) {
        draw_case(both[i], 12);
        both[i]->mask = &mask;
        set_numbers(both[i]->source + 2, (const wide[]){0, 0}, 2);
        set_numbers(both[i]->doutput + 2, (const wide[]){0, 0}, 2);
    }
    memcpy(c.source + 2, garbage[_i], 2 * sizeof *c.source);
    for (size_t i = 0; i < 2; i++) {
        run_forward(both[i]);
        run_backward(both[i]);
    }
    assert_same_bits("output", c.output, zero.output, 2);
    assert_same_bits("attention weights", attention_of(&c), attention_of(&zero), 2);
    assert_same_bits("dx_query", c.dx_query, zero.dx_query, 2);
    assert_same_bits("dx_source", c.dx_source, zero.dx_source, 2);
    assert_same_bits("dweights", c.dweights, zero.dweights, 16);
    ck_assert(memcmp(c.output + 2, zero.output + 2, 2 * sizeof *c.output) != 0);
    close_case(&zero);
    close_case(&c);
}
END_TEST

/* Added or multiplied in, a mask lets NaN through and leaves finite scores behind. */
START_TEST(masks_select) {
    const mha_real not_a_number = (mha_real)NAN, infinity = (mha_real)INFINITY;
    static const unsigned char allowed[] = {1, 0, 0, 1, 0, 1};
    const mha_shape shape = {1, 2, 3, 1, 1};
    const mha_mask mask = {.allowed = allowed, .rank = 2, .dims = {2, 3}};
    const mha_real scaled[] = {
        REAL(0.5), not_a_number, infinity, REAL(-1e30), REAL(1e30), not_a_number};
    mha_real masked[6],
        dscaled[6] = {REAL(1.0), REAL(1.0), REAL(1.0), REAL(1.0), REAL(1.0), REAL(1.0)};
    const mha_real dmasked[] = {
        REAL(2.0), not_a_number, infinity, REAL(3.0), not_a_number, REAL(4.0)};
    const mha_real gradients[] = {REAL(3.0), REAL(1.0), REAL(1.0), REAL(4.0), REAL(1.0), REAL(5.0)};
    mha_mask_forward(masked, scaled, &mask, &shape);
    mha_mask_backward(dscaled, dmasked, &mask, &shape);
    for (size_t i = 0; i < 6; i++) {
        const mha_real selected = allowed[i] == 1 ? scaled[i] : -infinity;
        assert_same_bits("masked", masked + i, &selected, 1);
    }
    assert_same_bits("dscaled", dscaled, gradients, 6);
}
END_TEST

Suite *reports_numbers_suite(void) {
    Suite *suite =
        suite_create(MHA_PRECISION == 32 ? "reports numbers (float)" : "reports numbers (double)");
    for (wing chosen = WING_REFERENCE; chosen < WINGS; chosen++) {
        TCase *cases = wing_case("numbers", chosen);
        tcase_add_loop_test(cases, large_scores_are_right, 0, 5);
        tcase_add_test(cases, scores_are_divided_by_the_root_of_the_head_width);
        tcase_add_loop_test(cases, hidden_source_rows_do_not_matter, 0, 8);
        tcase_add_loop_test(cases, hidden_numbers_do_not_reach_a_query, 0, 2);
        suite_add_tcase(suite, cases);
    }
    TCase *others = tcase_create("operator");
    tcase_add_test(others, masks_select);
    suite_add_tcase(suite, others);
    return suite;
}
