/* A temporary folder for tests of files. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stddef.h>

/* Checked fixture of a TCase: makes a fresh folder for a test, and removes it with all that is in
 * it. After a failed test it stays, to be looked at. */
void folder_make(void);
void folder_remove(void);

/* The path of a name in the folder, or of the folder itself for "". The last eight answers stay
 * valid. */
const char *folder_path(const char *name);

/* Files and folders in the folder, hidden ones included. */
size_t folder_count(void);

void folder_write(const char *name, const void *bytes, size_t size);

/* The content of a file, to be freed. */
unsigned char *folder_read(size_t *size, const char *name);

/* Whether a file holds these bytes. */
int folder_holds(const char *name, const void *bytes, size_t size);

#endif
