/* Bytes that come one after the other: of a file, or of a member of a zip file. Readers of formats
 * stand on this, so that they need not know which. */
#ifndef IO_SOURCE_H
#define IO_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include <mha/status.h>

#define file_close mha_file_close
#define file_open  mha_file_open
#define file_read  mha_file_read

typedef struct byte_source {
    /* Fills bytes with exactly size more. Else MHA_ERROR_FORMAT when there are fewer, or _FILE, with
     * a text that names neither file nor member. */
    mha_status (*read)(void *self, void *bytes, size_t size, mha_error *error);
    void *self;
    uint64_t left; /* bytes not yet read, as the directory of the zip file or the system says */
} byte_source;

/* A regular file opened for reading. */
typedef struct input_file {
    int descriptor; /* -1 when closed or given away */
    uint64_t size;
} input_file;

/* Opens path, which must be a regular file that is not empty: a FIFO is refused, not waited for.
 * MHA_ERROR_FILE or _FORMAT naming the path. */
mha_status file_open(input_file *file, const char *path, mha_error *error);
void file_close(input_file *file);

/* byte_source.read of an input_file, which is self. */
mha_status file_read(void *self, void *bytes, size_t size, mha_error *error);

#endif
