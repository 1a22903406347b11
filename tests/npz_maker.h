/* .npz files made by hand, byte by byte, and what a reader has to say to broken ones. */
#ifndef TESTS_NPZ_MAKER_H
#define TESTS_NPZ_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/status.h>

typedef struct bytes {
    size_t size;
    unsigned char at[1 << 19];
} bytes;

extern bytes made_npy, made_zip;

/* A dictionary as the text of a .npy header. */
#define NPY_ORDER                "'fortran_order': False, "
#define NPY_HEADER(descr, shape) "{'descr': " descr ", " NPY_ORDER "'shape': " shape ", }\n"
#define NPY_FLOATS(shape)        NPY_HEADER("'<f4'", shape)

/* Fills made_npy: a header text and `data` zero bytes. */
void make_npy(unsigned major, const char *text, size_t data);

/* Fills made_zip: stored members, each with the bytes of made_npy, their directory, the end record.
 */
void make_zip(const char *const *names, size_t count);

/* Reads a.npz of the folder; false when it is refused, which must give a single clean line. */
bool npz_is_read(mha_error *error);

/* That a.npz is refused with a text that names it and holds words. */
void npz_assert_refused(mha_status status, const char *words);

/* The same of made_zip, which becomes a.npz, with MHA_ERROR_FORMAT. */
void npz_assert_zip_refused(const char *words);

#endif
