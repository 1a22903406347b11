/* A zip file that is read by libzip, with bounds on what opening it may cost. */
#ifndef IO_ARCHIVE_H
#define IO_ARCHIVE_H

#include <stdint.h>

#include <zip.h>

#include "io/source.h"

#define archive_close  mha_archive_close
#define archive_open   mha_archive_open
#define archive_status mha_archive_status

enum {
    ARCHIVE_NAME_SHOWN = 256,    /* bytes of a member's name in a message */
    ARCHIVE_MEMBERS_MOST = 4096, /* that are read, and so written */
    ARCHIVE_NAMES_MOST = 400000  /* bytes of all names, written: what is written can be read */
};

/* libzip keeps a pointer to it while it is open. */
typedef struct archive {
    zip_t *zip;
    uint64_t count; /* of members */
    input_file file;
    uint64_t position;  /* of the next byte that libzip reads */
    uint64_t allowance; /* bytes that libzip may still read */
    zip_error_t cause;
} archive;

/* Opens path and reads its directory. MHA_ERROR_FILE, _FORMAT or _MEMORY naming the path, and then
 * nothing is open. Refused are more than ARCHIVE_MEMBERS_MOST members, directories that disagree with the local headers of their members, and
 * names that two members have. */
mha_status archive_open(archive *a, const char *path, mha_error *error);
void archive_close(archive *a);

/* The status that a failure of libzip while reading is reported as. */
mha_status archive_status(zip_error_t *cause);

#endif
