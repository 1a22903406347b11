/* Headers of .npy members: what is read, and what is refused with a reason. More of them stand in
 * check_reports_npy.c. */
#include <check.h>
#include <string.h>

#include "folder.h"
#include "npz_cases.h"
#include "npz_maker.h"

static const struct {
    unsigned major;
    const char *text;
    size_t data;
    const char *words; /* NULL: it is read */
} headers[] = {
    {1, "{\"shape\":(1,3,),\"fortran_order\":False,\"descr\":\"<i8\"}  \n", 24, NULL},
    {1, "{ 'shape' : ( ) , 'descr' : '<f8' , 'fortran_order' : False , }\n", 8, NULL},
    {1, NPY_FLOATS("(0, 4)"), 0, NULL},
    {0, NPY_FLOATS("(3,)"), 12, "version 0.0 is not 1.0, 2.0 or 3.0"},
    {1, NPY_FLOATS("(3,)"), 11,
        "shape (3,) of float32 needs 12 bytes of data, not the 11 that are there"},
    {1, NPY_FLOATS("(3,)"), 0, "needs 12 bytes of data, not the 0 "},
    {1, NPY_FLOATS("(2, 3)"), 25, "shape (2, 3) of float32 needs 24 bytes of data, not the 25 "},
    {1, NPY_FLOATS("(0, 4)"), 4, "needs 0 bytes of data, not the 4 "},
    {1, NPY_FLOATS("()"), 8, "shape () of float32 needs 4 bytes of data, not the 8 "},
    {1, NPY_HEADER("'>f8'", "(1,)"), 8, NULL},
    {1, NPY_HEADER("'|O'", "(1,)"), 8, "dtype '|O' is not"},
    {1, NPY_HEADER("'<f2'", "(1,)"), 2, NULL},
    {1, NPY_HEADER("'|b1'", "(1,)"), 1, NULL},
    {1, NPY_HEADER("'=f4'", "(1,)"), 4, NULL},
    {1, NPY_HEADER("'<u1'", "(1,)"), 1, NULL},
    {1, NPY_HEADER("'u1'", "(1,)"), 1, NULL},
    {1, NPY_FLOATS("(3L, 1L)"), 12, NULL}, /* as Python 2 wrote it */
    {1, NPY_HEADER("'|f4'", "(1,)"), 4, NULL},
    {1, NPY_HEADER("'i8'", "(1,)"), 8, NULL},
    {1, NPY_HEADER("'?'", "(1,)"), 1, NULL},
    {1, NPY_HEADER("'|?'", "(1,)"), 1, NULL},
    {1, NPY_HEADER("'>?'", "(1,)"), 1, NULL},
    {1, NPY_HEADER("'?2'", "(1,)"), 2, "dtype '?2' is not"},
    {1, "\n{'descr':\t'<f4',\r\n'fortran_order':\fFalse, 'shape': (3\n,), } \t\n", 12, NULL},
    {1, "{'descr': '<f4',\v'fortran_order': False, 'shape': (3,), }\n", 12,
        "malformed at character 17 of"},
    {1, NPY_HEADER("'<f'", "(1,)"), 4, "dtype '<f' is not a bool, an integer or a float"},
    {1, NPY_HEADER("'<b2'", "(1,)"), 2, "dtype '<b2' is not"},
    {1, NPY_HEADER("'<i16'", "(1,)"), 16, "dtype '<i16' is not"},
    {1, NPY_HEADER("'<'", "(1,)"), 4, "dtype '<' is not"},
    {1, NPY_HEADER("'<M8[ns]'", "(1,)"), 8, "dtype '<M8[ns]' is not"},
    {1, NPY_HEADER("'<U3'", "(1,)"), 12, "dtype '<U3' is not"},
    {1, NPY_HEADER("'|V2'", "(1,)"), 2, "dtype '|V2' is not"},
    {1, NPY_HEADER("'bfloat16'", "(1,)"), 2, "dtype 'bfloat16' is not"},
    {1, NPY_FLOATS("(L,)"), 4, "malformed"},
    {1, NPY_FLOATS("(3 L,)"), 12, "malformed"},
    {1, NPY_HEADER("''", "(1,)"), 4, "dtype '' is not"},
    {1, NPY_HEADER("'\x1b[2J\n\x9b\xc2\x85'", "(1,)"), 4, "dtype '?[2J?\?\?\?' is not"},
    {1, NPY_HEADER("'0123456789012345678901234567890123456789!'", "(1,)"), 4,
        "0123456789...' is not"},
    {1, NPY_HEADER("[('a', '<f4')]", "(1,)"), 4,
        "dtype '[('a', '<f4')], 'fortran_order': False, ...'"},
    {1, NPY_HEADER("<f4", "(1,)"), 4, "malformed at character 11 of"},
    {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }\n", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }\n", 12, "character 35 of 54"},
    {1, NPY_FLOATS("(-3,)"), 12, "negative axis"},
    {1, NPY_FLOATS("(3)"), 12, "malformed"},
    {1, NPY_FLOATS("(2 3)"), 24, "malformed"},
    {1, NPY_FLOATS("(,)"), 4, "malformed"},
    {1, NPY_FLOATS("(3.0,)"), 12, "malformed"},
    {1, NPY_FLOATS("[3]"), 12, "malformed"},
    {1, NPY_FLOATS("(3,"), 12, "malformed"},
    {1, NPY_FLOATS("(18446744073709551616,)"), 12, "axis longer than 18446744073709551615"},
    {1, NPY_FLOATS("(99999999999999999999999,)"), 12, "axis longer than"},
    {1, NPY_FLOATS("(18446744073709551615,)"), 12,
        "needs more bytes of data than the 12 that are there"},
    {1, NPY_FLOATS("(4294967296, 4294967296)"), 0,
        "needs more bytes of data than the 0 that are there"},
    {1, NPY_FLOATS("(0, 4294967296, 4294967296)"), 0, "needs more bytes of data than the 0"},
    {1, NPY_FLOATS("(1000000000000,)"), 12, "needs 4000000000000 bytes of data, not the 12 "},
    {1, NPY_FLOATS("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4, "more than 8 axes"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x\n", 12,
        "malformed at character 59 of 60"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n\n", 12, NULL},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)\n", 12,
        "malformed: it ends too early, after 55 characters"},
    {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}\n", 12, "malformed"},
    {1, "{'descr': '<f4', 'descr': '<f4', 'shape': (3,), }\n", 12, "has 'descr' twice"},
    {1, "{'descr': '<f4', " NPY_ORDER "'shape': (3,), 'more': 1, }\n", 12, "unknown key 'more'"},
    {1, "{'descr: }\n", 12, "malformed"},
    {1, "", 12, "malformed: it ends too early, after 0 characters"},
};

