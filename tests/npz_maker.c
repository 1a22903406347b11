#include "npz_maker.h"

#include <check.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "folder.h"

made_file made_npy, made_zip;

static void append(made_file *to, const void *from, size_t size) {
    if (size > sizeof to->at - to->size) {
        ck_abort_msg("%zu bytes are too many", to->size + size);
    }
    memcpy(to->at + to->size, from, size);
    to->size += size;
}

/* A little-endian number of size bytes. */
static void put(made_file *to, size_t size, uint64_t number) {
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

void make_npy_of(unsigned major, const char *text, const void *data, size_t size) {
    made_npy.size = 0;
    append(&made_npy, "\x93NUMPY", 6);
    put(&made_npy, 1, major);
    put(&made_npy, 1, 0);
    put(&made_npy, major == 1 ? 2 : 4, strlen(text));
    append(&made_npy, text, strlen(text));
    append(&made_npy, data, size);
}

void make_npy(unsigned major, const char *text, size_t data) {
    static const unsigned char zeros[sizeof made_npy.at];
    make_npy_of(major, text, zeros, data);
}

/* ---- zip files ---- */

enum { MEMBERS_MOST = 8192 };

static struct {
    const char *name;
    uint32_t crc;
    size_t size, offset;
} members[MEMBERS_MOST];
static size_t member_count;

/* What the local header and the directory entry of a member have in common. */
static void put_facts(size_t index) {
    put(&made_zip, 2, 20);
    put(&made_zip, 4, 0); /* flags, method: stored */
    put(&made_zip, 4, 33u << 16);
    put(&made_zip, 4, members[index].crc);
    put(&made_zip, 4, members[index].size);
    put(&made_zip, 4, members[index].size);
    put(&made_zip, 2, strlen(members[index].name));
    put(&made_zip, 2, 0);
}

void make_zip_begin(void) {
    made_zip.size = 0;
    member_count = 0;
}

void make_zip_member(const char *name) {
    ck_assert_uint_lt(member_count, MEMBERS_MOST);
    const size_t index = member_count++;
    members[index].name = name;
    members[index].crc = crc32_of(made_npy.at, made_npy.size);
    members[index].size = made_npy.size;
    members[index].offset = made_zip.size;
    append(&made_zip, "PK\3\4", 4);
    put_facts(index);
    append(&made_zip, name, strlen(name));
    append(&made_zip, made_npy.at, made_npy.size);
}

void make_zip_end(void) {
    const size_t directory = made_zip.size;
    for (size_t i = 0; i < member_count; i++) {
        append(&made_zip, "PK\1\2\x14\0", 6);
        put_facts(i);
        put(&made_zip, 2 + 2 + 2, 0); /* comment, disk, internal attributes */
        put(&made_zip, 4, 0);
        put(&made_zip, 4, members[i].offset);
        append(&made_zip, members[i].name, strlen(members[i].name));
    }
    const size_t length = made_zip.size - directory;
    append(&made_zip, "PK\5\6\0\0\0\0", 8);
    put(&made_zip, 2, member_count);
    put(&made_zip, 2, member_count);
    put(&made_zip, 4, length);
    put(&made_zip, 4, directory);
    put(&made_zip, 2, 0);
}

void make_zip(const char *const *names, size_t count) {
    make_zip_begin();
    for (size_t i = 0; i < count; i++) {
        make_zip_member(names[i]);
    }
    make_zip_end();
}

/* ---- reading ---- */

static void assert_clean(const char *text) {
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            ck_abort_msg("a control character in \"%s\"", text);
        }
    }
}

mha_arrays *npy_read_made(void) {
    folder_write("a.npy", made_npy.at, made_npy.size);
    mha_arrays *arrays = read_arrays_with(mha_npy_read, "a.npy");
    ck_assert_uint_eq(mha_arrays_count(arrays), 1);
    return arrays;
}

void npy_assert_made_refused(const char *words) {
    mha_error error = {0};
    mha_arrays *arrays = NULL;
    folder_write("a.npy", made_npy.at, made_npy.size);
    mha_status status = mha_npy_read(&arrays, folder_path("a.npy"), 0, &error);
    ck_assert_msg(
        status == MHA_ERROR_FORMAT, "status %d, not refused with \"%s\"", (int)status, words);
    ck_assert_int_eq(error.status, status);
    ck_assert_ptr_null(arrays);
    assert_clean(error.text);
    ck_assert_msg(strstr(error.text, "a.npy: ") != NULL, "\"%s\" lacks the file", error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

bool npz_is_read(mha_error *error) {
    mha_arrays *npz = NULL;
    *error = (mha_error){MHA_OK, ""};
    mha_status status = mha_npz_read(&npz, folder_path("a.npz"), 0, error);
    ck_assert_int_eq(status, error->status);
    ck_assert_int_eq(status == MHA_OK, npz != NULL);
    ck_assert_int_eq(status == MHA_OK, error->text[0] == '\0');
    assert_clean(error->text);
    mha_arrays_free(npz);
    return status == MHA_OK;
}

mha_arrays *npz_read_made(void) {
    folder_write("a.npz", made_zip.at, made_zip.size);
    return read_arrays_with(mha_npz_read, "a.npz");
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
