/* The folder of a run: made, filled at once, or left as it was. */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"

static const char *const run_files[] = {"run.json", "log.tsv", "weights.npz"};
enum { RUN_FILE_COUNT = sizeof run_files / sizeof *run_files };

char *run_path(const char *folder, const char *name) {
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s", folder, name);
    }
    return path;
}

static void remove_files(const char *folder) {
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        char *path = run_path(folder, run_files[i]);
        if (path != NULL) {
            unlink(path);
        }
        free(path);
    }
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
static void remove_folders(const char *folder, size_t made_from) {
    char *path = strdup(folder);
    for (size_t length = strlen(folder); path != NULL && length > made_from;
         length = parent_length(path, length)) {
        path[length] = '\0';
        rmdir(path);
    }
    free(path);
}

void run_abandon(const char *folder, size_t made_from) {
    char *staging = run_path(folder, RUN_STAGING);
    if (staging != NULL) {
        remove_files(staging);
        rmdir(staging);
    }
    free(staging);
    remove_folders(folder, made_from);
}

/* Makes one folder; *made_from becomes the length of the path above the first that was missing. */
static bool make_folder(size_t *made_from, const char *path) {
    if (mkdir(path, 0777) != 0) {
        return false;
    }
    const size_t above = parent_length(path, strlen(path));
    *made_from = above < *made_from ? above : *made_from;
    return true;
}

/* Makes the folders above the last one. */
static mha_status create_parents(size_t *made_from, const char *folder, mha_error *error) {
    char *path = strdup(folder);
    if (path == NULL) {
        return no_memory(error);
    }
    mha_status status = MHA_OK;
    for (char *slash = strchr(path + 1, '/'); slash != NULL && status == MHA_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!make_folder(made_from, path) && errno != EEXIST) {
            status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
        }
        *slash = '/';
    }
    free(path);
    return status;
}

/* Whether the folder holds nothing but what a run leaves that was ended while it started. */
static bool is_empty(const char *folder) {
    DIR *entries = opendir(folder);
    bool empty = entries != NULL;
    const struct dirent *entry;
    while (empty && (entry = readdir(entries)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, RUN_STAGING) == 0;
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return empty;
}

/* Whether the folder holds a run.json that this program wrote. */
static bool holds_our_run(const char *folder) {
    char *path = run_path(folder, "run.json");
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
    return ours;
}

static mha_status make_staging(const char *folder, mha_error *error) {
    char *staging = run_path(folder, RUN_STAGING);
    mha_status status = MHA_OK;
    if (staging == NULL) {
        status = no_memory(error);
    } else if (mkdir(staging, 0777) != 0 && errno != EEXIST) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", staging, strerror(errno));
    }
    free(staging);
    return status;
}

/* Whether a folder that exists may become the run's. */
static mha_status check_existing(const char *folder, bool force, mha_error *error) {
    if (!force) {
        return mha_fail(error, MHA_ERROR_FILE,
            "%s exists; choose another folder with -o, or replace a run with --force", folder);
    }
    if (!holds_our_run(folder) && !is_empty(folder)) {
        return mha_fail(error, MHA_ERROR_FILE,
            "%s exists and holds no run.json of mha; --force does not replace it", folder);
    }
    return MHA_OK;
}

mha_status run_create_folder(size_t *made_from, const char *folder, bool force, mha_error *error) {
    *made_from = strlen(folder);
    if (folder[0] == '\0') {
        return mha_fail(error, MHA_ERROR_FILE, "the name of the run's folder is empty");
    }
    mha_status status = create_parents(made_from, folder, error);
    if (status == MHA_OK && !make_folder(made_from, folder)) {
        status = errno == EEXIST
                     ? check_existing(folder, force, error)
                     : mha_fail(error, MHA_ERROR_FILE, "%s: %s", folder, strerror(errno));
    }
    if (status == MHA_OK) {
        status = make_staging(folder, error);
    }
    if (status != MHA_OK) {
        remove_folders(folder, *made_from);
    }
    return status;
}

mha_status run_publish(const char *folder, mha_error *error) {
    char *staging = run_path(folder, RUN_STAGING);
    mha_status status = staging == NULL ? no_memory(error) : MHA_OK;
    for (size_t i = 0; i < RUN_FILE_COUNT && status == MHA_OK; i++) {
        char *from = run_path(staging, run_files[i]), *to = run_path(folder, run_files[i]);
        if (from == NULL || to == NULL) {
            status = no_memory(error);
        } else if (rename(from, to) != 0) {
            status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", to, strerror(errno));
        }
        free(from);
        free(to);
    }
    if (status == MHA_OK) {
        rmdir(staging);
    }
    free(staging);
    return status;
}
