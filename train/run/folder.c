#include "run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"
#include "run/checkpoint.h"
#include "run/paths.h"
#include "run/litter.h"

static mha_status system_failed(const char *path, mha_error *error) {
    return mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
}

/* The length of the path without its last component: 0 when there is no other. */
static size_t parent_length(const char *path, size_t length) {
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Removes the folders of the path that are longer than made_from, as far as they are empty. */
static void remove_folders(const struct run_folder *folder) {
    char *path = strdup(folder->path);
    for (size_t length = strlen(folder->path); path != NULL && length > folder->made_from;
         length = parent_length(path, length)) {
        path[length] = '\0';
        rmdir(path);
    }
    free(path);
}

static bool flush(int folder) {
    return fsync(folder) == 0 || errno == EINVAL; /* EINVAL: a file system that has no such flush */
}

/* Flushes the folder above; one that must not be read cannot be. */
static bool flush_above(const char *path) {
    const size_t length = parent_length(path, strlen(path));
    char *above = length > 0 ? strndup(path, length) : strdup(path[0] == '/' ? "/" : ".");
    const int descriptor = above == NULL ? -1 : open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(above);
    if (descriptor < 0) {
        return true;
    }
    const bool flushed = flush(descriptor);
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return flushed;
}

/* Makes one folder; made_from becomes the length of the path above the first that was missing. */
static bool make_folder(struct run_folder *folder, const char *path) {
    if (mkdir(path, 0777) != 0) {
        return false;
    }
    const size_t above = parent_length(path, strlen(path));
    folder->made_from = above < folder->made_from ? above : folder->made_from;
    return flush_above(path);
}

/* Makes the folders above the last one. */
static mha_status create_parents(struct run_folder *folder, mha_error *error) {
    char *path = strdup(folder->path);
    if (path == NULL) {
        return no_memory(error);
    }
    mha_status status = MHA_OK;
    for (char *slash = strchr(path + 1, '/'); slash != NULL && status == MHA_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!make_folder(folder, path) && errno != EEXIST) {
            status = system_failed(path, error);
        }
        *slash = '/';
    }
    free(path);
    return status;
}

/* Whether the folder, or that folder in it, holds a run.json that this program wrote. */
static bool holds_our_run(const char *folder, const char *inner) {
    char *place = run_path(folder, inner);
    char *path = place == NULL ? NULL : run_path(place, RUN_JSON);
    FILE *file = NULL;
    json_t *root = NULL;
    if (path != NULL && open_stream(&file, path, NULL) == MHA_OK) {
        root = json_loadf(file, JSON_REJECT_DUPLICATES, NULL);
        fclose(file);
    }
    const char *program = json_string_value(json_object_get(root, "program"));
    const bool ours = program != NULL && strcmp(program, "mha") == 0;
    json_decref(root);
    free(path);
    free(place);
    return ours;
}

/* Whether a folder that exists may become the run's. */
static mha_status check_existing(const char *folder, bool force, mha_error *error) {
    if (!force) {
        return mha_fail(error, MHA_ERROR_FILE,
            "%s exists; choose another folder with -o, or replace a run with --force", folder);
    }
    if (!holds_our_run(folder, ".") && !holds_our_run(folder, RUN_STAGING) &&
        !folder_is_free(folder)) {
        return mha_fail(error, MHA_ERROR_FILE,
            "%s exists and holds no run.json of mha; --force does not replace it", folder);
    }
    return MHA_OK;
}

static mha_status open_locked(struct run_folder *folder, mha_error *error) {
    folder->descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->descriptor < 0) {
        return system_failed(folder->path, error);
    }
    if (flock(folder->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        run_folder_close(folder);
        return mha_fail(
            error, MHA_ERROR_FILE, "%s is in use: another process trains in it", folder->path);
    }
    return MHA_OK;
}

static bool staging_is_complete(const char *folder) {
    return folder_has(folder, RUN_STAGING "/" RUN_CHECKPOINT);
}

/* A staged checkpoint takes the place of one that may be good, so it must be one. */
static mha_status check_staged(const char *folder, mha_error *error) {
    char *staging = run_path(folder, RUN_STAGING);
    struct checkpoint staged;
    const mha_status status =
        staging == NULL ? no_memory(error) : checkpoint_read(&staged, staging, error);
    if (status == MHA_OK) {
        checkpoint_free(&staged);
    } else if (error != NULL && staging != NULL) {
        const mha_error reason = *error;
        mha_fail(error, status, "%s; remove %s to do without it", reason.text, staging);
    }
    free(staging);
    return status;
}

