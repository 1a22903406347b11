/* Weights in the orders of different programs: what is read, and which way round. */
#include "check_layouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "suites.h"
#include "weights_file.h"

static const mha_layout_hint nothing = {.layout = MHA_LAYOUT_UNKNOWN};

START_TEST(layouts_have_names) {
    for (int i = MHA_LAYOUT_UNKNOWN + 1; i < MHA_LAYOUT_COUNT; i++) {
        mha_layout layout = MHA_LAYOUT_UNKNOWN;
        ck_assert(mha_layout_from_name(&layout, mha_layout_name((mha_layout)i)));
        ck_assert_int_eq(layout, i);
    }
    ck_assert_str_eq(mha_layout_name(MHA_LAYOUT_TORCH_LINEAR), "torch-linear");
    ck_assert_str_eq(mha_layout_name(MHA_LAYOUT_UNKNOWN), "unknown");
    ck_assert_str_eq(mha_layout_name(MHA_LAYOUT_COUNT), "unknown");
    mha_layout layout = MHA_LAYOUT_TORCH;
    ck_assert(!mha_layout_from_name(&layout, "unknown"));
    ck_assert(!mha_layout_from_name(&layout, "tor"));
    ck_assert_int_eq(layout, MHA_LAYOUT_TORCH);
}
END_TEST

/* Four square matrices of layouts_add_four, as they stand or transposed. */
static void assert_four(const mha_weight_set *set, size_t width, bool transposed) {
    ck_assert_uint_eq(set->width, width);
    for (size_t m = 0; m < 4; m++) {
        for (size_t i = 0; i < width; i++) {
            for (size_t j = 0; j < width; j++) {
                const size_t row = transposed ? j : i, column = transposed ? i : j;
                ck_assert_double_eq(
                    layouts_entry(set, m, i, j), (double)(100 * (m + 1) + 10 * row + column));
            }
        }
    }
}

START_TEST(lesson_is_read_as_it_stands) {
    layouts_add_four("wq", "wk", "wv", "wo", 3);
    layouts_add_number("heads", MHA_INT64, 3);
    mha_weight_set set = layouts_take(nothing);
    assert_four(&set, 3, false);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_LESSON);
    ck_assert_int_eq(set.dtype, MHA_FLOAT64);
    ck_assert_uint_eq(set.heads, 3);
    ck_assert_str_eq(set.prefix, "");
    mha_weight_set_free(&set);
    ck_assert_ptr_null(set.matrices);
}
END_TEST

START_TEST(torch_is_split_by_rows_and_transposed) {
    layouts_add("encoder.0.in_proj_weight", 9, 3, 100.0);
    layouts_add("encoder.0.out_proj.weight", 3, 3, 400.0);
    mha_weight_set set = layouts_take(nothing);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_TORCH);
    ck_assert_str_eq(set.prefix, "encoder.0.");
    ck_assert_uint_eq(set.heads, 0);
    ck_assert_uint_eq(set.width, 3);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            for (size_t m = 0; m < 3; m++) {
                ck_assert_double_eq(
                    layouts_entry(&set, m, i, j), (double)(100 + 10 * (3 * m + j) + i));
            }
            ck_assert_double_eq(layouts_entry(&set, 3, i, j), (double)(400 + 10 * j + i));
        }
    }
    mha_weight_set_free(&set);
}
END_TEST

START_TEST(combined_is_split_by_columns) {
    layouts_add("w_qkv", 3, 9, 100.0);
    layouts_add("w_o", 3, 3, 400.0);
    mha_weight_set set = layouts_take(nothing);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_COMBINED);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            for (size_t m = 0; m < 3; m++) {
                ck_assert_double_eq(
                    layouts_entry(&set, m, i, j), (double)(100 + 10 * i + 3 * m + j));
            }
            ck_assert_double_eq(layouts_entry(&set, 3, i, j), (double)(400 + 10 * i + j));
        }
    }
    mha_weight_set_free(&set);
}
END_TEST

