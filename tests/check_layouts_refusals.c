/* Weights that are refused, and what is said about them. */
#include "check_layouts.h"

#include <math.h>
#include <stdio.h>

#include "count.h"
#include "weights_file.h"

static const mha_layout_hint nothing = {.layout = MHA_LAYOUT_UNKNOWN};

START_TEST(files_without_weights) {
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "none of its 0 arrays are weights");
    layouts_add("query", 4, 4, 0.0);
    layouts_add("q", 4, 4, 0.0);
    layouts_add("xwq", 4, 4, 0.0);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "none of its 3 arrays are weights");
    layouts_refuse((mha_layout_hint){.prefix = "m."}, MHA_ERROR_FORMAT, "the prefix 'm.'");
}
END_TEST

static const struct {
    const char *names[4], *words;
} missing_cases[] = {
    {{"wq", "wk", "wv"}, "wo is missing, wq is there"},
    {{"Wq", "Wk", "Wo"}, "Wv is missing, Wq is there"},
    {{"wq"}, "wk is missing, wq is there"},
    {{"a.in_proj_weight"}, "a.out_proj.weight is missing, a.in_proj_weight is there"},
    {{"w_o"}, "w_qkv is missing, w_o is there"},
    {{"x.q_proj.weight", "x.k_proj.weight", "x.o_proj.weight"},
        "x.v_proj.weight is missing, x.q_proj.weight is there"},
    {{"a.wq.weight", "b.wk.weight", "b.wv.weight", "b.wo.weight"},
        "b.wq.weight is missing, b.wk.weight is there"},
};

START_TEST(missing_matrices) {
    for (size_t i = 0; i < 4 && missing_cases[_i].names[i] != NULL; i++) {
        layouts_add(missing_cases[_i].names[i], 2, 2, 0.0);
    }
    layouts_refuse(nothing, MHA_ERROR_FORMAT, missing_cases[_i].words);
}
END_TEST

START_TEST(names_that_tell_another_layout) {
    layouts_add_four("wq", "wk", "wv", "wo", 2);
    layouts_refuse((mha_layout_hint){.layout = MHA_LAYOUT_TORCH_LINEAR}, MHA_ERROR_FORMAT,
        "names such as wq are those of the layout lesson, not of the layout torch-linear, which is "
        "asked for");
    layouts_add_metadata("layout", "combined");
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "not of the layout combined, which its metadata say");
    layouts_refuse((mha_layout_hint){.layout = MHA_LAYOUT_LESSON}, MHA_ERROR_FORMAT,
        "its metadata say layout combined, not lesson");
}
END_TEST

START_TEST(metadata_without_sense) {
    layouts_add_four("wq", "wk", "wv", "wo", 2);
    layouts_add_metadata("layout", "NHWC");
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "its metadata say layout 'NHWC'");
    mha_weight_set set = layouts_take((mha_layout_hint){.layout = MHA_LAYOUT_LESSON});
    mha_weight_set_free(&set);
}
END_TEST

static const char *const text_cases[] = {
    "two", "", "0", "-2", "+2", " 2", "2 ", "0x2", "2.0", "99999999999999999999999999"};

START_TEST(heads_of_metadata) {
    layouts_add_four("wq", "wk", "wv", "wo", 2);
    layouts_add_metadata("heads", text_cases[_i]);
    char words[64];
    snprintf(
        words, sizeof words, "heads in its metadata is '%s', not a whole number", text_cases[_i]);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, words);
}
END_TEST

static const struct {
    mha_dtype dtype;
    size_t rank, dims[1];
    double number;
    mha_status status;
    const char *words;
} heads_cases[] = {
    {MHA_INT64, 0, {0}, 0.0, MHA_ERROR_FORMAT, "heads is 0, the least is 1"},
    {MHA_INT64, 0, {0}, -4.0, MHA_ERROR_FORMAT, "heads is -4, the least is 1"},
    {MHA_UINT8, 0, {0}, 0.0, MHA_ERROR_FORMAT, "heads is 0, the least is 1"},
    {MHA_INT64, 1, {2}, 2.0, MHA_ERROR_FORMAT, "heads has shape (2,), not one number"},
    {MHA_INT64, 1, {0}, 2.0, MHA_ERROR_FORMAT, "heads has shape (0,), not one number"},
    {MHA_FLOAT32, 0, {0}, 2.0, MHA_ERROR_FORMAT, "heads is float32, not an integer"},
    {MHA_BOOL, 0, {0}, 1.0, MHA_ERROR_FORMAT, "heads is bool, not an integer"},
    {MHA_INT64, 0, {0}, 4.0, MHA_ERROR_SHAPE, "width 6 is not divisible by 4 heads"},
    {MHA_INT64, 0, {0}, 12.0, MHA_ERROR_SHAPE, "width 6 is not divisible by 12 heads"},
};

START_TEST(heads_of_an_array) {
    layouts_add_four("wq", "wk", "wv", "wo", 6);
    const double numbers[2] = {heads_cases[_i].number, 2.0};
    layouts_add_numbers(
        "heads", heads_cases[_i].dtype, heads_cases[_i].rank, heads_cases[_i].dims, numbers);
    layouts_refuse(nothing, heads_cases[_i].status, heads_cases[_i].words);
}
END_TEST

