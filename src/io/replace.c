#include "io/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mha/io.h>

#include <mha/status.h>

enum {
    LINKS_MOST = 40,       /* symbolic links that are followed, as in the kernel */
    NAME_SHOWN = 200,      /* bytes of the target's name that the temporary name repeats */
    TEMPORARY_SIZE = 256,  /* the longest name most file systems take */
    TEMPORARY_TRIES = 1000 /* names that may be taken already */
};

struct replacement {
    const char *path;               /* as the caller said it, for messages */
    char target[PATH_MAX];          /* path with the links of its last part followed */
    const char *name;               /* the last part of target */
    char temporary[TEMPORARY_SIZE]; /* name in the same folder; "" when there is no such file */
    int folder, file;               /* descriptors, or -1 */
};

/* MHA_ERROR_FILE with the reason that errno holds. */
static mha_status fail(mha_error *error, const replacement *r) {
    mha_fail(error, MHA_ERROR_FILE, "cannot write %s: %s", r->path, strerror(errno));
    return MHA_ERROR_FILE;
}

/* Puts what the link at target points to in its place; a relative one starts from the link's
 * folder. 1: done; 0: target is no link; -1 with errno set: it does not fit. */
static int follow_link(char target[PATH_MAX]) {
    char link[PATH_MAX];
    ssize_t length = readlink(target, link, sizeof link);
    if (length < 0) {
        return 0;
    }
    char *slash = strrchr(target, '/');
    size_t folder = slash == NULL || link[0] == '/' ? 0 : (size_t)(slash - target) + 1;
    if (folder + (size_t)length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(target + folder, link, (size_t)length);
    target[folder + (size_t)length] = '\0';
    return 1;
}

/* Fills target and name. Links in the folders of path are the system's to follow. */
static mha_status resolve(replacement *r, mha_error *error) {
    size_t length = strlen(r->path);
    if (length == 0 || length >= PATH_MAX) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return fail(error, r);
    }
    memcpy(r->target, r->path, length + 1);
    int followed = 1;
    for (int links = 0; followed == 1 && links <= LINKS_MOST; links++) {
        followed = follow_link(r->target);
    }
    if (followed != 0) {
        errno = followed == 1 ? ELOOP : errno;
        return fail(error, r);
    }
    char *slash = strrchr(r->target, '/');
    r->name = slash == NULL ? r->target : slash + 1;
    if (r->name[0] == '\0') {
        errno = EISDIR;
        return fail(error, r);
    }
    return MHA_OK;
}

static mha_status open_folder(replacement *r, mha_error *error) {
    char folder[PATH_MAX] = ".";
    size_t length = (size_t)(r->name - r->target); /* with its slash */
    if (length > 0) {
        memcpy(folder, r->target, length);
        folder[length] = '\0';
    }
    r->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return r->folder < 0 ? fail(error, r) : MHA_OK;
}

/* Looks at what stands at the target. */
static mha_status inspect_target(
    bool *exists, struct stat *target, const replacement *r, mha_error *error) {
    *exists = fstatat(r->folder, r->name, target, 0) == 0;
    if (!*exists) {
        return errno == ENOENT ? MHA_OK : fail(error, r);
    }
    if (!S_ISREG(target->st_mode)) {
        return mha_fail(error, MHA_ERROR_FILE, "cannot write %s: it is %s", r->path,
            S_ISDIR(target->st_mode) ? "a folder" : "not a regular file");
    }
    if (faccessat(r->folder, r->name, W_OK, AT_EACCESS) != 0) {
        return fail(error, r);
    }
    return MHA_OK;
}

static mha_status open_temporary(replacement *r, mha_error *error) {
    for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
        snprintf(r->temporary, sizeof r->temporary, ".%.*s.%ld-%u.tmp", (int)NAME_SHOWN, r->name,
            (long)getpid(), i);
        r->file =
            openat(r->folder, r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)0666);
        if (r->file >= 0) {
            return MHA_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    r->temporary[0] = '\0';
    return fail(error, r);
}

/* Whether a change of owner or group that has this result may go on: who may not give files away, or
 * give them to one whom this system has no number for, keeps them. */
static bool is_given(int result) {
    return result == 0 || errno == EPERM || errno == EINVAL;
}

/* The new file gets permissions, owner and group of the old one; the group also where the owner cannot
 * be kept. */
static mha_status keep_ownership(const replacement *r, const struct stat *old, mha_error *error) {
    const mode_t mode = old->st_mode & 0777;
    struct stat file;
    if (fstat(r->file, &file) != 0 ||
        ((file.st_mode & 0777) != mode && fchmod(r->file, mode) != 0)) {
        return fail(error, r);
    }
    if ((file.st_gid != old->st_gid && !is_given(fchown(r->file, (uid_t)-1, old->st_gid))) ||
        (file.st_uid != old->st_uid && !is_given(fchown(r->file, old->st_uid, (gid_t)-1)))) {
        return fail(error, r);
    }
    return MHA_OK;
}

mha_status replacement_begin(replacement **result, const char *path, mha_error *error) {
    *result = NULL;
    replacement *r = calloc(1, sizeof *r);
    if (r == NULL) {
        mha_fail(error, MHA_ERROR_MEMORY, "no memory to write %s", path);
        return MHA_ERROR_MEMORY;
    }
    r->path = path;
    r->folder = -1;
    r->file = -1;
    bool exists = false;
    struct stat old;
    mha_status status = resolve(r, error);
    if (status == MHA_OK) {
        status = open_folder(r, error);
    }
    if (status == MHA_OK) {
        status = inspect_target(&exists, &old, r, error);
    }
    if (status == MHA_OK) {
        status = open_temporary(r, error);
    }
    if (status == MHA_OK && exists) {
        status = keep_ownership(r, &old, error);
    }
    if (status != MHA_OK) {
        replacement_abandon(r);
        return status;
    }
    *result = r;
    return MHA_OK;
}

mha_status replacement_write(replacement *r, const void *bytes, size_t size, mha_error *error) {
    const unsigned char *at = bytes;
    while (size > 0) {
        ssize_t written = write(r->file, at, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return fail(error, r);
        }
        at += written;
        size -= (size_t)written;
    }
    return MHA_OK;
}

/* The file's content first, then its name: after a power cut the name stands for the whole file. */
mha_status replacement_commit(replacement *r, mha_error *error) {
    mha_status status = MHA_OK;
    if (fsync(r->file) != 0) {
        status = fail(error, r);
    } else {
        int closed = close(r->file);
        r->file = -1;
        if (closed != 0 || renameat(r->folder, r->temporary, r->folder, r->name) != 0) {
            status = fail(error, r);
        } else {
            r->temporary[0] = '\0';
            /* EINVAL: a file system that has no such flush */
            if (fsync(r->folder) != 0 && errno != EINVAL) {
                status = fail(error, r);
            }
        }
    }
    replacement_abandon(r);
    return status;
}

void replacement_abandon(replacement *r) {
    if (r->file >= 0) {
        close(r->file);
    }
    if (r->temporary[0] != '\0') {
        unlinkat(r->folder, r->temporary, 0);
    }
    if (r->folder >= 0) {
        close(r->folder);
    }
    free(r);
}

mha_status mha_file_replace(const char *path, const void *bytes, size_t size, mha_error *error) {
    replacement *r = NULL;
    mha_status status = replacement_begin(&r, path, error);
    if (status != MHA_OK) {
        return status;
    }
    status = replacement_write(r, bytes, size, error);
    if (status != MHA_OK) {
        replacement_abandon(r);
        return status;
    }
    return replacement_commit(r, error);
}
