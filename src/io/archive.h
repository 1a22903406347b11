/* A zip file that is read by libzip, with bounds on what opening it may cost. */
#ifndef IO_ARCHIVE_H
#define IO_ARCHIVE_H

#include <stdint.h>

#include <zip.h>

#include "io/source.h"

#define archive_close  mha_archive_close
#define archive_open   mha_archive_open
#define archive_status mha_archive_status

/* libzip keeps a pointer to it while it is open. */
typedef struct archive {
    zip_t *zip;
    uint64_t count; /* of members */
    input_file file;
    uint64_t position;  /* of the next byte that libzip reads */
    uint64_t allowance; /* bytes that libzip may still read */
    zip_error_t cause;
} archive;

/* Opens path and reads its directory, of at most 4096 members. MHA_ERROR_FILE, _FORMAT or _MEMORY naming the path, and then
 * nothing is open. */
mha_status archive_open(archive *a, const char *path, mha_error *error);
void archive_close(archive *a);

/* The status that a failure of libzip while reading is reported as. */
mha_status archive_status(zip_error_t *cause);

#endif
