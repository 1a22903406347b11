#include <mha/io.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/archive.h"
#include "io/arrays.h"
#include "io/npy.h"
#include "io/source.h"

enum {
    DEFLATE_RATIO_MOST = 1032, /* no deflated byte yields more bytes than this */
    HEADER_MOST = NPY_PREFIX_MOST + NPY_TEXT_MOST
};

/* A file being read. */
typedef struct reading {
    const char *path;
    archive archive;
    uint64_t packed; /* bytes in the file of the members checked so far */
    size_t max_bytes;
    mha_arrays *arrays;
    mha_error *error;
} reading;

/* ---- the bytes of one member ---- */

typedef struct member_stream {
    zip_file_t *file;
    uint64_t size, done; /* bytes unpacked */
} member_stream;

static mha_status stream_failure(const member_stream *m, mha_error *error) {
    zip_error_t *cause = zip_file_get_error(m->file);
    return mha_fail(error, archive_status(cause), "after %llu of %llu bytes: %s",
        (unsigned long long)m->done, (unsigned long long)m->size, zip_error_strerror(cause));
}

/* byte_source.read of a member_stream, which is self. */
static mha_status read_stream(void *self, void *bytes, size_t size, mha_error *error) {
    member_stream *m = self;
    unsigned char *at = bytes;
    while (size > 0) {
        const zip_int64_t got = zip_fread(m->file, at, size);
        if (got < 0) {
            return stream_failure(m, error);
        }
        if (got == 0) {
            return mha_fail(error, MHA_ERROR_FORMAT, "it ends after %llu of %llu bytes",
                (unsigned long long)m->done, (unsigned long long)m->size);
        }
        at += got;
        size -= (size_t)got;
        m->done += (uint64_t)got;
    }
    return MHA_OK;
}

/* Reads the end behind the last byte, which is where libzip compares the checksum. */
static mha_status check_end(const member_stream *m, mha_error *error) {
    unsigned char beyond;
    const zip_int64_t got = zip_fread(m->file, &beyond, 1);
    if (got < 0) {
        return stream_failure(m, error);
    }
    return got == 0 ? MHA_OK
                    : mha_fail(error, MHA_ERROR_FORMAT, "it goes on after %llu of %llu bytes",
                          (unsigned long long)m->done, (unsigned long long)m->size);
}

/* ---- what the zip directory says of members ---- */

static mha_status member_failure(
    reading *r, const char *member, mha_status status, const mha_error *reason) {
    return mha_fail(r->error, status, "%s: member %.*s: %s", r->path, (int)ARCHIVE_NAME_SHOWN,
        member, reason->text);
}

static mha_status check_method(const zip_stat_t *member, mha_error *error) {
    if (member->encryption_method != ZIP_EM_NONE) {
        return mha_fail(error, MHA_ERROR_FORMAT, "it is encrypted");
    }
    if (member->comp_method != ZIP_CM_STORE && member->comp_method != ZIP_CM_DEFLATE) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "compression method %d is not 0 (stored) or 8 (deflated)", (int)member->comp_method);
    }
    return MHA_OK;
}

/* Refuses what a member promises but the file cannot hold, or what is more than is allowed: no number
 * takes fewer bytes in memory than in the file. */
static mha_status check_claims(reading *r, const zip_stat_t *member, mha_error *error) {
    if (member->comp_size > r->archive.file.size - r->packed) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "it claims %llu bytes of a file of %llu bytes, %llu of them taken",
            (unsigned long long)member->comp_size, (unsigned long long)r->archive.file.size,
            (unsigned long long)r->packed);
    }
    r->packed += member->comp_size;
    const bool stored = member->comp_method == ZIP_CM_STORE;
    if (stored ? member->size != member->comp_size
               : member->size / DEFLATE_RATIO_MOST > member->comp_size) {
        return mha_fail(error, MHA_ERROR_FORMAT, "it claims to unpack %llu bytes from %llu",
            (unsigned long long)member->size, (unsigned long long)member->comp_size);
    }
    const uint64_t header = member->size < HEADER_MOST ? member->size : HEADER_MOST;
    if (member->size - header > r->max_bytes) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "it claims %llu bytes, more than a header of %d and the %zu of memory allowed",
            (unsigned long long)member->size, (int)HEADER_MOST, r->max_bytes);
    }
    return MHA_OK;
}

