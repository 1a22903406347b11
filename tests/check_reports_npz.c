/* Names inside .npz files that other readers took for each other. */
#include <check.h>

#include <mha/io.h>

#include "folder.h"
#include "npz_cases.h"
#include "npz_maker.h"

static void add_number(const char *name, float number) {
    make_npy_of(1, NPY_FLOATS("()"), &number, sizeof number);
    make_zip_member(name);
}

static void assert_number(const mha_arrays *arrays, const char *name, float number) {
    const mha_array *array = mha_arrays_find(arrays, name);
    ck_assert_msg(array != NULL, "no array %s", name);
    ck_assert_str_eq(array->name, name);
    ck_assert_int_eq(array->dtype, MHA_FLOAT32);
    ck_assert_uint_eq(array->rank, 0);
    ck_assert_mem_eq(array->data, &number, sizeof number);
}

START_TEST(duplicate_members_are_refused) {
    make_zip_begin();
    add_number("Wq.npy", 1);
    add_number("Wk.npy", 2);
    add_number("Wq.npy", 3);
    make_zip_end();
    npz_assert_zip_refused("two members have the name Wq.npy");
}
END_TEST

START_TEST(members_are_found_by_their_whole_name) {
    make_zip_begin();
    add_number("Wq", 1);
    add_number("README.txt", 2);
    add_number("Wq.npy", 3);
    add_number("layer/0/Wq.npy", 4);
    add_number("/Wq.npy", 5);
    add_number("../Wq.npy", 6);
    add_number(".npy", 7);
    make_zip_end();
    mha_arrays *arrays = npz_read_made();
    ck_assert_uint_eq(mha_arrays_count(arrays), 5);
    assert_number(arrays, "Wq", 3);
    assert_number(arrays, "layer/0/Wq", 4);
    assert_number(arrays, "/Wq", 5);
    assert_number(arrays, "../Wq", 6);
    assert_number(arrays, "", 7);
    ck_assert_ptr_null(mha_arrays_find(arrays, "Wo"));
    ck_assert_ptr_null(mha_arrays_find(arrays, "README.txt"));
    ck_assert_uint_eq(folder_count(), 1);
    mha_arrays_free(arrays);
}
END_TEST

START_TEST(a_name_without_its_ending_is_left_out) {
    make_zip_begin();
    add_number("Wq", 1);
    make_zip_end();
    mha_arrays *arrays = npz_read_made();
    ck_assert_uint_eq(mha_arrays_count(arrays), 0);
    ck_assert_uint_eq(mha_arrays_skipped_count(arrays), 1);
    ck_assert_str_eq(mha_arrays_skipped_at(arrays, 0), "Wq");
    mha_arrays_free(arrays);
}
END_TEST

TCase *reports_npz_case(void) {
    TCase *tests = tcase_create("names");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_test(tests, duplicate_members_are_refused);
    tcase_add_test(tests, members_are_found_by_their_whole_name);
    tcase_add_test(tests, a_name_without_its_ending_is_left_out);
    return tests;
}
