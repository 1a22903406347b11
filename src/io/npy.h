/* .npy data, of a file or of a member of a .npz file. Format versions 1.0, 2.0 and 3.0 are
 *   93 'N' 'U' 'M' 'P' 'Y', major, minor, length of the text (2 bytes, from version 2.0 on 4), text
 * and the text is a Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 * padded with spaces and ended by a newline. The numbers follow it. As NumPy does, the reader takes any
 * white space, also none at the end. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include <stddef.h>

#include <mha/io.h>

#include "io/source.h"
#include "io/stored.h"

#define npy_magic mha_npy_magic
#define npy_parse mha_npy_parse
#define npy_print mha_npy_print
#define npy_take  mha_npy_take

enum {
    NPY_MAGIC_SIZE = 6,
    NPY_PREFIX_MOST = 12,  /* bytes of a header before its text */
    NPY_TEXT_MOST = 10000, /* longest header text that is read; NumPy has the same limit */
    NPY_PRINT_MOST = 384   /* longest header that is written */
};

extern const unsigned char npy_magic[NPY_MAGIC_SIZE];

/* Reads the text of a header: sets rank and dims of array, and layout. MHA_ERROR_FORMAT; here and in
 * npy_take, texts name neither file nor array. */
mha_status npy_parse(
    mha_array *array, stored_layout *layout, const char *text, size_t length, mha_error *error);

/* Reads a header and the numbers behind it, which are all that is left in source. Sets everything of
 * array but its name; its data are the caller's to free. */
mha_status npy_take(mha_array *array, byte_source *source, size_t max_bytes, mha_error *error);

/* Writes the header that numpy.save writes for an array that was checked, and returns its size, a
 * multiple of 64. */
size_t npy_print(unsigned char header[NPY_PRINT_MOST], const mha_array *array);

#endif
