/* Error texts about files: names and contents come from outside. */
#ifndef IO_FAIL_H
#define IO_FAIL_H

#include "base/error.h"

/* mha_fail with every control character of the finished text replaced by '?', so that the text is
 * one line and cannot steer a terminal. */
mha_status io_fail(mha_error *error, mha_status status, const char *format, ...) MHA_PRINTF(3, 4);

#endif
