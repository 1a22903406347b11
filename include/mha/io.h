/* Arrays in files: .npy, .npz and .safetensors (libmha_io; needs libmha, libzip and jansson).
 *
 * What a file holds is converted on reading to one of five kinds of numbers in memory, always
 * row-major and in the machine's byte order:
 *   bool                                    MHA_BOOL, bytes of 0 and 1
 *   uint8                                   MHA_UINT8
 *   int8 to int64, uint16 to uint64         MHA_INT64; a uint64 of 2^63 or more is refused
 *   float16, bfloat16, float32              MHA_FLOAT32, exactly
 *   float64                                 MHA_FLOAT64
 * (bfloat16 only in .safetensors: .npy has no name for it.) Every other dtype is refused by its name:
 * complex numbers, text, dates, records, Python objects, 8-bit floats, long double.
 *
 * Files are not trusted. Names, sizes, shapes and offsets are checked against each other and against
 * the real length of the file before memory is taken for them. bool bytes above 1 are refused.
 * max_bytes bounds the memory of each array, not of the whole file; one that comes in Fortran order
 * counts twice where it has to be transposed. max_bytes 0 stands for mha_max_bytes_default(). Messages
 * count numbers from 0. */
#ifndef MHA_IO_H
#define MHA_IO_H

#include <stddef.h>
#include <stdint.h>

#include <mha/declare.h>
#include <mha/status.h>

MHA_DECLARATIONS_BEGIN

typedef enum mha_dtype {
    MHA_BOOL,    /* unsigned char, 0 or 1 */
    MHA_UINT8,   /* unsigned char */
    MHA_INT64,   /* int64_t */
    MHA_FLOAT32, /* float */
    MHA_FLOAT64, /* double */
    MHA_DTYPE_COUNT
} mha_dtype;

enum { MHA_ARRAY_RANK = 8 };

/* A named array, row-major. */
typedef struct mha_array {
    const char *name; /* without ".npy" */
    mha_dtype dtype;
    size_t rank; /* 0 is a scalar, one number */
    size_t dims[MHA_ARRAY_RANK];
    const void *data;
    const char *stored; /* its dtype in the file it was read from, such as "bfloat16"; else NULL */
} mha_array;

/* "bool", "uint8", "int64", "float32", "float64", and the bytes of one number. */
const char *mha_dtype_name(mha_dtype dtype);
size_t mha_dtype_bytes(mha_dtype dtype);

/* Product of the dims; 1 for a scalar, SIZE_MAX when it does not fit. */
size_t mha_array_count(const mha_array *array);

/* The shape as a Python tuple, such as "(2, 3)", for messages; returns text. */
enum { MHA_SHAPE_TEXT_SIZE = 192 };
const char *mha_array_shape_text(char text[MHA_SHAPE_TEXT_SIZE], const mha_array *array);

/* ---- reading ---- */

/* The arrays of a file, and the strings of its metadata (.safetensors only). */
typedef struct mha_arrays mha_arrays;

/* A quarter of the machine's memory, in bytes. */
size_t mha_max_bytes_default(void);

/* Reads a .npy file of format version 1.0, 2.0 or 3.0, either byte order, C or Fortran order: one
 * array, whose name is "". On failure, here and below, *arrays is NULL and the status is
 * MHA_ERROR_FILE when the system refused, MHA_ERROR_FORMAT for what the file holds, MHA_ERROR_SIZE
 * for an array beyond max_bytes, or MHA_ERROR_MEMORY; the text names file, array and reason. */
