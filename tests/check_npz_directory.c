/* Directories of .npz files that claim too much, or contradict the members. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mha/io.h>

#include "folder.h"
#include "npz_bytes.h"
#include "npz_cases.h"
#include "npz_maker.h"

/* One array x of a good and small .npy file. */
static void make_good_zip(void) {
    static const char *const name[] = {"x.npy"};
    make_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12);
    make_zip(name, 1);
}

/* The number-th header of made_zip that begins with a mark. */
static unsigned char *header_of(const char *mark, size_t number) {
    size_t at = 0;
    for (;; at++) {
        ck_assert_uint_lt(at + 4, made_zip.size);
        if (memcmp(made_zip.at + at, mark, 4) == 0 && number-- == 0) {
            return made_zip.at + at;
        }
    }
}

/* Fields of a directory entry; but for the last two, a local header has them LOCAL bytes earlier. */
enum {
    FLAGS = 8,
    METHOD = 10,
    CRC = 16,
    PACKED_SIZE = 20,
    SIZE = 24,
    LOCAL = 2,
    OFFSET = 42,
    NAME = 46
};

static unsigned char *directory_field(size_t offset) {
    return header_of("PK\1\2", 0) + offset;
}

/* The same change to a byte of the number-th member in both places, so that they agree. */
static void change_both(size_t number, size_t offset, unsigned char bits) {
    header_of("PK\1\2", number)[offset] ^= bits;
    header_of("PK\3\4", number)[offset - LOCAL] ^= bits;
}

static void change_word(size_t number, size_t offset, const unsigned char word[4]) {
    memcpy(header_of("PK\1\2", number) + offset, word, 4);
    memcpy(header_of("PK\3\4", number) + offset - LOCAL, word, 4);
}

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

START_TEST(the_directory_is_not_trusted) {
    static const unsigned char huge[4] = {0x7f, 0x7f, 0x7f, 0x7f};
    make_good_zip();
    change_both(0, SIZE, 80 ^ 81); /* both sizes then disagree */
    npz_assert_zip_refused("member x.npy: it claims to unpack 81 bytes from 80");
    make_good_zip();
    change_both(0, METHOD, 8);
    change_word(0, SIZE, huge);
    npz_assert_zip_refused("member x.npy: it claims to unpack 2139062143 bytes from 80");
    make_good_zip();
    change_both(0, METHOD, 8); /* and the data are no deflated stream */
    npz_assert_zip_refused(" of 80 bytes: ");
    make_good_zip();
    change_both(0, METHOD, 12);
    npz_assert_zip_refused("member x.npy: compression method 12 is not 0");
    make_good_zip();
    change_both(0, FLAGS, 1);
    npz_assert_zip_refused("member x.npy: it is encrypted");
    make_good_zip();
    change_both(0, CRC, 1);
    npz_assert_zip_refused("member x.npy: after 80 of 80 bytes: CRC error");
}
END_TEST

/* Other programs read the local headers, and would see another file. */
START_TEST(the_directory_and_local_headers_agree) {
    static const char contradicts[] =
        "a.npz: the zip directory contradicts itself, its members or the end of the file";
    static const size_t fields[] = {METHOD, CRC, SIZE};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        make_good_zip();
        *directory_field(fields[i]) ^= 1;
        npz_assert_zip_refused(contradicts);
    }
    make_good_zip();
    *directory_field(PACKED_SIZE) += 1; /* up to the directory's own first byte */
    npz_assert_zip_refused("no usable zip directory in its 188 bytes");
    static const char *const names[] = {"mask.npy", "lengths.npy"};
    make_npy(1, NPY_FLOATS("(3,)"), 12);
    make_zip(names, 2);
    mha_arrays_free(npz_read_made());
    directory_field(NAME)[strlen("mask.np")] ^=
        'x' ^ 'y'; /* an array the less, unless it is seen */
    npz_assert_zip_refused(contradicts);
    make_zip(names, 2);
    memset(header_of("PK\1\2", 1) + OFFSET, 0, 4); /* both mean the first member */
    npz_assert_zip_refused(contradicts);
}
END_TEST

