/* Files that users name. */
#ifndef TRAIN_FILES_H
#define TRAIN_FILES_H

#include <stdio.h>

#include <mha/status.h>

/* Opens a regular file for reading; anything else could block, or never end. what stands in front of
 * the path in messages, such as "word list ", or is "". *fd is -1 on failure. */
mha_status open_regular(int *fd, const char *what, const char *path, mha_error *error);

/* The same as a stream; *file is NULL on failure. */
mha_status open_stream(FILE **file, const char *path, mha_error *error);

#endif
