/* A file is replaced as a whole or not at all. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mha/io.h>

#include "child.h"
#include "folder.h"
#include "npz_cases.h"

static const char old_text[] = "old";
static const char new_text[] = "new text";

static void replace(const char *name) {
    mha_error error = {0};
    mha_status status = mha_file_replace(folder_path(name), new_text, sizeof new_text, &error);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert(folder_holds(name, new_text, sizeof new_text));
}

static void assert_refused(const char *path, const char *words) {
    mha_error error = {0};
    ck_assert_int_eq(mha_file_replace(path, new_text, sizeof new_text, &error), MHA_ERROR_FILE);
    ck_assert_int_eq(error.status, MHA_ERROR_FILE);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" lacks \"%s\"", error.text, words);
}

START_TEST(files_are_made_and_replaced) {
    replace("a.txt");
    folder_write("a.txt", old_text, sizeof old_text);
    replace("a.txt");
    ck_assert_int_eq(mha_file_replace(folder_path("a.txt"), NULL, 0, NULL), MHA_OK);
    ck_assert(folder_holds("a.txt", "", 0));
    ck_assert_uint_eq(folder_count(), 1);
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    replace(longest);
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

/* A temporary name that is taken, perhaps by a process that was killed, is left alone. */
START_TEST(taken_names_are_passed_over) {
    char taken[64];
    snprintf(taken, sizeof taken, ".a.txt.%ld-0.tmp", (long)getpid());
    folder_write(taken, old_text, sizeof old_text);
    replace("a.txt");
    ck_assert(folder_holds(taken, old_text, sizeof old_text));
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

START_TEST(a_name_without_folder_is_in_the_working_folder) {
    ck_assert_int_eq(chdir(folder_path("")), 0);
    ck_assert_int_eq(mha_file_replace("a.txt", new_text, sizeof new_text, NULL), MHA_OK);
    ck_assert(folder_holds("a.txt", new_text, sizeof new_text));
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

static unsigned mode_of(const char *name) {
    struct stat file;
    ck_assert_int_eq(lstat(folder_path(name), &file), 0);
    return (unsigned)file.st_mode & 07777u;
}

START_TEST(permissions_stay) {
    mode_t mask = umask(027);
    replace("new.txt");
    umask(mask);
    ck_assert_uint_eq(mode_of("new.txt"), 0640);
    folder_write("old.txt", old_text, sizeof old_text);
    ck_assert_int_eq(chmod(folder_path("old.txt"), 0606), 0);
    replace("old.txt");
    ck_assert_uint_eq(mode_of("old.txt"), 0606);
}
END_TEST

/* Another user's file, or for who is not the superuser one of another group, where there is one. */
START_TEST(owner_and_group_stay) {
    gid_t groups[64];
    const int count = getgroups(64, groups);
    uid_t user = geteuid();
    gid_t group = getegid();
    for (int i = 0; i < count; i++) {
        group = groups[i] != getegid() ? groups[i] : group;
    }
    if (user == 0) {
        user = 65533;
        group = 65532;
    }
    folder_write("old.txt", old_text, sizeof old_text);
    ck_assert_int_eq(chown(folder_path("old.txt"), user, group), 0);
    ck_assert_int_eq(chmod(folder_path("old.txt"), 0640), 0);
    replace("old.txt");
    struct stat file;
    ck_assert_int_eq(stat(folder_path("old.txt"), &file), 0);
    ck_assert_uint_eq(file.st_uid, user);
    ck_assert_uint_eq(file.st_gid, group);
    ck_assert_uint_eq(mode_of("old.txt"), 0640);
}
END_TEST

static int is_link(const char *name) {
    struct stat file;
    ck_assert_int_eq(lstat(folder_path(name), &file), 0);
    return S_ISLNK(file.st_mode);
}

START_TEST(symbolic_links_stay) {
    folder_write("target", old_text, sizeof old_text);
    ck_assert_int_eq(symlink("target", folder_path("relative")), 0);
    ck_assert_int_eq(symlink(folder_path("relative"), folder_path("absolute")), 0);
    ck_assert_int_eq(symlink("missing", folder_path("dangling")), 0);
    replace("absolute");
    ck_assert(is_link("absolute") && is_link("relative") && !is_link("target"));
    ck_assert(folder_holds("target", new_text, sizeof new_text));
    replace("dangling");
    ck_assert(is_link("dangling") && !is_link("missing"));
    ck_assert_uint_eq(folder_count(), 5);
    ck_assert_int_eq(symlink("loop", folder_path("loop")), 0);
    assert_refused(folder_path("loop"), "loop: Too many levels of symbolic links");
    ck_assert_int_eq(symlink("/proc/self", folder_path("elsewhere")), 0);
    assert_refused(folder_path("elsewhere"), "it is a folder");
    ck_assert_uint_eq(folder_count(), 7);
}
END_TEST

START_TEST(unusable_targets_are_refused) {
    assert_refused(folder_path(""), "it is a folder");
    assert_refused("", "No such file");
    assert_refused("/dev/full", "not a regular file");
    assert_refused(folder_path("no/such"), "no/such: No such file or directory");
    assert_refused(folder_path("folder/"), "folder/: Is a directory");
    ck_assert_int_eq(mkfifo(folder_path("fifo"), 0600), 0);
    assert_refused(folder_path("fifo"), "not a regular file");
    folder_write("file", old_text, sizeof old_text);
    assert_refused(folder_path("file/x"), "file/x: Not a directory");
    char name[8192];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_refused(name, "cannot write nnn");
    assert_refused(folder_path("bell\a\xc2\x85/x"), "bell?\?\?/x");
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

enum { AS_EXPECTED = 0, OTHERWISE = 1, CANNOT_TELL = 2 };

/* Whether writing 4 KB of text and of numbers to "file" both fail for this reason. */
static int fail_to_write(const char *reason) {
    static const double zeros[512];
    const mha_array array = {
        .name = "zeros", .dtype = MHA_FLOAT64, .rank = 1, .dims = {512}, .data = zeros};
    mha_error text = {0};
    mha_error numbers = {0};
    mha_status first = mha_file_replace(folder_path("file"), zeros, sizeof zeros, &text);
    mha_status second = mha_npz_write(folder_path("file"), &array, 1, &numbers);
    const int expected = first == MHA_ERROR_FILE && second == MHA_ERROR_FILE &&
                         strstr(text.text, reason) != NULL && strstr(numbers.text, reason) != NULL;
    return expected ? AS_EXPECTED : OTHERWISE;
}

/* Whether a user without rights over it replaces "file" of the superuser. */
static int replace_a_file_of_another(const void *unused) {
    (void)unused;
    if (geteuid() == 0 && (setgid(65532) != 0 || setuid(65533) != 0)) {
        return CANNOT_TELL;
    }
    const mha_status status =
        mha_file_replace(folder_path("file"), new_text, sizeof new_text, NULL);
    return status == MHA_OK ? AS_EXPECTED : OTHERWISE;
}

/* The file then belongs to who replaced it. */
START_TEST(what_cannot_be_given_away_is_replaced) {
    folder_write("file", old_text, sizeof old_text);
    ck_assert_int_eq(chmod(folder_path("file"), 0666), 0);
    ck_assert_int_eq(chmod(folder_path(""), 0777), 0);
    ck_assert_int_ne(status_of_child(replace_a_file_of_another, NULL), OTHERWISE);
    ck_assert_uint_eq(mode_of("file"), 0666);
}
END_TEST

static int write_beyond_the_limit(const void *unused) {
    (void)unused;
    limit_file_size(1000);
    return fail_to_write("file: File too large");
}

START_TEST(a_full_disk_leaves_the_old_file) {
    folder_write("file", old_text, sizeof old_text);
    ck_assert_int_eq(status_of_child(write_beyond_the_limit, NULL), AS_EXPECTED);
    ck_assert(folder_holds("file", old_text, sizeof old_text));
    ck_assert_uint_eq(folder_count(), 1);
}
END_TEST

/* No permission holds the superuser back, so that another user is needed. */
static int write_without_permission(const void *unused) {
    (void)unused;
    const uid_t nobody = 65534;
    if (geteuid() == 0 && setuid(nobody) != 0) {
        return CANNOT_TELL;
    }
    return fail_to_write("file: Permission denied");
}

START_TEST(what_is_write_protected_stays) {
    folder_write("file", old_text, sizeof old_text);
    ck_assert_int_eq(chmod(folder_path("file"), 0666), 0);
    ck_assert_int_eq(chmod(folder_path(""), 0555), 0);
    int protected_folder = status_of_child(write_without_permission, NULL);
    ck_assert_int_eq(chmod(folder_path("file"), 0444), 0);
    ck_assert_int_eq(chmod(folder_path(""), 0777), 0);
    int protected_file = status_of_child(write_without_permission, NULL);
    ck_assert_int_ne(protected_folder, OTHERWISE);
    ck_assert_int_ne(protected_file, OTHERWISE);
    ck_assert(folder_holds("file", old_text, sizeof old_text));
    ck_assert_uint_eq(folder_count(), 1);
}
END_TEST

TCase *replace_case(void) {
    TCase *replacing = tcase_create("replace");
    tcase_add_checked_fixture(replacing, folder_make, folder_remove);
    tcase_add_test(replacing, files_are_made_and_replaced);
    tcase_add_test(replacing, taken_names_are_passed_over);
    tcase_add_test(replacing, a_name_without_folder_is_in_the_working_folder);
    tcase_add_test(replacing, permissions_stay);
    tcase_add_test(replacing, owner_and_group_stay);
    tcase_add_test(replacing, what_cannot_be_given_away_is_replaced);
    tcase_add_test(replacing, symbolic_links_stay);
    tcase_add_test(replacing, unusable_targets_are_refused);
    tcase_add_test(replacing, a_full_disk_leaves_the_old_file);
    tcase_add_test(replacing, what_is_write_protected_stays);
    return replacing;
}
