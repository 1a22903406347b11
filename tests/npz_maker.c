#include "npz_maker.h"

#include <check.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"

bytes made_npy, made_zip;

static void append(bytes *to, const void *from, size_t size) {
    if (size > sizeof to->at - to->size) {
        ck_abort_msg("%zu bytes are too many", to->size + size);
    }
    memcpy(to->at + to->size, from, size);
    to->size += size;
}

/* A little-endian number of size bytes. */
static void put(bytes *to, size_t size, uint64_t number) {
    for (; size > 0; size--, number >>= 8) {
        const unsigned char byte = (unsigned char)(number & 0xff);
        append(to, &byte, 1);
    }
}

static uint32_t crc32_of(const unsigned char *at, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

void make_npy(unsigned major, const char *text, size_t data) {
    made_npy.size = 0;
    append(&made_npy, "\x93NUMPY", 6);
    put(&made_npy, 1, major);
    put(&made_npy, 1, 0);
    put(&made_npy, major == 1 ? 2 : 4, strlen(text));
    append(&made_npy, text, strlen(text));
    for (size_t i = 0; i < data; i++) {
        put(&made_npy, 1, 0);
    }
}

/* What the local header and the directory entry of a member have in common. */
static void put_facts(const char *name) {
    put(&made_zip, 2, 20);
    put(&made_zip, 4, 0); /* flags, method: stored */
    put(&made_zip, 4, 33u << 16);
    put(&made_zip, 4, crc32_of(made_npy.at, made_npy.size));
    put(&made_zip, 4, made_npy.size);
    put(&made_zip, 4, made_npy.size);
    put(&made_zip, 2, strlen(name));
    put(&made_zip, 2, 0);
}

void make_zip(const char *const *names, size_t count) {
    static size_t offsets[8192];
    made_zip.size = 0;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = made_zip.size;
        append(&made_zip, "PK\3\4", 4);
        put_facts(names[i]);
        append(&made_zip, names[i], strlen(names[i]));
        append(&made_zip, made_npy.at, made_npy.size);
    }
    size_t directory = made_zip.size;
    for (size_t i = 0; i < count; i++) {
        append(&made_zip, "PK\1\2\x14\0", 6);
        put_facts(names[i]);
        put(&made_zip, 2 + 2 + 2, 0); /* comment, disk, internal attributes */
        put(&made_zip, 4, 0);
        put(&made_zip, 4, offsets[i]);
        append(&made_zip, names[i], strlen(names[i]));
    }
    size_t length = made_zip.size - directory;
    append(&made_zip, "PK\5\6\0\0\0\0", 8);
    put(&made_zip, 2, count);
    put(&made_zip, 2, count);
    put(&made_zip, 4, length);
    put(&made_zip, 4, directory);
    put(&made_zip, 2, 0);
}

bool npz_is_read(mha_error *error) {
    mha_npz *npz = NULL;
    *error = (mha_error){MHA_OK, ""};
    mha_status status = mha_npz_read(&npz, folder_path("a.npz"), error);
    ck_assert_int_eq(status, error->status);
    ck_assert_int_eq(status == MHA_OK, npz != NULL);
    ck_assert_int_eq(status == MHA_OK, error->text[0] == '\0');
    for (const char *at = error->text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            ck_abort_msg("a control character in \"%s\"", error->text);
        }
    }
    mha_npz_free(npz);
    return status == MHA_OK;
}

void npz_assert_refused(mha_status status, const char *words) {
    mha_error error;
    ck_assert_msg(!npz_is_read(&error), "read, and not refused with \"%s\"", words);
    ck_assert_msg(error.status == status, "status %d of \"%s\"", (int)error.status, error.text);
    ck_assert_msg(strstr(error.text, "a.npz") != NULL, "\"%s\" lacks the file", error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

void npz_assert_zip_refused(const char *words) {
    folder_write("a.npz", made_zip.at, made_zip.size);
    npz_assert_refused(MHA_ERROR_FORMAT, words);
}
