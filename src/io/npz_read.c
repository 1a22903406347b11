#include <mha/io.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include <mha/status.h>
#include "io/npy.h"

enum {
    MEMBERS_MOST = 4096,
    DEFLATE_RATIO_MOST = 1032 /* no deflated byte yields more bytes than this */
};

typedef struct entry {
    mha_array array; /* its name and data are the two below */
    char *name;
    unsigned char *member; /* the whole .npy file, its data moved to the front to be aligned */
} entry;

struct mha_npz {
    size_t count;
    entry *entries;
};

/* A file being read. */
typedef struct reading {
    const char *path;
    zip_t *zip;
    uint64_t size;   /* bytes of the file */
    uint64_t packed; /* bytes in the file of the members read so far */
    mha_error *error;
} reading;

static mha_status zip_status(int code) {
    switch (code) {
    case ZIP_ER_MEMORY:
        return MHA_ERROR_MEMORY;
    case ZIP_ER_OPEN:
    case ZIP_ER_READ:
    case ZIP_ER_SEEK:
        return MHA_ERROR_FILE;
    default:
        return MHA_ERROR_FORMAT;
    }
}

/* ---- one member ---- */

/* Refuses what a member's entry in the zip directory promises but the file cannot hold, before any
 * memory is taken for it. */
static mha_status check_member(reading *r, const zip_stat_t *member) {
    if (member->encryption_method != ZIP_EM_NONE) {
        return mha_fail(
            r->error, MHA_ERROR_FORMAT, "%s: member %s is encrypted", r->path, member->name);
    }
    if (member->comp_method != ZIP_CM_STORE && member->comp_method != ZIP_CM_DEFLATE) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: member %s has compression method %d, not 0 (stored) or 8 (deflated)", r->path,
            member->name, (int)member->comp_method);
    }
    if (member->comp_size > r->size - r->packed) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: member %s claims %llu bytes of a file of %llu bytes, %llu of them taken", r->path,
            member->name, (unsigned long long)member->comp_size, (unsigned long long)r->size,
            (unsigned long long)r->packed);
    }
    r->packed += member->comp_size;
    bool stored = member->comp_method == ZIP_CM_STORE;
    if (stored ? member->size != member->comp_size
               : member->size / DEFLATE_RATIO_MOST > member->comp_size) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: member %s claims to unpack %llu bytes from %llu", r->path, member->name,
            (unsigned long long)member->size, (unsigned long long)member->comp_size);
    }
    return MHA_OK;
}

/* Reads exactly size bytes and the end behind them, which is where libzip compares the checksum. */
static mha_status unpack(
    unsigned char *bytes, size_t size, const char *name, zip_file_t *file, reading *r) {
    size_t have = 0;
    zip_int64_t got = 0;
    while (have < size && (got = zip_fread(file, bytes + have, size - have)) > 0) {
        have += (size_t)got;
    }
    unsigned char beyond;
    if (got >= 0 && have == size) {
        got = zip_fread(file, &beyond, 1);
    }
    if (got < 0) {
        zip_error_t *cause = zip_file_get_error(file);
        return mha_fail(r->error, zip_status(zip_error_code_zip(cause)),
            "%s: member %s, after %zu of %zu bytes: %s", r->path, name, have, size,
            zip_error_strerror(cause));
    }
    if (have < size || got > 0) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s: member %s has %s bytes than the %zu it claims", r->path, name,
            got > 0 ? "more" : "fewer", size);
    }
    return MHA_OK;
}

static mha_status read_member(
    unsigned char **bytes, size_t *size, const char *name, zip_uint64_t index, reading *r) {
    const zip_uint64_t known =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t member;
    if (zip_stat_index(r->zip, index, 0, &member) != 0 || (member.valid & known) != known) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "%s: member %s has no size", r->path, name);
    }
    mha_status status = check_member(r, &member);
    if (status != MHA_OK) {
        return status;
    }
    *size = (size_t)member.size;
    *bytes = member.size < PTRDIFF_MAX ? malloc(*size + 1) : NULL;
    if (*bytes == NULL) {
        return mha_fail(r->error, MHA_ERROR_MEMORY, "%s: no memory for the %llu bytes of member %s",
            r->path, (unsigned long long)member.size, name);
    }
    zip_file_t *file = zip_fopen_index(r->zip, index, 0);
    if (file == NULL) {
        zip_error_t *cause = zip_get_error(r->zip);
        return mha_fail(r->error, zip_status(zip_error_code_zip(cause)), "%s: member %s: %s",
            r->path, name, zip_error_strerror(cause));
    }
    status = unpack(*bytes, *size, name, file, r);
    zip_fclose(file);
    return status;
}