START_TEST(headers_are_checked) {
    static const char *const name[] = {"x.npy"};
    make_npy(headers[_i].major, headers[_i].text, headers[_i].data);
    make_zip(name, 1);
    if (headers[_i].words != NULL) {
        npz_assert_zip_refused(headers[_i].words);
        npz_assert_zip_refused("member x.npy: ");
    } else {
        mha_error error;
        folder_write("a.npz", made_zip.at, made_zip.size);
        ck_assert_msg(npz_is_read(&error), "%s", error.text);
    }
}
END_TEST

START_TEST(header_lengths_are_checked) {
    static const char *const name[] = {"x.npy"};
    make_npy(1, NPY_FLOATS("(3,)"), 12);
    made_npy.at[9] = 0x10;
    make_zip(name, 1);
    npz_assert_zip_refused("80 bytes are too few for a .npy header of at least 4164");
    made_npy.at[9] = 0xff;
    make_zip(name, 1);
    npz_assert_zip_refused("a .npy header of 65338 characters is longer than 10000");
    make_npy(2, NPY_FLOATS("(3,)"), 12);
    memset(made_npy.at + 8, 0xff, 4);
    make_zip(name, 1);
    npz_assert_zip_refused("a .npy header of 4294967295 characters is longer than 10000");
    for (made_npy.size = 0; made_npy.size < 12; made_npy.size++) {
        make_zip(name, 1);
        npz_assert_zip_refused("bytes are too few for a .npy header");
    }
    make_npy(1, NPY_FLOATS("(3,)"), 12);
    made_npy.at[7] = 1;
    make_zip(name, 1);
    npz_assert_zip_refused("version 1.1 is not 1.0, 2.0 or 3.0");
    made_npy.at[1] = 'M';
    make_zip(name, 1);
    npz_assert_zip_refused("member x.npy: this is not a .npy file");
}
END_TEST

TCase *npz_header_case(void) {
    TCase *tests = tcase_create("headers");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_loop_test(tests, headers_are_checked, 0, (int)(sizeof headers / sizeof *headers));
    tcase_add_test(tests, header_lengths_are_checked);
    return tests;
}
