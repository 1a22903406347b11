/* What has to happen in a process of its own. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <stddef.h>

/* The exit status of a child, which is what attempt(self) returns in it. */
int status_of_child(int (*attempt)(const void *self), const void *self);

/* From now on the files of this process end at so many bytes, as on a full disk. */
void limit_file_size(size_t bytes);

#endif
