#include "run/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *run_path(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", folder, name);
    }
    return path;
}