/* What a killed process left becomes a whole run, or goes. */
static mha_status tidy(const struct run_folder *folder, mha_error *error) {
    folder_remove_temporaries(folder->path);
    if (staging_is_complete(folder->path)) {
        const mha_status status = check_staged(folder->path, error);
        return status == MHA_OK ? run_folder_publish(folder, error) : status;
    }
    folder_remove_staging(folder->path);
    return MHA_OK;
}

static mha_status make_staging(const char *folder, mha_error *error) {
    char *staging = run_path(folder, RUN_STAGING);
    mha_status status = MHA_OK;
    if (staging == NULL) {
        status = no_memory(error);
    } else if (mkdir(staging, 0777) != 0) {
        struct stat there;
        const bool exists = errno == EEXIST && lstat(staging, &there) == 0;
        if (!exists) {
            status = system_failed(staging, error);
        } else if (!S_ISDIR(there.st_mode)) {
            status = mha_fail(error, MHA_ERROR_FILE, "%s is in the way: it is no folder", staging);
        }
    }
    free(staging);
    return status;
}

static mha_status begin(struct run_folder *folder, const char *path, mha_error *error) {
    *folder = (struct run_folder){.path = path, .made_from = strlen(path), .descriptor = -1};
    return path[0] != '\0'
               ? MHA_OK
               : mha_fail(error, MHA_ERROR_FILE, "the name of the run's folder is empty");
}

mha_status run_folder_create(
    struct run_folder *folder, const char *path, bool force, mha_error *error) {
    mha_status status = begin(folder, path, error);
    if (status == MHA_OK) {
        status = create_parents(folder, error);
    }
    if (status == MHA_OK && !make_folder(folder, path)) {
        status = errno == EEXIST ? check_existing(path, force, error) : system_failed(path, error);
    }
    if (status == MHA_OK) {
        status = open_locked(folder, error);
    }
    if (status == MHA_OK) {
        status = tidy(folder, error);
    }
    if (status == MHA_OK) {
        status = make_staging(path, error);
    }
    if (status != MHA_OK) {
        remove_folders(folder);
        run_folder_close(folder);
    }
    return status;
}

mha_status run_folder_open(struct run_folder *folder, const char *path, mha_error *error) {
    mha_status status = begin(folder, path, error);
    if (status == MHA_OK) {
        status = open_locked(folder, error);
    }
    if (status == MHA_OK && !staging_is_complete(path) && !folder_has(path, RUN_CHECKPOINT)) {
        status = mha_fail(error, MHA_ERROR_FILE,
            "%s holds no " RUN_CHECKPOINT " to go on from; train anew, without --resume", path);
    }
    if (status == MHA_OK) {
        status = tidy(folder, error);
    }
    if (status != MHA_OK) {
        run_folder_close(folder);
    }
    return status;
}

/* Moves one staged file; when there is none it has been moved before. */
static mha_status publish_file(const char *folder, const char *name, mha_error *error) {
    char *staging = run_path(folder, RUN_STAGING);
    char *from = staging == NULL ? NULL : run_path(staging, name), *to = run_path(folder, name);
    mha_status status = MHA_OK;
    if (from == NULL || to == NULL) {
        status = no_memory(error);
    } else if (rename(from, to) != 0 && errno != ENOENT) {
        status = system_failed(to, error);
    }
    free(staging);
    free(from);
    free(to);
    return status;
}

/* The staging folder itself is on the disk before anything moves out of it. */
mha_status run_folder_publish(const struct run_folder *folder, mha_error *error) {
    mha_status status = flush(folder->descriptor) ? MHA_OK : system_failed(folder->path, error);
    for (size_t i = 0; i < RUN_FILE_COUNT && status == MHA_OK; i++) {
        const bool last = i + 1 == RUN_FILE_COUNT;
        if (last && !flush(folder->descriptor)) { /* the others first, on the disk too */
            return system_failed(folder->path, error);
        }
        status = publish_file(folder->path, run_files[i], error);
    }
    if (status == MHA_OK && !flush(folder->descriptor)) {
        status = system_failed(folder->path, error);
    }
    if (status == MHA_OK) {
        folder_remove_staging(folder->path);
    }
    return status;
}

void run_folder_abandon(struct run_folder *folder) {
    folder_remove_staging(folder->path);
    remove_folders(folder);
    run_folder_close(folder);
}

void run_folder_close(struct run_folder *folder) {
    if (folder->descriptor >= 0) {
        close(folder->descriptor);
    }
    folder->descriptor = -1;
}

mha_status run_folder_check(const char *path, mha_error *error) {
    if (staging_is_complete(path)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: the start of this run was cut short; `mha train --resume -o %s` goes on with it",
            path, path);
    }
    return MHA_OK;
}
