#include "same_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 }; /* symbolic links that are followed, as in the kernel */

/* A file that is not there: its folder and its name in it. */
struct place {
    char path[PATH_MAX];
    const char *name; /* the last part of path */
    struct stat folder;
};

/* Puts what the link at path points to in its place; a relative one starts from the link's folder.
 * False when path is no link, or the result too long. */
static bool follow_link(char path[PATH_MAX]) {
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link);
    const char *slash = strrchr(path, '/');
    if (length <= 0) {
        return false;
    }
    size_t folder = slash == NULL || link[0] == '/' ? 0 : (size_t)(slash - path) + 1;
    if (folder + (size_t)length >= PATH_MAX) {
        return false;
    }
    memcpy(path + folder, link, (size_t)length);
    path[folder + (size_t)length] = '\0';
    return true;
}

static bool find_place(struct place *place, const char *path) {
    if (strlen(path) >= sizeof place->path) {
        return false;
    }
    snprintf(place->path, sizeof place->path, "%s", path);
    int links = 0;
    while (links < LINKS_MOST && follow_link(place->path)) {
        links++;
    }
    const char *slash = strrchr(place->path, '/');
    char folder[PATH_MAX] = ".";
    place->name = place->path;
    if (slash != NULL) {
        place->name = slash + 1;
        size_t length = (size_t)(place->name - place->path);
        memcpy(folder, place->path, length);
        folder[length] = '\0';
    }
    return stat(folder, &place->folder) == 0;
}

static bool is_same_inode(const struct stat *first, const struct stat *second) {
    return first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

bool is_same_file(const char *first, const char *second) {
    struct stat file[2];
    bool exists = stat(first, &file[0]) == 0;
    if (exists != (stat(second, &file[1]) == 0)) {
        return false;
    }
    if (exists) {
        return is_same_inode(&file[0], &file[1]);
    }
    struct place place[2];
    return find_place(&place[0], first) && find_place(&place[1], second) &&
           is_same_inode(&place[0].folder, &place[1].folder) &&
           strcmp(place[0].name, place[1].name) == 0;
}
