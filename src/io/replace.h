/* Writing a file as a whole: mha_file_replace in steps, for content that comes in pieces. */
#ifndef IO_REPLACE_H
#define IO_REPLACE_H

#include <stddef.h>

#include <mha/status.h>

#define replacement_abandon mha_replacement_abandon
#define replacement_begin   mha_replacement_begin
#define replacement_commit  mha_replacement_commit
#define replacement_write   mha_replacement_write

/* A file that is being written under a temporary name beside its target. */
typedef struct replacement replacement;

/* Opens the temporary file. On failure *r is NULL and nothing is left. Every replacement that was
 * begun is ended by exactly one commit or abandon. path must stay alive until then. */
mha_status replacement_begin(replacement **r, const char *path, mha_error *error);

/* Appends bytes. After a failure only abandon makes sense. */
mha_status replacement_write(replacement *r, const void *bytes, size_t size, mha_error *error);

/* Flushes, puts the file in the target's place and releases r, whatever happens. */
mha_status replacement_commit(replacement *r, mha_error *error);

/* Removes the temporary file and releases r. */
void replacement_abandon(replacement *r);

#endif
