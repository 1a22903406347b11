#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mha_status refuse(input_file *file, const char *path, mha_error *error) {
    mha_fail(error, MHA_ERROR_FILE, "cannot read %s: %s", path, strerror(errno));
    file_close(file);
    return MHA_ERROR_FILE;
}

/* O_NONBLOCK: a FIFO without a writer is refused instead of waited for. */
mha_status file_open(input_file *file, const char *path, mha_error *error) {
    struct stat status;
    file->size = 0;
    file->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0) {
        return refuse(file, path, error);
    }
    if (!S_ISREG(status.st_mode)) {
        file_close(file);
        return mha_fail(error, MHA_ERROR_FILE, "cannot read %s: it is %s", path,
            S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    }
    if (status.st_size == 0) {
        file_close(file);
        return mha_fail(error, MHA_ERROR_FORMAT, "%s is empty: it has 0 bytes", path);
    }
    file->size = (uint64_t)status.st_size;
    return MHA_OK;
}

void file_close(input_file *file) {
    if (file->descriptor >= 0) {
        close(file->descriptor);
        file->descriptor = -1;
    }
}

/* The file had more bytes when it was opened, else nobody would ask for them. */
static mha_status ended_early(const input_file *file, mha_error *error) {
    const off_t end = lseek(file->descriptor, 0, SEEK_CUR);
    return mha_fail(error, MHA_ERROR_FORMAT, "the file ends after %lld bytes, not %llu",
        (long long)end, (unsigned long long)file->size);
}

mha_status file_read(void *self, void *bytes, size_t size, mha_error *error) {
    const input_file *file = self;
    unsigned char *at = bytes;
    while (size > 0) {
        const ssize_t got = read(file->descriptor, at, size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return mha_fail(error, MHA_ERROR_FILE, "cannot read: %s", strerror(errno));
        }
        if (got == 0) {
            return ended_early(file, error);
        }
        at += got;
        size -= (size_t)got;
    }
    return MHA_OK;
}
