#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

mha_status open_regular(int *fd, const char *what, const char *path, mha_error *error) {
    struct stat file;
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    mha_status status = MHA_OK;
    if (*fd < 0 || fstat(*fd, &file) != 0) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s%s: %s", what, path, strerror(errno));
    } else if (!S_ISREG(file.st_mode)) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s%s is %s, not a file", what, path,
            S_ISDIR(file.st_mode) ? "a directory" : "a device or a pipe");
    }
    if (status != MHA_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

mha_status open_stream(FILE **file, const char *path, mha_error *error) {
    int fd;
    *file = NULL;
    const mha_status status = open_regular(&fd, "", path, error);
    if (status != MHA_OK) {
        return status;
    }
    *file = fdopen(fd, "rb");
    if (*file == NULL) {
        close(fd);
        return mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
    }
    return MHA_OK;
}
