#include "io/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum {
    /* libzip looks at every entry of the directory and at the local header of its member, takes some
     * 250 bytes of memory for each, and compares names of equal hashes one by one, before it tells
     * how many there are. This bounds all of it, and leaves ARCHIVE_MEMBERS_MOST members more than 200 bytes
     * each for their names, which stand in both places. */
    OPENING_BYTES_MOST = 2 << 20
};

mha_status archive_status(zip_error_t *cause) {
    switch (zip_error_code_zip(cause)) {
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

/* Like pread, but of all that is there. */
static ssize_t read_at(const archive *a, void *bytes, size_t size, uint64_t position) {
    ssize_t got = -1;
    do {
        got = position > INT64_MAX ? 0 : pread(a->file.descriptor, bytes, size, (off_t)position);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* ---- the number of members that a zip64 end record claims ---- */

static uint64_t number_at(const unsigned char *bytes) {
    uint64_t number = 0;
    for (size_t i = 8; i-- > 0;) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* The members that the end record claims to which a locator points; 0 when it points to none. */
static uint64_t claimed_members(const archive *a, const unsigned char *locator) {
    enum { OFFSET = 8, RECORD_SIZE = 56, COUNT_HERE = 24, COUNT = 32 };
    unsigned char record[RECORD_SIZE];
    const ssize_t got = read_at(a, record, sizeof record, number_at(locator + OFFSET));
    if (got != RECORD_SIZE || memcmp(record, "PK\6\6", 4) != 0) {
        return 0;
    }
    const uint64_t here = number_at(record + COUNT_HERE), count = number_at(record + COUNT);
    return here > count ? here : count;
}

/* libzip takes memory for all members that an end record claims before it reads the first. Without
 * zip64 these are at most 65535. */
static mha_status check_claims(const archive *a, const char *path, mha_error *error) {
    enum { LOCATOR_SIZE = 20, END_SIZE = 22, COMMENT_MOST = 65535 };
    unsigned char tail[2 * LOCATOR_SIZE + END_SIZE + COMMENT_MOST];
    const size_t size = a->file.size < sizeof tail ? (size_t)a->file.size : sizeof tail;
    const ssize_t got = read_at(a, tail, size, a->file.size - size);
    for (ssize_t i = 0; i + LOCATOR_SIZE <= got; i++) {
        if (memcmp(tail + i, "PK\6\7", 4) != 0) {
            continue;
        }
        const uint64_t count = claimed_members(a, tail + i);
        if (count > ARCHIVE_MEMBERS_MOST) {
            return mha_fail(error, MHA_ERROR_FORMAT, "%s: %llu members are more than %d", path,
                (unsigned long long)count, (int)ARCHIVE_MEMBERS_MOST);
        }
    }
    return MHA_OK;
}

/* ---- what libzip reads ---- */

static zip_int64_t read_some(archive *a, void *bytes, zip_uint64_t size) {
    if (size > a->allowance) {
        a->allowance = 0;
        zip_error_set(&a->cause, ZIP_ER_INCONS, 0);
        return -1;
    }
    const ssize_t got = read_at(a, bytes, size, a->position);
    if (got < 0) {
        zip_error_set(&a->cause, ZIP_ER_READ, errno);
        return -1;
    }
    a->position += (uint64_t)got;
    a->allowance -= (uint64_t)got;
    return got;
}

static zip_int64_t seek(archive *a, void *arguments, zip_uint64_t size) {
    const zip_int64_t position =
        zip_source_seek_compute_offset(a->position, a->file.size, arguments, size, &a->cause);
    if (position < 0) {
        return -1;
    }
    a->position = (uint64_t)position;
    return 0;
}

static zip_int64_t tell_size(archive *a, zip_stat_t *facts) {
    zip_stat_init(facts);
    facts->size = a->file.size;
    facts->valid = ZIP_STAT_SIZE;
    return sizeof *facts;
}

/* What libzip asks of the source of an archive that is only read. */
static zip_int64_t serve(void *self, void *data, zip_uint64_t size, zip_source_cmd_t command) {
    archive *a = self;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        a->position = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return read_some(a, data, size);
    case ZIP_SOURCE_SEEK:
        return seek(a, data, size);
    case ZIP_SOURCE_TELL:
        return (zip_int64_t)a->position;
    case ZIP_SOURCE_STAT:
        return tell_size(a, data);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&a->cause, data, size);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    default:
        zip_error_set(&a->cause, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

/* ---- opening ---- */

static mha_status refuse(archive *a, zip_error_t *cause, const char *path, mha_error *error) {
    if (a->allowance == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: its zip directory and local headers have more than %d bytes", path,
            (int)OPENING_BYTES_MOST);
    }
    if (zip_error_code_zip(cause) == ZIP_ER_NOZIP) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s is not an .npz file or is cut short: no usable zip directory in its %llu bytes",
            path, (unsigned long long)a->file.size);
    }
    if (zip_error_code_zip(cause) == ZIP_ER_INCONS) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: the zip directory contradicts itself, its members or the end of the file: %s",
            path, zip_error_strerror(cause));
    }
    return mha_fail(error, archive_status(cause), "%s: %s", path, zip_error_strerror(cause));
}

/* On failure the source is gone too. */
static zip_t *open_source(archive *a, int flags, zip_error_t *cause) {
    zip_source_t *source = zip_source_function_create(serve, a, cause);
    zip_t *zip = source == NULL ? NULL : zip_open_from_source(source, flags, cause);
    if (source != NULL && zip == NULL) {
        zip_source_free(source);
    }
    return zip;
}

/* Which name two members have: libzip does not tell while it checks. Leaves the zip open. */
static mha_status refuse_name(archive *a, zip_error_t *cause, const char *path, mha_error *error) {
    a->allowance = OPENING_BYTES_MOST;
    a->zip = open_source(a, ZIP_RDONLY, cause);
    const zip_int64_t count = a->zip == NULL ? 0 : zip_get_num_entries(a->zip, 0);
    for (zip_int64_t i = 0; i < count && count <= ARCHIVE_MEMBERS_MOST; i++) {
        const char *name = zip_get_name(a->zip, (zip_uint64_t)i, 0);
        if (name != NULL && zip_name_locate(a->zip, name, 0) != i) {
            return mha_fail(error, MHA_ERROR_FORMAT, "%s: two members have the name %.*s", path,
                (int)ARCHIVE_NAME_SHOWN, name);
        }
    }
    return mha_fail(error, MHA_ERROR_FORMAT, "%s: two members have one name", path);
}

/* ZIP_CHECKCONS: the directory must agree with the local headers, which other programs read. */
static mha_status open_zip(archive *a, const char *path, mha_error *error) {
    mha_status status = check_claims(a, path, error);
    if (status != MHA_OK) {
        return status;
    }
    zip_error_t cause;
    zip_error_init(&cause);
    a->zip = open_source(a, ZIP_RDONLY | ZIP_CHECKCONS, &cause);
    if (a->zip == NULL) {
        const bool twice = zip_error_code_zip(&cause) == ZIP_ER_EXISTS;
        status = (twice ? refuse_name : refuse)(a, &cause, path, error);
    }
    zip_error_fini(&cause);
    return status;
}

static mha_status count_members(archive *a, const char *path, mha_error *error) {
    const zip_int64_t count = zip_get_num_entries(a->zip, 0);
    if (count < 0 || count > ARCHIVE_MEMBERS_MOST) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: %lld members are more than %d", path,
            (long long)count, (int)ARCHIVE_MEMBERS_MOST);
    }
    a->count = (uint64_t)count;
    a->allowance = UINT64_MAX;
    return MHA_OK;
}

mha_status archive_open(archive *a, const char *path, mha_error *error) {
    *a = (archive){.allowance = OPENING_BYTES_MOST};
    zip_error_init(&a->cause);
    mha_status status = file_open(&a->file, path, error);
    if (status == MHA_OK) {
        status = open_zip(a, path, error);
    }
    if (status == MHA_OK) {
        status = count_members(a, path, error);
    }
    if (status != MHA_OK) {
        archive_close(a);
    }
    return status;
}

void archive_close(archive *a) {
    if (a->zip != NULL) {
        zip_discard(a->zip);
    }
    zip_error_fini(&a->cause);
    file_close(&a->file);
}
