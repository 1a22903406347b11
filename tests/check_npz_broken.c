/* Broken .npz files are refused in one line that names file and member, and crash nothing. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mha/io.h>

#include "folder.h"
#include "io/archive.h"
#include "npz_bytes.h"
#include "npz_cases.h"
#include "npz_maker.h"

/* One array x of a good and small .npy file. */
static void make_good_zip(void) {
    static const char *const name[] = {"x.npy"};
    make_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
    make_zip(name, 1);
}

/* Where the field of the directory entry of the only member begins. */
static unsigned char *directory_field(size_t offset) {
    size_t local = 30 + strlen("x.npy") + made_npy.size;
    ck_assert(memcmp(made_zip.at + local, "PK\1\2", 4) == 0);
    return made_zip.at + local + offset;
}

enum { FLAGS = 8, METHOD = 10, CRC = 16, PACKED_SIZE = 20, SIZE = 24 };

START_TEST(names_are_checked) {
    static const char *const twice[] = {"x.npy", "y.npy", "x.npy"};
    static const char *const others[] = {"readme.txt", "x.npy", "x.npy/", "readme.txt", "npy"};
    make_good_zip();
    make_zip(twice, 3);
    npz_assert_zip_refused("two members have the name x.npy");
    make_zip(others, 5);
    folder_write("a.npz", made_zip.at, made_zip.size);
    mha_arrays *npz = NULL;
    ck_assert_int_eq(mha_npz_read(&npz, folder_path("a.npz"), 0, NULL), MHA_OK);
    ck_assert_uint_eq(mha_arrays_count(npz), 1);
    ck_assert_str_eq(mha_arrays_at(npz, 0)->name, "x");
    mha_arrays_free(npz);
}
END_TEST

START_TEST(too_many_members_are_refused) {
    enum { COUNT = 4097 };
    static char text[COUNT][16];
    static const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(text[i], sizeof text[i], "n%zu", i);
        names[i] = text[i];
    }
    made_npy.size = 0;
    make_zip(names, COUNT);
    npz_assert_zip_refused("4097 members are more than 4096");
}
END_TEST

static void put_number(unsigned char *at, uint64_t number) {
    for (size_t i = 0; i < 8; i++) {
        at[i] = (unsigned char)(number >> 8 * i & 0xff);
    }
}

/* Puts a zip64 end record that claims so many members, and its locator, before the end record of a
 * file with one member. */
static void claim_members(uint64_t count) {
    enum { RECORD = 56, LOCATOR = 20, END = 22 };
    make_good_zip();
    unsigned char added[RECORD + LOCATOR] = "PK\6\6";
    const size_t at = made_zip.size - END;
    const size_t directory = 30 + strlen("x.npy") + made_npy.size;
    put_number(added + 4, RECORD - 12);
    put_number(added + 24, count);
    put_number(added + 32, count);
    put_number(added + 40, at - directory);
    put_number(added + 48, directory);
    memcpy(added + RECORD, "PK\6\7", 4);
    put_number(added + RECORD + 8, at);
    added[RECORD + 16] = 1; /* disks */
    memmove(made_zip.at + at + sizeof added, made_zip.at + at, END);
    memcpy(made_zip.at + at, added, sizeof added);
    memset(made_zip.at + at + sizeof added + 8, 0xff, 12); /* counts, size and offset are above */
    made_zip.size += sizeof added;
}

START_TEST(claimed_members_are_bounded) {
    claim_members(1);
    mha_arrays *npz = npz_read_made();
    ck_assert_uint_eq(mha_arrays_count(npz), 1);
    mha_arrays_free(npz);
    claim_members(2);
    npz_assert_zip_refused("a.npz: ");
    claim_members(4097);
    npz_assert_zip_refused("4097 members are more than 4096");
    claim_members(UINT64_MAX);
    npz_assert_zip_refused("18446744073709551615 members are more than 4096");
    /* the count of entries on this disk alone */
    claim_members(1);
    put_number(made_zip.at + made_zip.size - 22 - 20 - 56 + 24, 1 << 30);
    npz_assert_zip_refused("1073741824 members are more than 4096");
}
END_TEST

