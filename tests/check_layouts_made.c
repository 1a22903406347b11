#include "check_layouts.h"

#include <stdlib.h>
#include <string.h>

#include "io/arrays.h"

mha_arrays *layouts_made;

void layouts_begin(void) {
    layouts_made = arrays_create();
    ck_assert_ptr_nonnull(layouts_made);
}

void layouts_end(void) {
    mha_arrays_free(layouts_made);
}

void layouts_add_numbers(
    const char *name, mha_dtype dtype, size_t rank, const size_t *dims, const double *numbers) {
    mha_array array = {.dtype = dtype, .rank = rank};
    for (size_t i = 0; i < rank; i++) {
        array.dims[i] = dims[i];
    }
    const size_t count = mha_array_count(&array), size = mha_dtype_bytes(dtype);
    char *data = calloc(count + 1, size);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < count; i++) {
        const float single = (float)numbers[i];
        const int64_t whole = dtype == MHA_INT64 ? (int64_t)numbers[i] : 0;
        const unsigned char byte = size == 1 ? (unsigned char)numbers[i] : 0;
        memcpy(data + i * size,
            dtype == MHA_FLOAT64   ? (const void *)&numbers[i]
            : dtype == MHA_FLOAT32 ? (const void *)&single
            : dtype == MHA_INT64   ? (const void *)&whole
                                   : (const void *)&byte,
            size);
    }
    array.data = data;
    mha_error error;
    ck_assert_msg(
        arrays_add(layouts_made, &array, name, "made.npz", &error) == MHA_OK, "%s", error.text);
}

void layouts_add_number(const char *name, mha_dtype dtype, double number) {
    layouts_add_numbers(name, dtype, 0, NULL, &number);
}

void layouts_add(const char *name, size_t rows, size_t columns, double first) {
    double *numbers = calloc(rows * columns + 1, sizeof *numbers);
    ck_assert_ptr_nonnull(numbers);
    for (size_t i = 0; i < rows * columns; i++) {
        numbers[i] = first + 10.0 * (double)(i / columns) + (double)(i % columns);
    }
    layouts_add_numbers(name, MHA_FLOAT64, 2, (const size_t[]){rows, columns}, numbers);
    free(numbers);
}

void layouts_add_four(const char *q, const char *k, const char *v, const char *o, size_t width) {
    layouts_add(q, width, width, 100.0);
    layouts_add(k, width, width, 200.0);
    layouts_add(v, width, width, 300.0);
    layouts_add(o, width, width, 400.0);
}

void layouts_add_metadata(const char *key, const char *value) {
    ck_assert(arrays_add_metadata(layouts_made, key, value, "made.npz", NULL) == MHA_OK);
}

mha_weight_set layouts_take(mha_layout_hint hint) {
    mha_weight_set set;
    mha_error error;
    ck_assert_msg(mha_weight_set_take(&set, layouts_made, "made.npz", &hint, &error) == MHA_OK,
        "%s", error.text);
    return set;
}

void layouts_refuse(mha_layout_hint hint, mha_status status, const char *words) {
    mha_weight_set set;
    mha_error error;
    const mha_status got = mha_weight_set_take(&set, layouts_made, "made.npz", &hint, &error);
    ck_assert_msg(got == status, "status %d instead of %d", (int)got, (int)status);
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strstr(error.text, words) != NULL, "'%s' is not in: %s", words, error.text);
    ck_assert_msg(strncmp(error.text, "made.npz: ", 10) == 0, "%s", error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert(set.matrices == NULL && set.prefix == NULL && set.width == 0);
    ck_assert(mha_weight_set_take(&set, layouts_made, "made.npz", &hint, NULL) == status);
}

double layouts_entry(const mha_weight_set *set, size_t matrix, size_t i, size_t j) {
    const size_t at = (matrix * set->width + i) * set->width + j;
    return set->dtype == MHA_FLOAT64 ? ((const double *)set->matrices)[at]
                                     : (double)((const float *)set->matrices)[at];
}
