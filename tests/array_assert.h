/* Arrays of files: making them, reading them back from the folder of the test, and comparing them. */
#ifndef TESTS_ARRAY_ASSERT_H
#define TESTS_ARRAY_ASSERT_H

#include <stddef.h>

#include <mha/io.h>

/* An mha_array of a name, a dtype and dims over a C array: as an initializer, and as a value, as in
 * ARRAY("query", MHA_FLOAT64, numbers, 2, 4, 8). */
#define ARRAY_OF(array_name, array_dtype, array_data, ...)                                         \
    {                                                                                              \
        .name = array_name, .dtype = array_dtype,                                                  \
        .rank = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), .dims = {__VA_ARGS__},           \
        .data = array_data                                                                         \
    }
#define ARRAY(array_name, array_dtype, array_data, ...)                                            \
    ((mha_array)ARRAY_OF(array_name, array_dtype, array_data, __VA_ARGS__))

/* Reads a file of the folder, which must do; to be freed. The kind of the file is told by its first
 * bytes, or by the reader. */
typedef mha_status array_reader(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);
mha_arrays *read_arrays(const char *name);
mha_arrays *read_arrays_with(array_reader *reader, const char *name);

/* A number of any dtype. */
double number_of(const mha_array *array, size_t i);

/* Name, dtype, shape and bits are the same. */
void assert_same_array(const mha_array *found, const mha_array *expected);

/* The same, and `stored` is the dtype's own name: what is read where `written` was written. */
void assert_read_as_written(const mha_array *read, const mha_array *written);

/* The array must be there in both files, and be the same. */
void assert_same_named(const mha_arrays *a, const mha_arrays *b, const char *name);
/* The same arrays in both files; .safetensors files have an order of their own. */
void assert_same_arrays(const mha_arrays *a, const mha_arrays *b);

#endif
