/* Shapes, the table of values, size arithmetic and aligned memory. Sizes assume a size_t of 64
 * bits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mha/shape.h>
#include <mha/values.h>

#include "base/memory.h"
#include "base/size.h"
#include "count.h"
#include "mask_cases.h"

#define P(exponent) ((size_t)1 << (exponent))

static const struct {
    mha_shape shape;
    mha_status status;
    const char *text;
} refused_shapes[] = {
    {{1, 1, 1, 6, 4}, MHA_ERROR_SHAPE, "width 6 is not divisible by 4 heads"},
    {{1, 1, 1, 4, 8}, MHA_ERROR_SHAPE, "width 4 is not divisible by 8 heads"},
    {{1, 1, 1, 4, 0}, MHA_ERROR_SHAPE, "heads is 0, at least 1 is needed"},
    {{1, 1, 1, 0, 2}, MHA_ERROR_SHAPE, "width is 0, at least 1 is needed"},
    {{1, 1, 1, 0, 0}, MHA_ERROR_SHAPE, "heads is 0, at least 1 is needed"},
    {{1, P(32), P(32), 1, 1}, MHA_ERROR_SIZE,
        "attention weights of batch 1 x heads 1 x target length 4294967296 x source length "
        "4294967296 exceed the address space"},
    {{65536, 65536, 65536, 65536, 65536}, MHA_ERROR_SIZE,
        "attention weights of batch 65536 x heads 65536 x target length 65536 x source length "
        "65536 exceed the address space"},
    {{P(40), P(20), 1, 2, 1}, MHA_ERROR_SIZE,
        "attention weights of batch 1099511627776 x heads 1 x target length 1048576 x source "
        "length 1 exceed the address space"},
    {{P(30), P(20), 0, P(20), 1}, MHA_ERROR_SIZE,
        "batch 1073741824 x length 1048576 x width 1048576 exceeds the address space"},
    {{P(30), 1, P(20), P(20), 1}, MHA_ERROR_SIZE,
        "batch 1073741824 x length 1048576 x width 1048576 exceeds the address space"},
    {{0, SIZE_MAX, 1, 2, 1}, MHA_ERROR_SIZE,
        "attention weights of batch 0 x heads 1 x target length 18446744073709551615 x source "
        "length 1 exceed the address space"},
    {{1, 1, 1, P(31), 1}, MHA_ERROR_SIZE,
        "4 matrices of width 2147483648 x 2147483648 exceed the address space"},
    {{1, 1, 1, SIZE_MAX, SIZE_MAX}, MHA_ERROR_SIZE,
        "attention weights of batch 1 x heads 18446744073709551615 x target length 1 x source "
        "length 1 exceed the address space"},
};

START_TEST(shapes_that_do_not_fit_are_refused) {
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_shape_check(&refused_shapes[_i].shape, &error), refused_shapes[_i].status);
    ck_assert_int_eq(error.status, refused_shapes[_i].status);
    ck_assert_str_eq(error.text, refused_shapes[_i].text);
    ck_assert_int_eq(mha_shape_check(&refused_shapes[_i].shape, NULL), refused_shapes[_i].status);
}
END_TEST

START_TEST(usable_shapes_pass) {
    static const struct {
        mha_shape shape;
        size_t head_width;
    } shapes[] = {{{1, 1, 1, 1, 1}, 1}, {{2, 4, 6, 8, 2}, 4}, {{2, 4, 6, 8, 8}, 1},
        {{2, 4, 6, 8, 1}, 8}, {{0, 4, 6, 8, 2}, 4}, {{2, 0, 6, 8, 2}, 4}, {{2, 4, 0, 8, 2}, 4},
        {{0, 0, 0, 8, 2}, 4}, {{1, 46341, 46341, 1, 1}, 1}, {{1, P(30), P(29), 1, 1}, 1}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        mha_error error = {MHA_OK, "untouched"};
        ck_assert_int_eq(mha_shape_check(&shapes[i].shape, &error), MHA_OK);
        ck_assert_str_eq(error.text, "untouched");
        ck_assert_uint_eq(mha_head_width(&shapes[i].shape), shapes[i].head_width);
    }
}
END_TEST

/* B = 2, T = 3, S = 5, D = 12, h = 4, d = 3. */
static const struct {
    mha_value value;
    const char *name, *axes;
    size_t dims[MHA_VALUE_RANK], count;
} values[MHA_VALUE_COUNT] = {
    {MHA_QUERY, "query", "BTD", {2, 3, 12}, 72},
    {MHA_SOURCE, "source", "BSD", {2, 5, 12}, 120},
    {MHA_WQ, "wq", "DD", {12, 12}, 144},
    {MHA_WK, "wk", "DD", {12, 12}, 144},
    {MHA_WV, "wv", "DD", {12, 12}, 144},
    {MHA_WO, "wo", "DD", {12, 12}, 144},
    {MHA_Q, "q", "BTD", {2, 3, 12}, 72},
    {MHA_K, "k", "BSD", {2, 5, 12}, 120},
    {MHA_V, "v", "BSD", {2, 5, 12}, 120},
    {MHA_Q_HEADS, "q_heads", "BhTd", {2, 4, 3, 3}, 72},
    {MHA_K_HEADS, "k_heads", "BhSd", {2, 4, 5, 3}, 120},
    {MHA_V_HEADS, "v_heads", "BhSd", {2, 4, 5, 3}, 120},
    {MHA_SCORES, "scores", "BhTS", {2, 4, 3, 5}, 120},
    {MHA_SCALED, "scaled", "BhTS", {2, 4, 3, 5}, 120},
    {MHA_MASKED, "masked", "BhTS", {2, 4, 3, 5}, 120},
    {MHA_ATTENTION_WEIGHTS, "attention_weights", "BhTS", {2, 4, 3, 5}, 120},
    {MHA_ROW_MAXIMUM, "row_maximum", "BhT", {2, 4, 3}, 24},
    {MHA_ROW_INVERSE_SUM, "row_inverse_sum", "BhT", {2, 4, 3}, 24},
    {MHA_CONTEXT_HEADS, "context_heads", "BhTd", {2, 4, 3, 3}, 72},
    {MHA_CONTEXT, "context", "BTD", {2, 3, 12}, 72},
    {MHA_OUTPUT, "output", "BTD", {2, 3, 12}, 72},
};

