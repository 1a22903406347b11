/* Status codes and error texts. Nothing in the library prints, exits or aborts.
 *
 * Every function that can fail returns an mha_status and takes, as its last argument, an mha_error
 * that may be NULL. On failure the error receives the code and one line of text that names the
 * thing and both numbers ("width 6 is not divisible by 4 heads"); on success it is not touched. */
#ifndef MHA_STATUS_H
#define MHA_STATUS_H

#include <mha/declare.h>

MHA_DECLARATIONS_BEGIN

#define MHA_STATUS_LIST(X)                                                                         \
    X(MHA_OK, "success")                                                                           \
    X(MHA_ERROR_SHAPE, "sizes do not fit together")                                                \
    X(MHA_ERROR_SIZE, "a product of sizes is too large")                                           \
    X(MHA_ERROR_MEMORY, "not enough memory")                                                       \
    X(MHA_ERROR_MASK, "the mask is not usable")                                                    \
    X(MHA_ERROR_ARGUMENT, "an argument is not usable")                                             \
    X(MHA_ERROR_STATE, "the tape holds no matching forward pass")                                  \
    X(MHA_ERROR_NOT_FINITE, "a number is not finite")                                              \
    X(MHA_ERROR_FILE, "a file could not be read or written")                                       \
    X(MHA_ERROR_FORMAT, "the content of a file is not usable")

#define MHA_STATUS_NAME(name, text) name,
typedef enum mha_status { MHA_STATUS_LIST(MHA_STATUS_NAME) } mha_status;
#undef MHA_STATUS_NAME

enum { MHA_ERROR_TEXT_SIZE = 4608 }; /* room for a path of 4096 bytes and a reason */

typedef struct mha_error {
    mha_status status;
    char text[MHA_ERROR_TEXT_SIZE]; /* one line, without a newline; cut where it does not fit */
} mha_error;

#if defined(__GNUC__)
#define MHA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MHA_PRINTF(text, first)
#endif

/* Fills error, which may be NULL, as printf would, and returns status. Control characters become
 * '?': the text stays one line and cannot steer a terminal, whatever a file name holds. For the
 * library and for what is built on it. */
mha_status mha_fail(mha_error *error, mha_status status, const char *format, ...) MHA_PRINTF(3, 4);

/* What a status means in general, in words that stay valid for ever. */
const char *mha_status_text(mha_status status);

/* The version of the library, "MAJOR.MINOR.PATCH". */
const char *mha_version(void);

MHA_DECLARATIONS_END
#endif
