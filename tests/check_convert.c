/* mha convert, as users type it. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "array_assert.h"
#include "count.h"
#include "folder.h"
#include "npz_maker.h"
#include "program_cases.h"

static void init(const char *name) {
    struct outcome outcome =
        run_well(WORDS("init", "-o", name, "--width", "8", "--heads", "2", "--seed", "5"));
    outcome_free(&outcome);
}

/* Runs `mha convert WORD...`, which must succeed and say this line. */
static void convert(const char *const *words, const char *line) {
    struct outcome outcome = run_well(words);
    ck_assert_str_eq(outcome.out, line);
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
}

static void assert_same_files(const char *a, const char *b) {
    size_t size;
    unsigned char *bytes = folder_read(&size, a);
    ck_assert_int_eq(folder_holds(b, bytes, size), 1);
    free(bytes);
}

/* Through every layout and both formats, and back to the same file. */
START_TEST(round_trips_return_the_same_file) {
    init("w.npz");
    convert(WORDS("convert", "w.npz", "a.safetensors", "--to", "torch"),
        "w.npz (lesson) -> a.safetensors (torch): width 8, heads 2, float64\n");
    convert(WORDS("convert", "a.safetensors", "b.npz"),
        "a.safetensors (torch) -> b.npz (torch): width 8, heads 2 (which OUT does not keep), "
        "float64\n");
    convert(WORDS("convert", "b.npz", "c.npz", "--to", "torch-linear"),
        "b.npz (torch) -> c.npz (torch-linear): width 8, heads not told, float64\n");
    convert(WORDS("convert", "c.npz", "d.safetensors", "--to=combined", "--heads", "2"),
        "c.npz (torch-linear) -> d.safetensors (combined): width 8, heads 2, float64\n");
    convert(WORDS("convert", "d.safetensors", "e.npz", "--layout", "combined", "--to", "lesson"),
        "d.safetensors (combined) -> e.npz (lesson): width 8, heads 2, float64\n");
    assert_same_files("w.npz", "e.npz");
    convert(WORDS("convert", "w.npz", "w.npz", "--to", "combined"),
        "w.npz (lesson) -> w.npz (combined): width 8, heads 2, float64\n");
    convert(WORDS("convert", "w.npz", "w.npz", "--to", "lesson"),
        "w.npz (combined) -> w.npz (lesson): width 8, heads 2, float64\n");
    assert_same_files("w.npz", "e.npz");
    ck_assert_uint_eq(folder_count(), 6);
}
END_TEST

/* A file takes its own place only when it holds nothing else. */
START_TEST(nothing_else_is_lost_in_place) {
    init("w.npz");
    mha_arrays *arrays = read_arrays_with(mha_npz_read, "w.npz");
    mha_array held[6];
    for (size_t i = 0; i < 5; i++) {
        held[i] = *mha_arrays_at(arrays, i);
    }
    held[5] = held[0];
    held[5].name = "embedding";
    ck_assert_int_eq(mha_npz_write(folder_path("model.npz"), held, 6, NULL), MHA_OK);
    mha_arrays_free(arrays);
    assert_program_refuses(WORDS("convert", "model.npz", "./model.npz", "--to", "combined"),
        "mha: model.npz also holds embedding, which would be lost: write to another file\n");
    assert_program_refuses(WORDS("convert", "w.npz", "w.npz", "--to", "torch"),
        "mha: w.npz also holds the number of heads, which would be lost: write to another file\n");
}
END_TEST

START_TEST(prefixes_are_taken_and_given) {
    init("w.npz");
    convert(WORDS("convert", "w.npz", "t.npz", "--to", "torch", "--to-prefix", "enc.0."),
        "w.npz (lesson) -> t.npz (torch): width 8, heads 2 (which OUT does not keep), float64\n");
    mha_arrays *arrays = read_arrays("t.npz");
    ck_assert_uint_eq(mha_arrays_count(arrays), 2);
    ck_assert_ptr_nonnull(mha_arrays_find(arrays, "enc.0.in_proj_weight"));
    ck_assert_ptr_nonnull(mha_arrays_find(arrays, "enc.0.out_proj.weight"));
    mha_arrays_free(arrays);
    convert(
        WORDS("convert", "t.npz", "u.npz", "--prefix", "enc.0.", "--to", "lesson", "--heads", "2"),
        "t.npz (torch) -> u.npz (lesson): width 8, heads 2, float64\n");
    assert_same_files("w.npz", "u.npz");
    assert_program_refuses(
        WORDS("convert", "w.npz", "x.npz", "--to-prefix", "a."), "lesson have no prefix, 'a.'");
    assert_program_refuses(WORDS("convert", "t.npz", "x.npz", "--prefix", "enc."),
        "no weights have the prefix 'enc.'; there are some with the prefix 'enc.0.'");
}
END_TEST

