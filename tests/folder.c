#include "folder.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, PATHS = 8 };

static char folder[PATH_SIZE];

void folder_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/mha-folder-XXXXXX", base != NULL ? base : "/tmp");
    ck_assert_msg(mkdtemp(folder) != NULL, "no folder %s", folder);
}

const char *folder_path(const char *name) {
    static char paths[PATHS][PATH_SIZE + 256];
    static size_t next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s%s%s", folder, *name == '\0' ? "" : "/", name);
    return path;
}

/* The next entry of a directory besides . and .. */
static const char *next_name(DIR *directory) {
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            return entry->d_name;
        }
    }
    return NULL;
}

/* Removes what is in the directory at path, folders with their files. Links are not followed: what
 * cannot be removed at once is a folder that is not empty. */
static void make_empty(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    for (const char *name; (name = next_name(directory)) != NULL;) {
        char inner[PATH_SIZE + 256];
        snprintf(inner, sizeof inner, "%s/%s", path, name);
        if (remove(inner) != 0) {
            make_empty(inner);
            remove(inner);
        }
    }
    closedir(directory);
}

void folder_remove(void) {
    chmod(folder, 0700);
    make_empty(folder);
    ck_assert_msg(rmdir(folder) == 0, "%s is not empty", folder);
}

size_t folder_count(void) {
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    size_t count = 0;
    while (next_name(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

void folder_write(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(folder_path(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

unsigned char *folder_read(size_t *size, const char *name) {
    FILE *file = fopen(folder_path(name), "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

int folder_holds(const char *name, const void *bytes, size_t size) {
    size_t have = 0;
    unsigned char *content = folder_read(&have, name);
    int same = have == size && memcmp(content, bytes, size) == 0;
    free(content);
    return same;
}
