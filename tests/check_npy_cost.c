/* What broken .npy and .npz files cost before they are refused. */
#include <check.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <mha/io.h>

#include "cost.h"
#include "folder.h"
#include "npy_cases.h"
#include "npz_maker.h"

#define GIGABYTE_SHAPE NPY_FLOATS("(268435456,)")

/* The most memory that the reader may take. */
static const size_t max_bytes = (size_t)1 << 32;

static void assert_npy_cheap(void) {
    assert_cheaply_refused(mha_npy_read, "a.npy", max_bytes);
}

static void assert_npz_cheap(void) {
    assert_cheaply_refused(mha_npz_read, "a.npz", max_bytes);
}

START_TEST(claims_of_npy_headers_are_cheap) {
    make_npy(1, GIGABYTE_SHAPE, 100);
    folder_write("a.npy", made_npy.at, made_npy.size);
    assert_npy_cheap();
    /* a hole of 1 GB behind the header, and 4 bytes more than there are */
    make_npy(1, NPY_FLOATS("(268435457,)"), 0);
    folder_write("a.npy", made_npy.at, made_npy.size);
    ck_assert_int_eq(truncate(folder_path("a.npy"), (off_t)made_npy.size + (1 << 30)), 0);
    assert_npy_cheap();
    make_npy(2, GIGABYTE_SHAPE, 100);
    memset(made_npy.at + 8, 0xff, 4); /* the length of the text */
    folder_write("a.npy", made_npy.at, made_npy.size);
    ck_assert_int_eq(truncate(folder_path("a.npy"), (off_t)1 << 33), 0);
    assert_npy_cheap();
}
END_TEST

/* Bools of a sparse file: the first that is none ends the reading. */
START_TEST(wrong_numbers_are_cheap) {
    make_npy(1, NPY_HEADER("'|b1'", "(1073741824,)"), 0);
    const off_t end = (off_t)made_npy.size + (1 << 30);
    made_npy.at[made_npy.size] = 2;
    folder_write("a.npy", made_npy.at, made_npy.size + 1);
    ck_assert_int_eq(truncate(folder_path("a.npy"), end), 0);
    assert_npy_cheap();
}
END_TEST

/* The bytes of made_npy as a deflate stream of blocks that are not compressed; returns its length. */
static size_t deflate_made(unsigned char *stream) {
    enum { BLOCK = 60000 };
    size_t length = 0;
    for (size_t at = 0; at < made_npy.size;) {
        const size_t left = made_npy.size - at, size = left < BLOCK ? left : BLOCK;
        stream[length++] = size == left; /* the last block */
        for (size_t i = 0; i < 2; i++) {
            stream[length + i] = (unsigned char)(size >> 8 * i & 0xff);
            stream[length + 2 + i] = (unsigned char)(~size >> 8 * i & 0xff);
        }
        memcpy(stream + length + 4, made_npy.at + at, size);
        length += 4 + size;
        at += size;
    }
    return length;
}

/* a.npz with the one member x.npy, deflated: made_npy, with zeros behind it up to `packed` bytes in
 * the file. It claims to unpack to `size`. */
static void make_deflated(size_t packed, uint32_t size) {
    static unsigned char stream[sizeof made_npy.at];
    static const char *const name[] = {"x.npy"};
    enum { LOCAL_CRC = 14, ENTRY_CRC = 16 };
    unsigned char crc[4];
    memset(stream, 0, sizeof stream);
    const size_t length = deflate_made(stream);
    packed = packed < length ? length : packed;
    make_zip(name, 1);
    memcpy(crc, made_zip.at + LOCAL_CRC, 4);
    memcpy(made_npy.at, stream, packed);
    made_npy.size = packed;
    make_zip(name, 1);
    unsigned char *local = made_zip.at, *entry = made_zip.at + 30 + strlen("x.npy") + packed;
    ck_assert(memcmp(entry, "PK\1\2", 4) == 0);
    memcpy(local + LOCAL_CRC, crc, 4);
    memcpy(entry + ENTRY_CRC, crc, 4);
    local[8] = entry[10] = 8; /* the method */
    for (size_t i = 0; i < 4; i++) {
        local[22 + i] = entry[24 + i] = (unsigned char)(size >> 8 * i & 0xff);
    }
    folder_write("a.npz", made_zip.at, made_zip.size);
}

START_TEST(claims_of_deflated_members_are_cheap) {
    make_npy(1, GIGABYTE_SHAPE, 200000);
    make_deflated(1100000, (uint32_t)(made_npy.size - 200000) + (1 << 30));
    npz_assert_refused(MHA_ERROR_FORMAT, "member x.npy: it ends after 2000");
    assert_npz_cheap();
    /* more than deflate can make of its bytes */
    make_npy(1, GIGABYTE_SHAPE, 200000);
    make_deflated(1000000, (uint32_t)(made_npy.size - 200000) + (1 << 30));
    npz_assert_refused(MHA_ERROR_FORMAT, "member x.npy: it claims to unpack 1073741");
    assert_npz_cheap();
}
END_TEST

/* A member made in the same way that holds what it claims is read: it is the claim that is refused. */
START_TEST(such_members_are_read_when_they_are_whole) {
    make_npy(1, NPY_FLOATS("(50000,)"), 200000);
    make_deflated(0, (uint32_t)made_npy.size);
    mha_error error;
    ck_assert_msg(npz_is_read(&error), "%s", error.text);
}
END_TEST

/* 8000 names that have the same hash in libzip: as many halves "Ez" or "FY". */
START_TEST(names_of_equal_hashes_are_cheap) {
    enum { COUNT = 8000, HALVES = 14 };
    static char names[COUNT][2 * HALVES + 1];
    static const char *list[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t half = 0; half < HALVES; half++) {
            memcpy(names[i] + 2 * half, i >> half & 1 ? "Ez" : "FY", 2);
        }
        list[i] = names[i];
    }
    made_npy.size = 0;
    make_zip(list, COUNT);
    folder_write("a.npz", made_zip.at, made_zip.size);
    assert_npz_cheap();
}
END_TEST

TCase *npy_cost_case(void) {
    TCase *tests = tcase_create("cost");
    tcase_set_tags(tests, "fork");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_test(tests, claims_of_npy_headers_are_cheap);
    tcase_add_test(tests, wrong_numbers_are_cheap);
    tcase_add_test(tests, claims_of_deflated_members_are_cheap);
    tcase_add_test(tests, such_members_are_read_when_they_are_whole);
    tcase_add_test(tests, names_of_equal_hashes_are_cheap);
    return tests;
}
