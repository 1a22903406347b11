#include "array_assert.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

#include "folder.h"

mha_arrays *read_arrays_with(array_reader *reader, const char *name) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    const mha_status status = reader(&arrays, folder_path(name), 0, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_ptr_nonnull(arrays);
    return arrays;
}

mha_arrays *read_arrays(const char *name) {
    return read_arrays_with(mha_arrays_read, name);
}

double number_of(const mha_array *array, size_t i) {
    switch (array->dtype) {
    case MHA_BOOL:
    case MHA_UINT8:
        return ((const unsigned char *)array->data)[i];
    case MHA_INT64:
        return (double)((const int64_t *)array->data)[i];
    case MHA_FLOAT32:
        return (double)((const float *)array->data)[i];
    case MHA_FLOAT64:
    default:
        return ((const double *)array->data)[i];
    }
}

void assert_same_array(const mha_array *found, const mha_array *expected) {
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_nonnull(expected);
    const char *name = expected->name;
    ck_assert_str_eq(found->name, name);
    ck_assert_msg(found->dtype == expected->dtype, "%s is %s, not %s", name,
        mha_dtype_name(found->dtype), mha_dtype_name(expected->dtype));
    ck_assert_msg(found->rank == expected->rank, "%s has %zu axes, not %zu", name, found->rank,
        expected->rank);
    for (size_t i = 0; i < expected->rank; i++) {
        ck_assert_msg(found->dims[i] == expected->dims[i], "%s has %zu, not %zu in axis %zu", name,
            found->dims[i], expected->dims[i], i);
    }
    const size_t bytes = mha_array_count(expected) * mha_dtype_bytes(expected->dtype);
    ck_assert_msg(
        bytes == 0 || memcmp(found->data, expected->data, bytes) == 0, "%s differs", name);
}

void assert_read_as_written(const mha_array *read, const mha_array *written) {
    assert_same_array(read, written);
    ck_assert_str_eq(read->stored, mha_dtype_name(written->dtype));
}

void assert_same_named(const mha_arrays *a, const mha_arrays *b, const char *name) {
    const mha_array *in_a = mha_arrays_find(a, name), *in_b = mha_arrays_find(b, name);
    ck_assert_msg(in_a != NULL && in_b != NULL, "no %s", name);
    assert_same_array(in_a, in_b);
}

void assert_same_arrays(const mha_arrays *a, const mha_arrays *b) {
    ck_assert_uint_eq(mha_arrays_count(a), mha_arrays_count(b));
    for (size_t i = 0; i < mha_arrays_count(a); i++) {
        assert_same_named(a, b, mha_arrays_at(a, i)->name);
    }
}