START_TEST(heads_that_contradict) {
    layouts_add_four("wq", "wk", "wv", "wo", 6);
    layouts_add_number("heads", MHA_INT64, 3.0);
    layouts_refuse((mha_layout_hint){.heads = 2}, MHA_ERROR_FORMAT, "have 3 heads, not 2");
    layouts_add_metadata("heads", "6");
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "the array heads is 3, heads in its metadata is 6");
}
END_TEST

static const struct {
    const char *first, *last;
    size_t first_dims[2], last_dims[2];
    const char *words;
} shape_cases[] = {
    {"in_proj_weight", "out_proj.weight", {4, 12}, {4, 4},
        "in_proj_weight has shape (4, 12), but beside out_proj.weight of width 4 in the layout "
        "torch "
        "it must have (12, 4)"},
    {"in_proj_weight", "out_proj.weight", {4, 4}, {4, 4}, "has shape (4, 4), but"},
    {"in_proj_weight", "out_proj.weight", {12, 4}, {4, 5},
        "out_proj.weight has shape (4, 5), which is not square"},
    {"in_proj_weight", "out_proj.weight", {0, 0}, {0, 0}, "shape (0, 0), which is not square"},
    {"w_qkv", "w_o", {12, 4}, {4, 4}, "it must have (4, 12)"},
    {"w_qkv", "w_o", {4, 12}, {5, 5}, "it must have (5, 15)"},
};

START_TEST(packed_shapes) {
    layouts_add(
        shape_cases[_i].first, shape_cases[_i].first_dims[0], shape_cases[_i].first_dims[1], 0.0);
    layouts_add(
        shape_cases[_i].last, shape_cases[_i].last_dims[0], shape_cases[_i].last_dims[1], 0.0);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, shape_cases[_i].words);
}
END_TEST

START_TEST(square_shapes) {
    layouts_add("wk", 4, 4, 0.0);
    layouts_add("wv", 4, 4, 0.0);
    layouts_add("wo", 4, 4, 0.0);
    const double numbers[64] = {0.0};
    const size_t dims[3] = {_i == 0 ? 3 : 4, 4, 1};
    layouts_add_numbers("wq", MHA_FLOAT64, _i == 0 ? 2 : 3, dims, numbers);
    layouts_refuse(nothing, MHA_ERROR_FORMAT,
        _i == 0 ? "wq has shape (3, 4), but beside wo of width 4 in the layout lesson it must have "
                  "(4, 4)"
                : "wq has shape (4, 4, 1), but");
}
END_TEST

START_TEST(numbers_that_are_not_floating) {
    layouts_add("wq", 1, 1, 0.0);
    layouts_add("wk", 1, 1, 0.0);
    layouts_add("wo", 1, 1, 0.0);
    layouts_add_numbers("wv", MHA_INT64, 2, (const size_t[]){1, 1}, (const double[]){1.0});
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "wv is int64, not floating numbers");
}
END_TEST

static const struct {
    const char *name;
    mha_dtype dtype;
    double number;
    const char *words;
} bias_cases[] = {
    {"m.in_proj_bias", MHA_FLOAT64, 0.5, "in_proj_bias is not all zero, number 2 is 0.5, and this"},
    {"m.out_proj.bias", MHA_FLOAT32, -2.0, "out_proj.bias is not all zero, number 2 is -2"},
    {"m.out_proj.bias", MHA_FLOAT64, (double)NAN, "number 2 is nan"},
    {"m.out_proj.bias", MHA_INT64, 3.0, "number 2 is 3"},
    {"m.bias_k", MHA_FLOAT64, 0.0, "m.bias_k adds a key to every source"},
    {"m.b_V", MHA_FLOAT64, 1.0, "m.b_V is not all zero, number 2 is 1"},
    {"m.bqkv", MHA_FLOAT64, 1.0, "m.bqkv is not all zero, number 2 is 1"},
};

START_TEST(biases) {
    layouts_add("m.in_proj_weight", 6, 2, 100.0);
    layouts_add("m.out_proj.weight", 2, 2, 400.0);
    const double numbers[6] = {0.0, 0.0, bias_cases[_i].number};
    layouts_add_numbers(bias_cases[_i].name, bias_cases[_i].dtype, 1, (const size_t[]){6}, numbers);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, bias_cases[_i].words);
}
END_TEST

START_TEST(zero_biases_are_left_out) {
    layouts_add("m.in_proj_weight", 6, 2, 100.0);
    layouts_add("m.out_proj.weight", 2, 2, 400.0);
    const double zeros[6] = {0.0, -0.0};
    layouts_add_numbers("m.in_proj_bias", MHA_FLOAT32, 1, (const size_t[]){6}, zeros);
    layouts_add_numbers("m.out_proj.bias", MHA_FLOAT64, 1, (const size_t[]){2}, zeros);
    layouts_add_numbers("in_proj_bias", MHA_FLOAT64, 1, (const size_t[]){1}, (const double[]){1});
    mha_weight_set set = layouts_take(nothing);
    ck_assert(!mha_weight_set_holds(&set, mha_arrays_find(layouts_made, "m.in_proj_bias")));
    mha_weight_set_free(&set);
}
END_TEST

