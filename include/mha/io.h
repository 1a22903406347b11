/* Arrays in files (libmha_io; needs libzip). */
#ifndef MHA_IO_H
#define MHA_IO_H

#include <stddef.h>
#include <stdint.h>

#include <mha/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mha_dtype { MHA_FLOAT32, MHA_FLOAT64, MHA_INT64 } mha_dtype;

enum { MHA_ARRAY_RANK = 8 };

/* A named array, row-major. */
typedef struct mha_array {
    const char *name; /* without ".npy" */
    mha_dtype dtype;
    size_t rank; /* 0 is a scalar, one number */
    size_t dims[MHA_ARRAY_RANK];
    const void *data; /* float, double or int64_t as dtype says */
} mha_array;

/* Product of the dims; 1 for a scalar, SIZE_MAX when it does not fit. */
size_t mha_array_count(const mha_array *array);

/* Replaces the file at path as a whole, or creates it: size bytes are written beside it under a
 * temporary name, flushed to disk and renamed, so that a reader sees the old file or the new one.
 * An existing file keeps its permissions; one that is write-protected, or no regular file, is
 * refused. A symbolic link stays, and the file it points to is replaced. On failure path is as it
 * was and nothing else is left; only when the last step fails, the flushing of the folder, the new
 * file stands there already. MHA_ERROR_FILE names the file and the system's reason. */
mha_status mha_file_replace(const char *path, const void *bytes, size_t size, mha_error *error);

/* Writes path as numpy.savez would: one uncompressed .npy member an array, in the given order,
 * dated 1980-01-01, so that equal arrays give equal files. The file is replaced as mha_file_replace
 * does. MHA_ERROR_ARGUMENT for a name that is missing, given twice, not UTF-8 or too long, for a
 * rank above MHA_ARRAY_RANK and for an unknown dtype; MHA_ERROR_SIZE for dims whose product does
 * not fit; MHA_ERROR_MEMORY and MHA_ERROR_FILE. */
mha_status mha_npz_write(const char *path, const mha_array *arrays, size_t count, mha_error *error);

/* The arrays of a file. */
typedef struct mha_npz mha_npz;

/* Reads all members whose names end in .npy, stored or deflated; other members are left out. Read
 * are little-endian float32, float64 and int64 in row-major order; anything else is refused by
 * name, and so are duplicate names, wrong checksums and payloads that disagree with their header.
 * The file is not trusted: no memory is taken for sizes that its real length cannot hold. On
 * failure *npz is NULL. MHA_ERROR_FILE, _FORMAT or _MEMORY. */
mha_status mha_npz_read(mha_npz **npz, const char *path, mha_error *error);
void mha_npz_free(mha_npz *npz); /* NULL is allowed */

size_t mha_npz_count(const mha_npz *npz);
/* Arrays by position, and by name (NULL when there is none). They belong to npz. */
const mha_array *mha_npz_at(const mha_npz *npz, size_t index);
const mha_array *mha_npz_find(const mha_npz *npz, const char *name);

#ifdef __cplusplus
}
#endif
#endif