/* The first member is no array, and the second is refused before anybody knows. */
START_TEST(all_entries_are_checked_before_any_is_unpacked) {
    enum { BROKEN_METHOD, BROKEN_SIZE, TOO_LARGE, CASES };
    static const char *const words[CASES] = {"member b.npy: compression method 12",
        "member b.npy: it claims to unpack 20070 bytes from 20071",
        "member b.npy: it claims 20071 bytes, more than a header of 10012 and the 10058 of memory"};
    for (int broken = 0; broken < CASES; broken++) {
        make_zip_begin();
        make_npy(9, "", 20);
        make_zip_member("a.npy");
        make_npy(1, NPY_FLOATS("(5000,)"), 20000);
        make_zip_member("b.npy");
        make_zip_end();
        if (broken == BROKEN_METHOD) {
            change_both(1, METHOD, 12);
        } else if (broken == BROKEN_SIZE) {
            change_both(1, SIZE, 1);
        }
        folder_write("a.npz", made_zip.at, made_zip.size);
        mha_error error = {0};
        mha_arrays *npz = NULL;
        const mha_status status = mha_npz_read(&npz, folder_path("a.npz"), 10058, &error);
        ck_assert_int_eq(status, broken == TOO_LARGE ? MHA_ERROR_SIZE : MHA_ERROR_FORMAT);
        ck_assert_ptr_null(npz);
        ck_assert_msg(strstr(error.text, words[broken]) != NULL, "%s", error.text);
    }
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
        changed[SIZE - LOCAL] = changed[at + SIZE];
        folder_write("a.npz", changed, sizeof changed);
        npz_assert_refused(MHA_ERROR_FORMAT, "member matrix.npy");
    }
}
END_TEST

/* A member that lies within another promises more than the file holds. */
START_TEST(overlapping_members_are_refused) {
    static const char *const inner[] = {"b.npy"};
    static const char *const names[] = {"a.npy", "b.npy"};
    static unsigned char member[600]; /* all of b.npy, local header and data */
    make_npy(1, NPY_FLOATS("(100,)"), 400);
    make_zip(inner, 1);
    const size_t size = 30 + 5 + made_npy.size;
    ck_assert_uint_le(size, sizeof member);
    memcpy(member, made_zip.at, size);
    char text[128];
    snprintf(text, sizeof text, NPY_HEADER("'|u1'", "(%zu,)"), size);
    make_npy_of(1, text, member, size);
    make_zip(names, 2);
    const size_t local = 30 + 5 + made_npy.size;
    unsigned char *directory = made_zip.at + local; /* in place of the second member */
    memmove(directory, made_zip.at + 2 * local, made_zip.size - 2 * local);
    made_zip.size -= local;
    unsigned char *entry = directory + 46 + 5, *end = made_zip.at + made_zip.size - 22;
    const size_t offset = local - size;
    memcpy(entry + CRC, member + CRC - LOCAL, 12); /* and both sizes */
    entry[OFFSET] = (unsigned char)(offset & 0xff);
    entry[OFFSET + 1] = (unsigned char)(offset >> 8);
    end[16] = (unsigned char)(local & 0xff);
    end[17] = (unsigned char)(local >> 8);
    char words[128];
    snprintf(words, sizeof words,
        "member b.npy: it claims %zu bytes of a file of %zu bytes, %zu of them taken", size - 35,
        made_zip.size, local - 35);
    npz_assert_zip_refused(words);
}
END_TEST

TCase *npz_directory_case(void) {
    TCase *claims = tcase_create("directory");
    tcase_add_checked_fixture(claims, folder_make, folder_remove);
    tcase_add_test(claims, claimed_members_are_bounded);
    tcase_add_test(claims, the_directory_is_not_trusted);
    tcase_add_test(claims, the_directory_and_local_headers_agree);
    tcase_add_test(claims, all_entries_are_checked_before_any_is_unpacked);
    tcase_add_test(claims, wrong_unpacked_sizes_are_refused);
    tcase_add_test(claims, overlapping_members_are_refused);
    return claims;
}