START_TEST(values_have_the_sizes_of_their_axes) {
    const mha_shape shape = {2, 3, 5, 12, 4}, empty = {2, 0, 5, 12, 4};
    const mha_value_shape found = mha_value_shape_of(values[_i].value, &shape);
    ck_assert_int_eq(values[_i].value, _i);
    ck_assert_str_eq(found.name, values[_i].name);
    ck_assert_str_eq(found.axes, values[_i].axes);
    ck_assert_uint_eq(found.rank, strlen(values[_i].axes));
    ck_assert_uint_eq(found.count, values[_i].count);
    for (size_t i = 0; i < found.rank; i++) {
        ck_assert_uint_eq(found.dims[i], values[_i].dims[i]);
    }
    const bool has_targets = strchr(values[_i].axes, 'T') != NULL;
    ck_assert_uint_eq(
        mha_value_count(values[_i].value, &empty), has_targets ? 0 : values[_i].count);
}
END_TEST

START_TEST(products_and_sums_of_sizes_say_when_they_do_not_fit) {
    size_t result = 7;
    ck_assert(!size_multiply(&result, P(32), P(32)) && result == 7);
    ck_assert(!size_multiply(&result, SIZE_MAX, 2) && result == 7);
    ck_assert(!size_multiply(&result, 2, SIZE_MAX) && result == 7);
    ck_assert(!size_add(&result, SIZE_MAX, 1) && result == 7);
    ck_assert(size_multiply(&result, P(32), P(32) - 1) && result == SIZE_MAX - P(32) + 1);
    ck_assert(size_multiply(&result, SIZE_MAX, 1) && result == SIZE_MAX);
    ck_assert(size_multiply(&result, SIZE_MAX, 0) && result == 0);
    ck_assert(size_multiply(&result, 0, SIZE_MAX) && result == 0);
    ck_assert(size_add(&result, SIZE_MAX - 1, 1) && result == SIZE_MAX);
    ck_assert(size_add(&result, 0, 0) && result == 0);
}
END_TEST

START_TEST(memory_is_aligned_and_rounded_up) {
    static const size_t bytes[] = {0, 1, 63, 64, 65, 1000};
    static const size_t rounded[] = {0, 64, 64, 64, 128, 1024};
    for (size_t i = 0; i < COUNT(bytes); i++) {
        ck_assert_uint_eq(memory_round_up(bytes[i]), rounded[i]);
        unsigned char *block = memory_allocate(bytes[i]);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % MEMORY_ALIGNMENT, 0);
        memset(block, 0xff, rounded[i]);
        free(block);
    }
    ck_assert_uint_eq(memory_round_up(SIZE_MAX - 63), SIZE_MAX - 63);
    ck_assert_uint_eq(memory_round_up(SIZE_MAX - 62), SIZE_MAX);
    ck_assert_uint_eq(memory_round_up(SIZE_MAX), SIZE_MAX);
    ck_assert_ptr_null(memory_allocate(SIZE_MAX));
    ck_assert_ptr_null(memory_allocate((size_t)PTRDIFF_MAX + 1));
}
END_TEST

TCase *sizes_case(void) {
    TCase *cases = tcase_create("sizes");
    tcase_add_loop_test(cases, shapes_that_do_not_fit_are_refused, 0, COUNT(refused_shapes));
    tcase_add_test(cases, usable_shapes_pass);
    tcase_add_loop_test(cases, values_have_the_sizes_of_their_axes, 0, MHA_VALUE_COUNT);
    tcase_add_test(cases, products_and_sums_of_sizes_say_when_they_do_not_fit);
    tcase_add_test(cases, memory_is_aligned_and_rounded_up);
    return cases;
}
