#include "run/litter.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/paths.h"

const char *const run_files[RUN_FILE_COUNT] = {RUN_LOG, RUN_WEIGHTS, RUN_JSON, RUN_CHECKPOINT};

bool folder_has(const char *folder, const char *name) {
    struct stat entry;
    char *path = run_path(folder, name);
    const bool has = path != NULL && lstat(path, &entry) == 0;
    free(path);
    return has;
}

/* Passes over digits, of which there must be some. */
static bool pass_number(const char **at) {
    const size_t digits = strspn(*at, "0123456789");
    *at += digits;
    return digits > 0;
}

/* Whether mha_file_replace makes that name for a file of a run: ".FILE.PID-N.tmp". */
static bool is_temporary(const char *name) {
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        const size_t length = strlen(run_files[i]);
        const char *at = name + 1 + length + 1;
        if (name[0] == '.' && strncmp(name + 1, run_files[i], length) == 0 &&
            name[1 + length] == '.' && pass_number(&at) && *at++ == '-' && pass_number(&at) &&
            strcmp(at, ".tmp") == 0) {
            return true;
        }
    }
    return false;
}

bool folder_is_free(const char *folder) {
    DIR *entries = opendir(folder);
    bool free_of_others = entries != NULL;
    const struct dirent *entry;
    while (free_of_others && (entry = readdir(entries)) != NULL) {
        free_of_others = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                         strcmp(entry->d_name, RUN_STAGING) == 0 || is_temporary(entry->d_name);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return free_of_others;
}

void folder_remove_temporaries(const char *folder) {
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (is_temporary(entry->d_name)) {
            unlinkat(dirfd(entries), entry->d_name, 0);
        }
    }
    closedir(entries);
}

void folder_remove_staging(const char *folder) {
    char *staging = run_path(folder, RUN_STAGING);
    if (staging == NULL) {
        return;
    }
    folder_remove_temporaries(staging);
    for (size_t i = RUN_FILE_COUNT; i-- > 0;) { /* the checkpoint first: what is left is litter */
        char *path = run_path(staging, run_files[i]);
        if (path != NULL) {
            unlink(path);
        }
        free(path);
    }
    rmdir(staging);
    free(staging);
}
