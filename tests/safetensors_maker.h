/* .safetensors files made by hand, and what a reader has to say to them. All of it is about the file
 * a.safetensors of the folder. */
#ifndef TESTS_SAFETENSORS_MAKER_H
#define TESTS_SAFETENSORS_MAKER_H

#include <stddef.h>
#include <stdint.h>

#include <mha/io.h>
#include <mha/status.h>

/* An entry of a header; the numbers as texts. */
#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* Writes the length `claimed`, the header text of size bytes, and data_size bytes of data, which are
 * 0, 1, 2, ... when data is NULL. */
void safetensors_make_claiming(
    uint64_t claimed, const void *header, size_t size, const void *data, size_t data_size);

/* The same with the header's own length. */
void safetensors_make(const char *header, const void *data, size_t data_size);

/* Reads it, which must do; to be freed. */
mha_arrays *safetensors_read(void);

/* That it is refused in one clean line that names it and holds words. */
void safetensors_assert_refused(mha_status status, const char *words);
void safetensors_assert_refused_within(size_t max_bytes, mha_status status, const char *words);

/* Makes it with bytes of data and asserts that it is refused with MHA_ERROR_FORMAT. */
void safetensors_assert_header_refused(const char *header, size_t data_size, const char *words);

#endif