static const struct {
    const char *names[4], *prefix;
} linear_cases[] = {
    {{"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight"}, ""},
    {{"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}, ""},
    {{"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}, ""},
    {{"a/b.q_proj.weight", "a/b.k_proj.weight", "a/b.v_proj.weight", "a/b.o_proj.weight"}, "a/b."},
};

START_TEST(torch_linear_is_transposed) {
    const char *const *names = linear_cases[_i].names;
    layouts_add_four(names[0], names[1], names[2], names[3], 3);
    layouts_add("other", 2, 2, 0.0);
    mha_weight_set set = layouts_take(nothing);
    assert_four(&set, 3, true);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_TORCH_LINEAR);
    ck_assert_str_eq(set.prefix, linear_cases[_i].prefix);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(mha_weight_set_holds(&set, mha_arrays_find(layouts_made, names[i])));
    }
    ck_assert(!mha_weight_set_holds(&set, mha_arrays_find(layouts_made, "other")));
    mha_weight_set_free(&set);
}
END_TEST

static const char *const untold_cases[][4] = {
    {"Wq", "Wk", "Wv", "Wo"},
    {"WQ", "WK", "WV", "WO"},
    {"w_q", "w_k", "w_v", "w_o"},
    {"W_q", "W_k", "W_v", "W_o"},
    {"W_Q", "W_K", "W_V", "W_O"},
    {"q", "k", "v", "o"},
    {"wq.weight", "wk.weight", "wv.weight", "wo.weight"},
    {"layers.0.wq.weight", "layers.0.wk.weight", "layers.0.wv.weight", "layers.0.wo.weight"},
    {"layer/0/Wq", "layer/0/Wk", "layer/0/Wv", "layer/0/Wo"},
    {"m.wq", "m.wk", "m.wv", "m.wo"},
    {"to_q.weight", "to_k.weight", "to_v.weight", "to_out.0.weight"},
};

START_TEST(other_names_need_a_layout) {
    const char *const *names = untold_cases[_i];
    layouts_add_four(names[0], names[1], names[2], names[3], 2);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "name the layout: lesson or torch-linear");
    mha_layout_hint hint = {.layout = MHA_LAYOUT_LESSON};
    mha_weight_set set = layouts_take(hint);
    assert_four(&set, 2, false);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_LESSON);
    ck_assert(mha_weight_set_holds(&set, mha_arrays_find(layouts_made, names[2])));
    mha_weight_set_free(&set);
    hint.layout = MHA_LAYOUT_TORCH_LINEAR;
    set = layouts_take(hint);
    assert_four(&set, 2, true);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_TORCH_LINEAR);
    mha_weight_set_free(&set);
    hint.layout = MHA_LAYOUT_TORCH;
    layouts_refuse(hint, MHA_ERROR_FORMAT, "four square matrices, not of the layout torch");
}
END_TEST

START_TEST(metadata_tell_layout_and_heads) {
    layouts_add_four("Wq", "Wk", "Wv", "Wo", 6);
    layouts_add_metadata("layout", "torch-linear");
    layouts_add_metadata("heads", "3");
    mha_weight_set set = layouts_take(nothing);
    assert_four(&set, 6, true);
    ck_assert_uint_eq(set.heads, 3);
    mha_weight_set_free(&set);
    set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_TORCH_LINEAR, .heads = 3});
    mha_weight_set_free(&set);
}
END_TEST

START_TEST(prefixes_are_chosen) {
    layouts_add("a.in_proj_weight", 6, 2, 100.0);
    layouts_add("a.out_proj.weight", 2, 2, 400.0);
    layouts_add("b.in_proj_weight", 6, 2, 500.0);
    layouts_add("b.out_proj.weight", 2, 2, 600.0);
    layouts_add("out_proj.weight", 2, 2, 700.0);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "several prefixes, name the prefix: 'a.', 'b.'");
    mha_weight_set set = layouts_take((mha_layout_hint){.prefix = "b."});
    ck_assert_double_eq(layouts_entry(&set, 0, 0, 0), 500.0);
    ck_assert_double_eq(layouts_entry(&set, 3, 0, 1), 610.0);
    ck_assert_str_eq(set.prefix, "b.");
    ck_assert(mha_weight_set_holds(&set, mha_arrays_find(layouts_made, "b.in_proj_weight")));
    ck_assert(!mha_weight_set_holds(&set, mha_arrays_find(layouts_made, "a.in_proj_weight")));
    mha_weight_set_free(&set);
    layouts_refuse((mha_layout_hint){.prefix = ""}, MHA_ERROR_FORMAT, "in_proj_weight is missing");
    layouts_refuse((mha_layout_hint){.prefix = "c."}, MHA_ERROR_FORMAT, "prefix 'a.', 'b.'");
    /* a prefix that is given may end as it likes */
    layouts_add("x_in_proj_weight", 6, 2, 800.0);
    layouts_add("x_out_proj.weight", 2, 2, 900.0);
    set = layouts_take((mha_layout_hint){.prefix = "x_"});
    ck_assert_double_eq(layouts_entry(&set, 0, 0, 0), 800.0);
    mha_weight_set_free(&set);
}
END_TEST

