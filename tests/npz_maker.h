/* .npy and .npz files made by hand, byte by byte, and what a reader has to say to broken ones. */
#ifndef TESTS_NPZ_MAKER_H
#define TESTS_NPZ_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/io.h>

typedef struct made_file {
    size_t size;
    unsigned char at[1 << 22];
} made_file;

extern made_file made_npy, made_zip;

/* A dictionary as the text of a .npy header. */
#define NPY_ORDER                "'fortran_order': False, "
#define NPY_HEADER(descr, shape) "{'descr': " descr ", " NPY_ORDER "'shape': " shape ", }\n"
#define NPY_FLOATS(shape)        NPY_HEADER("'<f4'", shape)

#define NPY_FORTRAN(descr, shape)                                                                  \
    "{'descr': " descr ", 'fortran_order': True, 'shape': " shape ", }\n"

/* Fills made_npy: a header text and `data` zero bytes, or these bytes. */
void make_npy(unsigned major, const char *text, size_t data);
void make_npy_of(unsigned major, const char *text, const void *data, size_t size);

/* Fills made_zip: stored members, each with the bytes that made_npy has when it is added, then their
 * directory and the end record. Names stay alive until then. */
void make_zip_begin(void);
void make_zip_member(const char *name);
void make_zip_end(void);

/* The same with one made_npy for all names. */
void make_zip(const char *const *names, size_t count);

/* Reads made_npy, which becomes a.npy of the folder: its one array, or how it is refused, in a single
 * clean line that names the file and holds words. */
mha_arrays *npy_read_made(void);
void npy_assert_made_refused(const char *words);

/* Reads a.npz of the folder; false when it is refused, which must give a single clean line. */
bool npz_is_read(mha_error *error);

/* The arrays of a.npz. */
mha_arrays *npz_read_made(void);

/* That a.npz is refused with a text that names it and holds words. */
void npz_assert_refused(mha_status status, const char *words);

/* The same of made_zip, which becomes a.npz, with MHA_ERROR_FORMAT. */
void npz_assert_zip_refused(const char *words);

#endif
