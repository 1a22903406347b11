/* Broken .npz files are refused in one line that names file and member, and crash nothing. */
#include <check.h>
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

START_TEST(names_are_checked) {
    static const char *const twice[] = {"x.npy", "y.npy", "x.npy"};
    static const char *const others[] = {"readme.txt", "x.npy", "x.npy/", "npy"};
    static const char *const others_twice[] = {"readme.txt", "x.npy", "readme.txt"};
    make_npy(1, NPY_FLOATS("(3,)"), 12);
    make_zip(twice, 3);
    npz_assert_zip_refused("two members have the name x.npy");
    make_zip(others_twice, 3);
    npz_assert_zip_refused("two members have the name readme.txt");
    make_zip(others, 4);
    mha_arrays *npz = npz_read_made();
    ck_assert_uint_eq(mha_arrays_count(npz), 1);
    ck_assert_str_eq(mha_arrays_at(npz, 0)->name, "x");
    ck_assert_uint_eq(mha_arrays_skipped_count(npz), 3);
    ck_assert_str_eq(mha_arrays_skipped_at(npz, 0), "readme.txt");
    ck_assert_str_eq(mha_arrays_skipped_at(npz, 1), "x.npy/");
    ck_assert_str_eq(mha_arrays_skipped_at(npz, 2), "npy");
    ck_assert_ptr_null(mha_arrays_skipped_at(npz, 3));
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
    snprintf(words, sizeof words, "no usable zip directory in its %zu bytes", size - 1);
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
    tcase_add_test(refusals, cut_files_are_refused);
    tcase_add_test(refusals, changed_files_crash_nothing);
    tcase_add_test(refusals, what_is_no_file_is_refused);
    tcase_add_test(refusals, a_file_that_shrinks_is_no_end_of_data);
    return refusals;
}