/* Names that tell a layout go before others; a named layout chooses between two. */
START_TEST(layouts_are_chosen) {
    layouts_add_four("q", "k", "v", "o", 2);
    layouts_add("w_qkv", 2, 6, 500.0);
    layouts_add("w_o", 2, 2, 600.0);
    mha_weight_set set = layouts_take(nothing);
    ck_assert_int_eq(set.layout, MHA_LAYOUT_COMBINED);
    mha_weight_set_free(&set);
    layouts_add_four("wq", "wk", "wv", "wo", 2);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "two layouts, name the layout: combined or lesson");
    set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_LESSON});
    assert_four(&set, 2, false);
    mha_weight_set_free(&set);
    set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_COMBINED});
    ck_assert_double_eq(layouts_entry(&set, 0, 0, 0), 500.0);
    mha_weight_set_free(&set);
}
END_TEST

static const struct {
    mha_dtype dtype;
    size_t rank, dims[2];
} heads_cases[] = {
    {MHA_INT64, 0, {0}}, {MHA_UINT8, 0, {0}}, {MHA_INT64, 1, {1}}, {MHA_UINT8, 2, {1, 1}}};

START_TEST(heads_may_be_any_integer) {
    layouts_add_four("wq", "wk", "wv", "wo", 4);
    layouts_add_numbers("heads", heads_cases[_i].dtype, heads_cases[_i].rank, heads_cases[_i].dims,
        (const double[]){2.0});
    layouts_add_metadata("heads", "2");
    mha_weight_set set = layouts_take((mha_layout_hint){.heads = 2});
    ck_assert_uint_eq(set.heads, 2);
    mha_weight_set_free(&set);
}
END_TEST

START_TEST(heads_may_come_from_outside) {
    layouts_add_four("wq", "wk", "wv", "wo", 4);
    mha_weight_set set = layouts_take((mha_layout_hint){.heads = 4});
    ck_assert_uint_eq(set.heads, 4);
    mha_weight_set_free(&set);
    layouts_refuse(
        (mha_layout_hint){.heads = 3}, MHA_ERROR_SHAPE, "width 4 is not divisible by 3 heads");
}
END_TEST

static void add_tiny(const char *name, mha_dtype dtype, double number) {
    layouts_add_numbers(name, dtype, 2, (const size_t[]){1, 1}, &number);
}

/* Weights are double when one of them is; other arrays do not matter. */
START_TEST(float_and_double_are_kept_apart) {
    add_tiny("wq", MHA_FLOAT32, 0.1);
    add_tiny("wk", MHA_FLOAT32, -(double)INFINITY);
    add_tiny("wv", MHA_FLOAT32, 3.0);
    add_tiny("other", MHA_FLOAT64, 3.0);
    mha_layout_hint hint = {.prefix = NULL};
    if (_i == 0) {
        add_tiny("wo", MHA_FLOAT32, 0.7);
        mha_weight_set set = layouts_take(hint);
        ck_assert_int_eq(set.dtype, MHA_FLOAT32);
        ck_assert(((const float *)set.matrices)[0] == 0.1F);
        mha_weight_set_free(&set);
    } else {
        add_tiny("wo", MHA_FLOAT64, 0.7);
        mha_weight_set set = layouts_take(hint);
        ck_assert_int_eq(set.dtype, MHA_FLOAT64);
        ck_assert_double_eq(layouts_entry(&set, 0, 0, 0), (double)0.1F);
        ck_assert_double_eq(layouts_entry(&set, 1, 0, 0), -(double)INFINITY);
        ck_assert_double_eq(layouts_entry(&set, 3, 0, 0), 0.7);
        mha_weight_set_free(&set);
    }
}
END_TEST

Suite *layouts_suite(void) {
    Suite *suite = suite_create("layouts");
    TCase *cases = tcase_create("read");
    tcase_add_checked_fixture(cases, layouts_begin, layouts_end);
    tcase_add_test(cases, layouts_have_names);
    tcase_add_test(cases, lesson_is_read_as_it_stands);
    tcase_add_test(cases, torch_is_split_by_rows_and_transposed);
    tcase_add_test(cases, combined_is_split_by_columns);
    tcase_add_loop_test(cases, torch_linear_is_transposed, 0, COUNT(linear_cases));
    tcase_add_loop_test(cases, other_names_need_a_layout, 0, COUNT(untold_cases));
    tcase_add_test(cases, metadata_tell_layout_and_heads);
    tcase_add_test(cases, prefixes_are_chosen);
    tcase_add_test(cases, layouts_are_chosen);
    tcase_add_loop_test(cases, heads_may_be_any_integer, 0, COUNT(heads_cases));
    tcase_add_test(cases, heads_may_come_from_outside);
    tcase_add_loop_test(cases, float_and_double_are_kept_apart, 0, 2);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, layouts_refusals());
    suite_add_tcase(suite, layouts_files());
    return suite;
}
