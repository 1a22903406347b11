/* Names of files, compared. */
#ifndef TRAIN_SAME_FILE_H
#define TRAIN_SAME_FILE_H

#include <stdbool.h>

/* Whether writing to both paths would write one file, be it there already or not. Paths that cannot
 * be followed are not the same. */
bool is_same_file(const char *first, const char *second);

#endif