static mha_status check_member(reading *r, zip_uint64_t index, const char *name) {
    const zip_uint64_t known =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t member;
    mha_error reason;
    mha_status status = MHA_OK;
    if (zip_stat_index(r->archive.zip, index, 0, &member) != 0 || (member.valid & known) != known) {
        status = mha_fail(&reason, MHA_ERROR_FORMAT, "the zip directory does not say its size");
    }
    if (status == MHA_OK) {
        status = check_method(&member, &reason);
    }
    if (status == MHA_OK) {
        status = check_claims(r, &member, &reason);
    }
    return status == MHA_OK ? MHA_OK : member_failure(r, name, status, &reason);
}

/* ---- one member ---- */

static mha_status open_member(member_stream *m, reading *r, zip_uint64_t index, mha_error *error) {
    zip_stat_t member;
    *m = (member_stream){.file = zip_fopen_index(r->archive.zip, index, 0)};
    if (m->file == NULL || zip_stat_index(r->archive.zip, index, 0, &member) != 0) {
        zip_error_t *cause = zip_get_error(r->archive.zip);
        const mha_status status = archive_status(cause);
        mha_fail(error, status, "%s", zip_error_strerror(cause));
        if (m->file != NULL) {
            zip_fclose(m->file);
        }
        return status;
    }
    m->size = member.size;
    return MHA_OK;
}

/* name is that of the member without ".npy". */
static mha_status read_member(
    reading *r, zip_uint64_t index, const char *member, const char *name) {
    member_stream m;
    mha_array array = {0};
    mha_error reason;
    mha_status status = open_member(&m, r, index, &reason);
    if (status != MHA_OK) {
        return member_failure(r, member, status, &reason);
    }
    byte_source source = {.read = read_stream, .self = &m, .left = m.size};
    status = npy_take(&array, &source, r->max_bytes, &reason);
    if (status != MHA_OK) {
        member_failure(r, member, status, &reason);
    } else {
        status = arrays_add(r->arrays, &array, name, r->path, r->error);
    }
    if (status == MHA_OK) {
        status = check_end(&m, &reason);
        if (status != MHA_OK) {
            member_failure(r, member, status, &reason);
        }
    }
    zip_fclose(m.file);
    return status;
}

static mha_status add_member(reading *r, zip_uint64_t index, const char *member) {
    char *name = strdup(member);
    if (name == NULL) {
        return mha_fail(r->error, MHA_ERROR_MEMORY, "%s: no memory for the name of member %llu",
            r->path, (unsigned long long)index);
    }
    name[strlen(name) - strlen(".npy")] = '\0';
    const mha_status status = read_member(r, index, member, name);
    free(name);
    return status;
}

/* ---- the whole file ---- */

typedef mha_status visit(reading *r, zip_uint64_t index, const char *member);

/* Visits the members whose names end in ".npy", or the others, until one visit fails. */
static mha_status visit_members(reading *r, visit *visit_one, bool arrays) {
    mha_status status = MHA_OK;
    for (zip_uint64_t index = 0; status == MHA_OK && index < r->archive.count; index++) {
        const char *member = zip_get_name(r->archive.zip, index, 0);
        if (member == NULL) {
            zip_error_t *cause = zip_get_error(r->archive.zip);
            status = mha_fail(r->error, archive_status(cause), "%s: the name of member %llu: %s",
                r->path, (unsigned long long)index, zip_error_strerror(cause));
        } else if (ends_in(member, ".npy") == arrays) {
            status = visit_one(r, index, member);
        }
    }
    return status;
}

static mha_status skip_member(reading *r, zip_uint64_t index, const char *member) {
    (void)index;
    return arrays_add_skipped(r->arrays, member, r->path, r->error);
}

/* All that the directory can tell is checked before anything is unpacked. */
static mha_status read_members(reading *r) {
    mha_status status = visit_members(r, check_member, true);
    if (status == MHA_OK) {
        status = visit_members(r, skip_member, false);
    }
    return status == MHA_OK ? visit_members(r, add_member, true) : status;
}

mha_status mha_npz_read(mha_arrays **arrays, const char *path, size_t max_bytes, mha_error *error) {
    *arrays = NULL;
    reading r = {.path = path, .arrays = arrays_create(), .error = error};
    r.max_bytes = max_bytes > 0 ? max_bytes : mha_max_bytes_default();
    if (r.arrays == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "%s: no memory for its arrays", path);
    }
    mha_status status = archive_open(&r.archive, path, error);
    if (status == MHA_OK) {
        status = read_members(&r);
        archive_close(&r.archive);
    }
    if (status != MHA_OK) {
        mha_arrays_free(r.arrays);
        return status;
    }
    *arrays = r.arrays;
    return MHA_OK;
}