static const double zeros[64];

static mha_array square(const char *name, mha_dtype dtype) {
    return (mha_array){.name = name, .dtype = dtype, .rank = 2, .dims = {2, 2}, .data = zeros};
}

static void write(const char *name, const mha_array *arrays, size_t count) {
    mha_error error;
    ck_assert_msg(
        mha_npz_write(folder_path(name), arrays, count, &error) == MHA_OK, "%s", error.text);
}

START_TEST(what_is_left_out_is_named) {
    const mha_array arrays[] = {square("wq", MHA_FLOAT32), square("b", MHA_INT64),
        square("wk", MHA_FLOAT32), square("wv", MHA_FLOAT32), square("wo", MHA_FLOAT32),
        {.name = "heads", .dtype = MHA_INT64, .rank = 1, .dims = {1}, .data = (const int64_t[]){2}},
        square("c", MHA_FLOAT32), square("d", MHA_FLOAT32), square("e", MHA_FLOAT32),
        square("f", MHA_FLOAT32), square("g", MHA_FLOAT32)};
    write("w.npz", arrays, 7);
    struct outcome outcome = run_well(WORDS("convert", "w.npz", "o.npz", "--to", "torch"));
    ck_assert_str_eq(outcome.out,
        "w.npz (lesson) -> o.npz (torch): width 2, heads 2 (which OUT does not keep), float32\n");
    ck_assert_str_eq(outcome.err, "mha: w.npz: left out: b, c (2)\n");
    outcome_free(&outcome);
    write("w.npz", arrays, 11);
    outcome = run_well(WORDS("convert", "w.npz", "o.npz", "--to", "torch"));
    ck_assert_str_eq(outcome.err, "mha: w.npz: left out: b, c, d, e, f, ... (6)\n");
    outcome_free(&outcome);
}
END_TEST

/* ... and members of the file that are no arrays. */
START_TEST(what_is_no_array_is_named) {
    static const char *const names[] = {"wq.npy", "wk.npy", "README.txt", "wv.npy", "wo.npy", "Wq"};
    make_npy(1, NPY_FLOATS("(2, 2)"), 16);
    make_zip(names, 6);
    folder_write("w.npz", made_zip.at, made_zip.size);
    struct outcome outcome = run_well(WORDS("convert", "w.npz", "o.npz", "--to", "torch"));
    ck_assert_str_eq(outcome.err, "mha: w.npz: left out: README.txt, Wq (2)\n");
    outcome_free(&outcome);
}
END_TEST

/* The option that is asked for stands in the line. */
START_TEST(what_files_do_not_tell_is_asked_for) {
    const mha_array arrays[] = {square("Wq", MHA_FLOAT32), square("Wk", MHA_FLOAT32),
        square("Wv", MHA_FLOAT32), square("Wo", MHA_FLOAT32), square("a.Wq", MHA_FLOAT32),
        square("a.Wk", MHA_FLOAT32), square("a.Wv", MHA_FLOAT32), square("a.Wo", MHA_FLOAT32)};
    write("w.npz", arrays, 4);
    assert_program_refuses(WORDS("convert", "w.npz", "o.npz"), "(--layout)");
    assert_program_refuses(
        WORDS("convert", "w.npz", "o.npz", "--layout", "lesson"), "name the heads (--heads)");
    convert(WORDS("convert", "w.npz", "o.npz", "--layout", "torch-linear", "--heads", "1", "--to",
                "lesson"),
        "w.npz (torch-linear) -> o.npz (lesson): width 2, heads 1, float32\n");
    write("w.npz", arrays, 8);
    assert_program_refuses(
        WORDS("convert", "w.npz", "x.npz", "--layout", "lesson"), "'', 'a.' (--prefix)");
}
END_TEST

