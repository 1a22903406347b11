/* Filling an mha_error. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <mha/status.h>

#if defined(__GNUC__)
#define MHA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MHA_PRINTF(text, first)
#endif

/* Writes status and text into error, which may be NULL, and returns status. */
mha_status mha_fail(mha_error *error, mha_status status, const char *format, ...) MHA_PRINTF(3, 4);

#endif