/* Names as long as they get make a directory that is too long with few members. */
START_TEST(the_directory_is_bounded) {
    enum { COUNT = 40, LENGTH = 30000 };
    static char name[LENGTH + 1];
    memset(name, 'n', LENGTH);
    made_npy.size = 0;
    make_zip_begin();
    for (size_t i = 0; i < 8; i++) {
        make_zip_member(name);
    }
    make_zip_end();
    mha_arrays *npz = npz_read_made(); /* names that do not end in .npy */
    ck_assert_uint_eq(mha_arrays_count(npz), 0);
    mha_arrays_free(npz);
    make_zip_begin();
    for (size_t i = 0; i < COUNT; i++) {
        make_zip_member(name);
    }
    make_zip_end();
    npz_assert_zip_refused("its zip directory is longer than 1048576 bytes");
}
END_TEST

START_TEST(the_directory_is_not_trusted) {
    make_good_zip();
    *directory_field(SIZE) += 1; /* both sizes then disagree */
    npz_assert_zip_refused("member x.npy: it claims to unpack 81 bytes from 80");
    make_good_zip();
    memset(directory_field(PACKED_SIZE), 0x7f, 8);
    npz_assert_zip_refused("it claims 2139062143 bytes of a file of 188 bytes");
    make_good_zip();
    *directory_field(METHOD) = 8;
    memset(directory_field(SIZE), 0x7f, 4);
    npz_assert_zip_refused("member x.npy: it claims to unpack 2139062143 bytes from 80");
    make_good_zip();
    *directory_field(METHOD) = 8; /* and the data are no deflated stream */
    npz_assert_zip_refused(" of 80 bytes: ");
    make_good_zip();
    *directory_field(METHOD) = 12;
    npz_assert_zip_refused("member x.npy: compression method 12 is not 0");
    make_good_zip();
    *directory_field(FLAGS) = 1;
    npz_assert_zip_refused("member x.npy: it is encrypted");
    make_good_zip();
    *directory_field(CRC) ^= 1;
    npz_assert_zip_refused("member x.npy: after 80 of 80 bytes: CRC error");
}
END_TEST

/* One byte more or less than the stream unpacks to. */
START_TEST(wrong_unpacked_sizes_are_refused) {
    for (int change = -1; change <= 1; change += 2) {
        unsigned char changed[sizeof numpy_savez_compressed];
        memcpy(changed, numpy_savez_compressed, sizeof changed);
        size_t at = 0;
        while (memcmp(changed + at, "PK\1\2", 4) != 0) {
            at++;
        }
        changed[at + SIZE] = (unsigned char)(changed[at + SIZE] + change);
        folder_write("a.npz", changed, sizeof changed);
        npz_assert_refused(MHA_ERROR_FORMAT, "member matrix.npy");
    }
}
END_TEST

/* A directory whose entries all mean the same bytes promises more than the file holds. */
START_TEST(overlapping_members_are_refused) {
    static const char *const names[] = {"a.npy", "b.npy", "c.npy", "d.npy"};
    make_npy(1, NPY_FLOATS("(100,)"), 400);
    make_zip(names, 4);
    size_t local = 30 + 5 + made_npy.size;
    size_t entry = 46 + 5;
    size_t directory = 4 * local;
    memmove(made_zip.at + local, made_zip.at + directory, made_zip.size - directory);
    made_zip.size -= 3 * local;
    for (size_t i = 0; i < 4; i++) {
        memset(made_zip.at + local + i * entry + 42, 0, 4); /* the offset of its local header */
    }
    made_zip.at[made_zip.size - 6] = (unsigned char)(local & 0xff);
    made_zip.at[made_zip.size - 5] = (unsigned char)(local >> 8);
    npz_assert_zip_refused(
        "member b.npy: it claims 470 bytes of a file of 731 bytes, 470 of them taken");
}
END_TEST

/* Cut before every step-th byte. */
static void assert_cut_files_are_refused(const unsigned char *whole, size_t size, size_t step) {
    folder_write("a.npz", whole, size);
    mha_error error;
    ck_assert_msg(npz_is_read(&error), "%s", error.text);
    for (size_t length = 0; length < size; length += step) {
        folder_write("a.npz", whole, length);
        npz_assert_refused(MHA_ERROR_FORMAT, length == 0 ? "is empty" : "a.npz");
    }
    folder_write("a.npz", whole, size - 1);
    char words[64];
    snprintf(words, sizeof words, "no zip directory in its %zu bytes", size - 1);
    npz_assert_refused(MHA_ERROR_FORMAT, words);
    /* Bytes that are missing in the middle: the directory does not stand where the end record says.
     */
    unsigned char holed[1024];
    ck_assert_uint_le(size, sizeof holed);
    memcpy(holed, whole, 40);
    memcpy(holed + 40, whole + 50, size - 50);
    folder_write("a.npz", holed, size - 10);
    npz_assert_refused(MHA_ERROR_FORMAT, "a.npz");
}