static const struct {
    const char *words[12], *text;
} wrong_uses[] = {{{"convert"}, "IN is missing"}, {{"convert", "w.npz"}, "OUT is missing"},
    {{"convert", "w.npz", "a.npz", "b.npz"}, "'b.npz' is one more"},
    {{"convert", "none.npz", "a.npz"}, "none.npz"}, {{"convert", ".", "a.npz"}, "folder"},
    {{"convert", "w.npz", "a.pt"}, "a.pt"},
    {{"convert", "w.npz", "a.npz", "--to", "jax"}, "--to 'jax'"},
    {{"convert", "w.npz", "a.npz", "--layout", "unknown"}, "--layout 'unknown'"},
    {{"convert", "w.npz", "a.npz", "--layout", "torch"},
        "names such as wq are those of the layout lesson, not of the layout torch"},
    {{"convert", "w.npz", "a.npz", "--heads", "4"}, "have 2 heads, not 4"},
    {{"convert", "w.npz", "a.npz", "--heads", "0"}, "'0'"}};

START_TEST(wrong_use_is_refused) {
    init("w.npz");
    assert_program_refuses(wrong_uses[_i].words, wrong_uses[_i].text);
}
END_TEST

/* The matrices of w.npz need 512 bytes each. */
static const struct {
    const char *bytes, *text;
} limit_cases[] = {{"511", "511"}, {"0", "--max-bytes '0'"}, {"-1", "--max-bytes '-1'"},
    {"1T", "--max-bytes '1T'"}, {"K", "--max-bytes 'K'"}, {"", "--max-bytes ''"},
    {"1.5K", "--max-bytes '1.5K'"}, {" 1", "--max-bytes ' 1'"},
    {"18446744073709551616", "--max-bytes '18446744073709551616'"},
    {"18014398509481984K", "--max-bytes '18014398509481984K'"}};

START_TEST(large_arrays_are_refused) {
    init("w.npz");
    assert_program_refuses(WORDS("convert", "w.npz", "a.npz", "--max-bytes", limit_cases[_i].bytes),
        limit_cases[_i].text);
}
END_TEST

START_TEST(arrays_within_the_limit_are_read) {
    init("w.npz");
    static const char *const enough[] = {"512", "1K", "1M", "1G"};
    for (size_t i = 0; i < COUNT(enough); i++) {
        struct outcome outcome =
            run_well(WORDS("convert", "w.npz", "a.npz", "--max-bytes", enough[i]));
        outcome_free(&outcome);
    }
}
END_TEST

/* The file that was there stays when the new one cannot be written. */
START_TEST(full_disk_keeps_the_old_file) {
    struct outcome outcome =
        run_well(WORDS("init", "-o", "w.npz", "--width", "32", "--heads", "2"));
    outcome_free(&outcome);
    size_t size;
    unsigned char *bytes = folder_read(&size, "w.npz");
    outcome = run_program_limited(
        folder_path(""), WORDS("convert", "w.npz", "w.npz", "--to", "combined"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "File too large"));
    ck_assert_int_eq(folder_holds("w.npz", bytes, size), 1);
    ck_assert_uint_eq(folder_count(), 1);
    outcome_free(&outcome);
    free(bytes);
}
END_TEST

Suite *convert_suite(void) {
    Suite *suite = suite_create("convert");
    TCase *cases = tcase_create("convert");
    tcase_add_checked_fixture(cases, folder_make, folder_remove);
    tcase_add_test(cases, round_trips_return_the_same_file);
    tcase_add_test(cases, nothing_else_is_lost_in_place);
    tcase_add_test(cases, prefixes_are_taken_and_given);
    tcase_add_test(cases, what_is_left_out_is_named);
    tcase_add_test(cases, what_is_no_array_is_named);
    tcase_add_test(cases, what_files_do_not_tell_is_asked_for);
    tcase_add_loop_test(cases, wrong_use_is_refused, 0, COUNT(wrong_uses));
    tcase_add_loop_test(cases, large_arrays_are_refused, 0, COUNT(limit_cases));
    tcase_add_test(cases, arrays_within_the_limit_are_read);
    tcase_add_test(cases, full_disk_keeps_the_old_file);
    suite_add_tcase(suite, cases);
    return suite;
}
