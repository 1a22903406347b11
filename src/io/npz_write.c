#include <mha/io.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zip.h>

#include "io/arrays.h"
#include "io/archive.h"
#include "io/npy.h"
#include "io/replace.h"

enum {
    MEMBER_NAME_MOST = 1024, /* bytes of a member's name with ".npy" and the final zero */
    DOS_DATE = 1 << 5 | 1,   /* 1980-01-01 */
    DOS_TIME = 0,
    MODE = 0100644, /* of a regular file that everybody may read, should it be unpacked */
    COPY_SIZE = 1 << 16
};

/* A zip file without members is its end record alone. */
static const unsigned char empty_archive[22] = {'P', 'K', 5, 6};

static mha_status check_array(
    const mha_array *array, size_t index, const char *path, mha_error *error) {
    size_t bytes = 0;
    const mha_status status = array_check_named(&bytes, array, index, path, error);
    const size_t length = status == MHA_OK ? strlen(array->name) : 0;
    if (length + sizeof ".npy" > MEMBER_NAME_MOST) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "%s: the name of array %zu has %zu bytes, more than %zu", path, index, length,
            MEMBER_NAME_MOST - sizeof ".npy");
    }
    return status;
}

/* The status that a failure of libzip is reported as. */
static mha_status zip_failure(zip_error_t *cause, const char *path, mha_error *error) {
    bool memory = zip_error_code_zip(cause) == ZIP_ER_MEMORY;
    return mha_fail(error, memory ? MHA_ERROR_MEMORY : MHA_ERROR_FILE, "cannot write %s: %s", path,
        zip_error_strerror(cause));
}

static mha_status member_failure(
    zip_t *zip, const mha_array *array, const char *path, mha_error *error) {
    zip_error_t *cause = zip_get_error(zip);
    switch (zip_error_code_zip(cause)) {
    case ZIP_ER_EXISTS:
        return mha_fail(
            error, MHA_ERROR_ARGUMENT, "%s: two arrays have the name %s", path, array->name);
    case ZIP_ER_INVAL:
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "%s: the name %s is not UTF-8, or has control characters", path, array->name);
    default:
        return zip_failure(cause, path, error);
    }
}

/* Adds one member. libzip copies neither header nor data: both stay alive until the zip is closed.
 * The date passes through local time and back, which all zones of tzdata leave as it is. */
static mha_status add_member(zip_t *zip, const mha_array *array,
    unsigned char header[NPY_PRINT_MOST], const char *path, mha_error *error) {
    const size_t bytes = mha_array_count(array) * mha_dtype_bytes(array->dtype);
    char name[MEMBER_NAME_MOST];
    snprintf(name, sizeof name, "%s.npy", array->name);
    zip_uint8_t *data = NULL; /* not const in libzip's struct, though it is only read */
    memcpy(&data, &array->data, sizeof data);
    zip_buffer_fragment_t fragments[2] = {{header, npy_print(header, array)}, {data, bytes}};
    zip_source_t *source = zip_source_buffer_fragment(zip, fragments, bytes > 0 ? 2 : 1, 0);
    if (source == NULL) {
        return member_failure(zip, array, path, error);
    }
    zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        mha_status status = member_failure(zip, array, path, error);
        zip_source_free(source);
        return status;
    }
    zip_uint64_t member = (zip_uint64_t)index;
    if (zip_set_file_compression(zip, member, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(zip, member, DOS_TIME, DOS_DATE, 0) != 0 ||
        zip_file_set_external_attributes(
            zip, member, 0, ZIP_OPSYS_UNIX, (zip_uint32_t)MODE << 16) != 0) {
        return member_failure(zip, array, path, error);
    }
    return MHA_OK;
}

/* Writes the whole zip file into memory, which source holds. */
static mha_status build(zip_source_t *source, const char *path, const mha_array *arrays,
    size_t count, unsigned char (*headers)[NPY_PRINT_MOST], mha_error *error) {
    zip_error_t cause;
    zip_error_init(&cause);
    zip_source_keep(source); /* the zip releases it once, the caller once more */
    zip_t *zip = zip_open_from_source(source, ZIP_TRUNCATE, &cause);
    if (zip == NULL) {
        zip_source_free(source);
        mha_status status = zip_failure(&cause, path, error);
        zip_error_fini(&cause);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        mha_status status = add_member(zip, &arrays[i], headers[i], path, error);
        if (status != MHA_OK) {
            zip_discard(zip);
            return status;
        }
    }
    if (zip_close(zip) != 0) {
        mha_status status = zip_failure(zip_get_error(zip), path, error);
        zip_discard(zip);
        return status;
    }
    return MHA_OK;
}

/* Copies the finished zip file from memory to the file at path. */
static mha_status save(zip_source_t *source, const char *path, mha_error *error) {
    replacement *file = NULL;
    mha_status status = replacement_begin(&file, path, error);
    if (status != MHA_OK) {
        return status;
    }
    zip_int64_t size = -1;
    if (zip_source_open(source) == 0) {
        unsigned char buffer[COPY_SIZE];
        while (status == MHA_OK && (size = zip_source_read(source, buffer, sizeof buffer)) > 0) {
            status = replacement_write(file, buffer, (size_t)size, error);
        }
        zip_source_close(source);
    }
    if (status == MHA_OK && size < 0) {
        status = zip_failure(zip_source_error(source), path, error);
    }
    if (status != MHA_OK) {
        replacement_abandon(file);
        return status;
    }
    return replacement_commit(file, error);
}

/* Each array, and that the reader's limits hold for all of them. */
static mha_status check_arrays(
    const mha_array *arrays, size_t count, const char *path, mha_error *error) {
    size_t names = 0;
    if (count > ARCHIVE_MEMBERS_MOST) {
        return mha_fail(error, MHA_ERROR_SIZE, "%s: %zu arrays are more than %d", path, count,
            (int)ARCHIVE_MEMBERS_MOST);
    }
    for (size_t i = 0; i < count; i++) {
        mha_status status = check_array(&arrays[i], i, path, error);
        if (status != MHA_OK) {
            return status;
        }
        names += strlen(arrays[i].name);
    }
    if (names > ARCHIVE_NAMES_MOST) {
        return mha_fail(error, MHA_ERROR_SIZE, "%s: the names have %zu bytes, more than %d", path,
            names, (int)ARCHIVE_NAMES_MOST);
    }
    return MHA_OK;
}

mha_status mha_npz_write(
    const char *path, const mha_array *arrays, size_t count, mha_error *error) {
    const mha_status usable = check_arrays(arrays, count, path, error);
    if (usable != MHA_OK) {
        return usable;
    }
    if (count == 0) {
        return mha_file_replace(path, empty_archive, sizeof empty_archive, error);
    }
    unsigned char(*headers)[NPY_PRINT_MOST] = calloc(count, sizeof *headers);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, NULL);
    mha_status status = MHA_ERROR_MEMORY;
    if (headers == NULL || source == NULL) {
        mha_fail(error, status, "no memory to write %s with %zu arrays", path, count);
    } else {
        status = build(source, path, arrays, count, headers, error);
    }
    if (status == MHA_OK) {
        status = save(source, path, error);
    }
    zip_source_free(source);
    free(headers);
    return status;
}