/* Fills one entry. Whatever it took is the caller's to free, also on failure. */
static mha_status read_entry(entry *e, const char *name, zip_uint64_t index, reading *r) {
    size_t length = strlen(name) - strlen(".npy");
    e->name = malloc(length + 1);
    if (e->name == NULL) {
        return mha_fail(
            r->error, MHA_ERROR_MEMORY, "%s: no memory for the name of member %s", r->path, name);
    }
    memcpy(e->name, name, length);
    e->name[length] = '\0';
    size_t size = 0;
    mha_status status = read_member(&e->member, &size, name, index, r);
    if (status != MHA_OK) {
        return status;
    }
    size_t offset = 0;
    mha_error reason;
    status = npy_parse(&e->array, &offset, e->member, size, &reason);
    if (status != MHA_OK) {
        return mha_fail(r->error, status, "%s: member %s: %s", r->path, name, reason.text);
    }
    memmove(e->member, e->member + offset, size - offset);
    e->array.name = e->name;
    e->array.data = e->member;
    return MHA_OK;
}

/* ---- the whole file ---- */

static bool is_array_name(const char *name) {
    size_t length = strlen(name);
    return length >= strlen(".npy") && strcmp(name + length - strlen(".npy"), ".npy") == 0;
}

static mha_status read_entries(mha_npz *npz, zip_uint64_t members, reading *r) {
    for (zip_uint64_t index = 0; index < members; index++) {
        const char *name = zip_get_name(r->zip, index, 0);
        if (name == NULL || !is_array_name(name)) {
            continue;
        }
        entry *e = &npz->entries[npz->count++];
        mha_status status = read_entry(e, name, index, r);
        if (status != MHA_OK) {
            return status;
        }
        if (mha_npz_find(npz, e->name) != &e->array) {
            return mha_fail(
                r->error, MHA_ERROR_FORMAT, "%s: two members have the name %s", r->path, name);
        }
    }
    return MHA_OK;
}

static mha_status read_archive(mha_npz **result, reading *r) {
    zip_int64_t members = zip_get_num_entries(r->zip, 0);
    if (members < 0 || members > MEMBERS_MOST) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "%s: %lld members are more than %d", r->path,
            (long long)members, (int)MEMBERS_MOST);
    }
    mha_npz *npz = calloc(1, sizeof *npz);
    entry *entries = calloc((size_t)members + 1, sizeof *entries);
    if (npz == NULL || entries == NULL) {
        free(npz);
        free(entries);
        return mha_fail(r->error, MHA_ERROR_MEMORY, "%s: no memory for %lld members", r->path,
            (long long)members);
    }
    npz->entries = entries;
    mha_status status = read_entries(npz, (zip_uint64_t)members, r);
    if (status != MHA_OK) {
        mha_npz_free(npz);
        return status;
    }
    *result = npz;
    return MHA_OK;
}

/* O_NONBLOCK: a FIFO without a writer is refused instead of waited for. */
static mha_status open_regular(int *descriptor, reading *r) {
    struct stat file;
    *descriptor = open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*descriptor < 0 || fstat(*descriptor, &file) != 0) {
        return mha_fail(r->error, MHA_ERROR_FILE, "cannot read %s: %s", r->path, strerror(errno));
    }
    if (!S_ISREG(file.st_mode)) {
        return mha_fail(r->error, MHA_ERROR_FILE, "cannot read %s: it is %s", r->path,
            S_ISDIR(file.st_mode) ? "a folder" : "not a regular file");
    }
    if (file.st_size == 0) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "%s is empty", r->path);
    }
    r->size = (uint64_t)file.st_size;
    return MHA_OK;
}

static mha_status open_archive(int *descriptor, reading *r) {
    int code = 0;
    r->zip = zip_fdopen(*descriptor, 0, &code);
    if (r->zip != NULL) {
        *descriptor = -1; /* the archive closed it */
        return MHA_OK;
    }
    if (code == ZIP_ER_NOZIP) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "%s is not an .npz file or is cut short: no zip directory in its %llu bytes", r->path,
            (unsigned long long)r->size);
    }
    zip_error_t cause;
    zip_error_init_with_code(&cause, code);
    mha_status status =
        mha_fail(r->error, zip_status(code), "%s: %s", r->path, zip_error_strerror(&cause));
    zip_error_fini(&cause);
    return status;
}

mha_status mha_npz_read(mha_npz **npz, const char *path, mha_error *error) {
    *npz = NULL;
    reading r = {.path = path, .error = error};
    int descriptor = -1;
    mha_status status = open_regular(&descriptor, &r);
    if (status == MHA_OK) {
        status = open_archive(&descriptor, &r);
    }
    if (status == MHA_OK) {
        status = read_archive(npz, &r);
        zip_discard(r.zip);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return status;
}

void mha_npz_free(mha_npz *npz) {
    if (npz == NULL) {
        return;
    }
    for (size_t i = 0; i < npz->count; i++) {
        free(npz->entries[i].name);
        free(npz->entries[i].member);
    }
    free(npz->entries);
    free(npz);
}

size_t mha_npz_count(const mha_npz *npz) {
    return npz->count;
}

const mha_array *mha_npz_at(const mha_npz *npz, size_t index) {
    return index < npz->count ? &npz->entries[index].array : NULL;
}

const mha_array *mha_npz_find(const mha_npz *npz, const char *name) {
    for (size_t i = 0; i < npz->count; i++) {
        if (strcmp(npz->entries[i].name, name) == 0) {
            return &npz->entries[i].array;
        }
    }
    return NULL;
}