START_TEST(cut_files_are_refused) {
    assert_cut_files_are_refused(numpy_savez, sizeof numpy_savez, 17);
    assert_cut_files_are_refused(numpy_savez_compressed, sizeof numpy_savez_compressed, 17);
    assert_cut_files_are_refused(mha_npz_written, sizeof mha_npz_written, 3);
}
END_TEST

/* Every byte of a file, changed. Whatever is still read has passed its checksums. */
START_TEST(changed_files_crash_nothing) {
    unsigned char changed[sizeof numpy_savez_compressed];
    size_t refused = 0;
    for (size_t i = 0; i < sizeof changed; i++) {
        memcpy(changed, numpy_savez_compressed, sizeof changed);
        changed[i] ^= i % 2 ? 0x80 : 0x01;
        folder_write("a.npz", changed, sizeof changed);
        mha_error error;
        refused += !npz_is_read(&error);
    }
    ck_assert_uint_gt(refused, sizeof changed / 2);
}
END_TEST

START_TEST(what_is_no_file_is_refused) {
    mha_error error = {0};
    mha_arrays *npz = NULL;
    npz_assert_refused(MHA_ERROR_FILE, "a.npz: No such file or directory");
    ck_assert_int_eq(mkfifo(folder_path("a.npz"), 0600), 0);
    npz_assert_refused(MHA_ERROR_FILE, "a.npz: it is not a regular file");
    ck_assert_int_eq(mha_npz_read(&npz, folder_path(""), 0, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder"));
    ck_assert_int_eq(remove(folder_path("a.npz")), 0);
    folder_write("a.npz", "step\tloss\n", 10);
    npz_assert_refused(MHA_ERROR_FORMAT, "not an .npz file or is cut short");
    mha_arrays_free(NULL);
}
END_TEST

/* The file was whole when it was opened. */
START_TEST(a_file_that_shrinks_is_no_end_of_data) {
    static const char *const name[] = {"x.npy"};
    make_npy(1, NPY_FLOATS("(100000,)"), 400000);
    make_zip(name, 1);
    folder_write("a.npz", made_zip.at, made_zip.size);
    archive a;
    mha_error error = {0};
    ck_assert_int_eq(archive_open(&a, folder_path("a.npz"), &error), MHA_OK);
    ck_assert_int_eq(truncate(folder_path("a.npz"), 200000), 0);
    zip_file_t *member = zip_fopen_index(a.zip, 0, 0);
    ck_assert_ptr_nonnull(member);
    static unsigned char bytes[300000];
    zip_int64_t got = 0;
    for (size_t have = 0; have < sizeof bytes && got >= 0; have += (size_t)got) {
        got = zip_fread(member, bytes, sizeof bytes - have);
        ck_assert_int_ne(got, 0);
    }
    ck_assert_int_lt(got, 0);
    zip_fclose(member);
    archive_close(&a);
}
END_TEST

TCase *npz_refusal_case(void) {
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, folder_make, folder_remove);
    tcase_add_test(refusals, names_are_checked);
    tcase_add_test(refusals, too_many_members_are_refused);
    tcase_add_test(refusals, claimed_members_are_bounded);
    tcase_add_test(refusals, the_directory_is_bounded);
    tcase_add_test(refusals, the_directory_is_not_trusted);
    tcase_add_test(refusals, wrong_unpacked_sizes_are_refused);
    tcase_add_test(refusals, overlapping_members_are_refused);
    tcase_add_test(refusals, cut_files_are_refused);
    tcase_add_test(refusals, changed_files_crash_nothing);
    tcase_add_test(refusals, what_is_no_file_is_refused);
    tcase_add_test(refusals, a_file_that_shrinks_is_no_end_of_data);
    return refusals;
}
