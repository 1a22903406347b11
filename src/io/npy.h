/* The header of a .npy file, format versions 1.0, 2.0 and 3.0:
 *   93 'N' 'U' 'M' 'P' 'Y', major, minor, length of the text (2 bytes, from version 2.0 on 4), text
 * and the text is a Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 * padded with spaces and ended by a newline. The data follow it. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include <mha/io.h>

#define npy_magic       mha_npy_magic
#define npy_data_bytes  mha_npy_data_bytes
#define npy_descr       mha_npy_descr
#define npy_parse       mha_npy_parse
#define npy_print       mha_npy_print
#define npy_print_shape mha_npy_print_shape

enum {
    NPY_MAGIC_SIZE = 6,
    NPY_TEXT_MOST = 10000, /* longest header text that is read; NumPy has the same limit */
    NPY_PRINT_MOST = 384,  /* longest header that is written */
    NPY_SHAPE_MOST = MHA_ARRAY_RANK * (20 + 2) + 2 /* longest shape: 20 digits an axis */
};

extern const unsigned char npy_magic[NPY_MAGIC_SIZE];

/* "<f4", "<f8" or "<i8". */
const char *npy_descr(mha_dtype dtype);

/* The dims as a Python tuple: (), (3,), (2, 3). */
void npy_print_shape(char text[NPY_SHAPE_MOST], const mha_array *array);

/* Bytes of the array's data; false when its dims other than 0 do not multiply to a size_t. */
bool npy_data_bytes(size_t *bytes, const mha_array *array);

/* Reads the header of a whole .npy file held in bytes (size): sets dtype, rank and dims of array
 * and the offset of the data, which reach exactly to the end. Otherwise MHA_ERROR_FORMAT, with a
 * text that names neither file nor array. */
mha_status npy_parse(
    mha_array *array, size_t *offset, const unsigned char *bytes, size_t size, mha_error *error);

/* Writes the header that numpy.save writes for array, and returns its size, a multiple of 64. dtype
 * and rank must be valid. */
size_t npy_print(unsigned char header[NPY_PRINT_MOST], const mha_array *array);

#endif