static const struct {
    const char *names[4], *bias;
} named_bias_cases[] = {
    {{"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}, "k_proj.bias"},
    {{"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}, "in_proj_bias"},
    {{"W_q", "W_k", "W_v", "W_o"}, "b_v"},
    {{"wq", "wk", "wv", "wo"}, "bo"},
};

START_TEST(biases_of_other_names) {
    const char *const *names = named_bias_cases[_i].names;
    layouts_add_four(names[0], names[1], names[2], names[3], 2);
    layouts_add_number(named_bias_cases[_i].bias, MHA_FLOAT32, 1.0);
    char words[64];
    snprintf(words, sizeof words, "%s is not all zero, number 0 is 1", named_bias_cases[_i].bias);
    const mha_layout_hint hint = {.layout = _i == 2 ? MHA_LAYOUT_LESSON : MHA_LAYOUT_UNKNOWN};
    layouts_refuse(hint, MHA_ERROR_FORMAT, words);
}
END_TEST

/* One bias in each of the forms that are looked for, not zero and zero. */
START_TEST(biases_beside_any_names) {
    static const char *const forms[] = {
        "b%", "b_%", "bias_%", "%_bias", "%.bias", "b_qkv", "bqkv", "in_proj_bias"};
    static const char letters[] = "qkvoQKVO";
    for (size_t i = 0; letters[i] != '\0'; i++) {
        char name[16];
        size_t length = 0;
        for (const char *form = forms[_i]; *form != '\0'; form++) {
            name[length++] = *form == '%' ? letters[i] : *form;
        }
        name[length] = '\0';
        for (int zero = 0; zero <= 1; zero++) {
            layouts_end();
            layouts_begin();
            layouts_add_four("wq", "wk", "wv", "wo", 2);
            const double numbers[2] = {0.0, zero ? 0.0 : 1.0};
            layouts_add_numbers(name, MHA_FLOAT32, 1, (const size_t[]){2}, numbers);
            if (zero) {
                mha_weight_set set = layouts_take(nothing);
                ck_assert(!mha_weight_set_holds(&set, mha_arrays_find(layouts_made, name)));
                mha_weight_set_free(&set);
            } else {
                char words[64];
                snprintf(words, sizeof words, "%s is not all zero, number 1 is 1, and this", name);
                layouts_refuse(nothing, MHA_ERROR_FORMAT, words);
            }
        }
    }
}
END_TEST

START_TEST(weights_that_stand_there_twice) {
    layouts_add_four("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", 2);
    layouts_add("out_proj.weight", 2, 2, 0.0);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "twice, as o");
    layouts_add("in_proj_weight", 6, 2, 0.0);
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "two layouts, name the layout: torch");
}
END_TEST

START_TEST(very_many_prefixes) {
    for (int i = 0; i < 200; i++) {
        char name[400];
        snprintf(name, sizeof name, "%0300d.wq", i);
        layouts_add(name, 1, 1, 0.0);
        snprintf(name, sizeof name, "%0300d.wk", i);
        layouts_add(name, 1, 1, 0.0);
        snprintf(name, sizeof name, "%0300d.wv", i);
        layouts_add(name, 1, 1, 0.0);
        snprintf(name, sizeof name, "%0300d.wo", i);
        layouts_add(name, 1, 1, 0.0);
    }
    layouts_refuse(nothing, MHA_ERROR_FORMAT, "name the prefix");
    layouts_refuse(nothing, MHA_ERROR_FORMAT, " and more");
}
END_TEST

TCase *layouts_refusals(void) {
    TCase *cases = tcase_create("refusals");
    tcase_add_checked_fixture(cases, layouts_begin, layouts_end);
    tcase_add_test(cases, files_without_weights);
    tcase_add_loop_test(cases, missing_matrices, 0, COUNT(missing_cases));
    tcase_add_test(cases, names_that_tell_another_layout);
    tcase_add_test(cases, metadata_without_sense);
    tcase_add_loop_test(cases, heads_of_metadata, 0, COUNT(text_cases));
    tcase_add_loop_test(cases, heads_of_an_array, 0, COUNT(heads_cases));
    tcase_add_test(cases, heads_that_contradict);
    tcase_add_loop_test(cases, packed_shapes, 0, COUNT(shape_cases));
    tcase_add_loop_test(cases, square_shapes, 0, 2);
    tcase_add_test(cases, numbers_that_are_not_floating);
    tcase_add_loop_test(cases, biases, 0, COUNT(bias_cases));
    tcase_add_test(cases, zero_biases_are_left_out);
    tcase_add_loop_test(cases, biases_of_other_names, 0, COUNT(named_bias_cases));
    tcase_add_loop_test(cases, biases_beside_any_names, 0, 8);
    tcase_add_test(cases, weights_that_stand_there_twice);
    tcase_add_test(cases, very_many_prefixes);
    return cases;
}