mha_status mha_npy_read(mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

/* Reads all members of a .npz file whose names end in ".npy", stored or deflated, in any order;
 * others are left out, and only their names are kept. Refused before anything is unpacked are
 * directories that disagree with the local headers, bytes behind the end of the zip file, names that
 * two members of any kind have, encrypted members, and members that claim more than deflate can make
 * of their bytes or than max_bytes allows. A payload that disagrees with its header is known when that
 * header is unpacked, a wrong checksum only when the whole member is. */
mha_status mha_npz_read(mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

/* Reads a .safetensors file: a header of JSON and tensors that cover the rest of the file without a
 * hole or overlap. Duplicate names are refused, and so is a header of more than 400 000 bytes (room
 * for about 4000 tensors), since parsing one can take 80 times its size in memory. */
mha_status mha_safetensors_read(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

/* Reads any of the three; the first bytes of the file tell which. */
mha_status mha_arrays_read(
    mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error);

void mha_arrays_free(mha_arrays *arrays); /* NULL is allowed */

size_t mha_arrays_count(const mha_arrays *arrays);
/* Arrays by position, in the order of the file (of a .safetensors file: of its header), and by name;
 * NULL when there is none. They belong to arrays. */
const mha_array *mha_arrays_at(const mha_arrays *arrays, size_t index);
const mha_array *mha_arrays_find(const mha_arrays *arrays, const char *name);
/* A string of the file's metadata, which belongs to arrays; NULL when there is none. */
const char *mha_arrays_metadata(const mha_arrays *arrays, const char *key);
/* Names of members that are no arrays (.npz only), in the order of the file; NULL behind the last. They
 * belong to arrays. */
size_t mha_arrays_skipped_count(const mha_arrays *arrays);
const char *mha_arrays_skipped_at(const mha_arrays *arrays, size_t index);

/* ---- writing ---- */

/* Replaces the file at path as a whole, or creates it: size bytes are written beside it under a
 * temporary name, flushed to disk and renamed, so that a reader sees the old file or the new one.
 * An existing file keeps its permissions, and its owner and group where the system allows; one that is write-protected, or no regular file, is
 * refused. A symbolic link stays, and the file it points to is replaced. On failure path is as it
 * was and nothing else is left; only when the last step fails, the flushing of the folder, the new
 * file stands there already. MHA_ERROR_FILE names the file and the system's reason. */
mha_status mha_file_replace(const char *path, const void *bytes, size_t size, mha_error *error);

/* The functions below replace the file at path as mha_file_replace does. MHA_ERROR_ARGUMENT for a
 * name that is missing, given twice, not UTF-8 or too long (in a .npz file also for control characters), for a rank above MHA_ARRAY_RANK and for
 * an unknown dtype; MHA_ERROR_SIZE for dims that, those of 0 left out,
 * make more than PTRDIFF_MAX bytes; MHA_ERROR_MEMORY and
 * MHA_ERROR_FILE. */

/* Writes one array as numpy.save would; its name does not matter. */
mha_status mha_npy_write(const char *path, const mha_array *array, mha_error *error);

/* Writes path as numpy.savez would: one uncompressed .npy member an array, in the given order,
 * dated 1980-01-01, so that equal arrays give equal files. MHA_ERROR_SIZE for more than 4096 arrays, or
 * names of more than 400 000 bytes together, which mha_npz_read would not take. */
mha_status mha_npz_write(const char *path, const mha_array *arrays, size_t count, mha_error *error);

/* A string of the metadata of a .safetensors file. */
typedef struct mha_metadata {
    const char *key, *value; /* UTF-8 */
} mha_metadata;

/* Writes path as the reference writer of safetensors would: int64, float64, float32, uint8, bool, by
 * name within each, behind a header that is padded to 8 bytes; MHA_ERROR_SIZE when that would be longer
 * than is read. */
mha_status mha_safetensors_write(const char *path, const mha_array *arrays, size_t count,
    const mha_metadata *metadata, size_t metadata_count, mha_error *error);

/* Writes .npz or .safetensors, as the path ends; another ending is MHA_ERROR_ARGUMENT. A .npz file
 * holds no metadata. */
mha_status mha_arrays_write(const char *path, const mha_array *arrays, size_t count,
    const mha_metadata *metadata, size_t metadata_count, mha_error *error);

MHA_DECLARATIONS_END
#endif
