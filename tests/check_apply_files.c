/* Files that `mha apply` reads and writes: both formats, sizes of 0, and full disks. */
#include "check_apply.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "program_cases.h"

static struct lesson lesson;

static struct input with_gradient(void) {
    lesson_fill(&lesson);
    struct input input = lesson_input(&lesson);
    input_set(&input, DOUBLES("grad_output", lesson.grad_output, B, T, D));
    return input;
}

START_TEST(safetensors_in_and_out) {
    struct input input = with_gradient();
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    ck_assert_int_eq(
        mha_safetensors_write(folder_path("in.safetensors"), input.at, input.count, NULL, 0, NULL),
        MHA_OK);
    struct outcome outcome = run_well(WORDS("apply", "in.safetensors", "-o", "out.safetensors"));
    outcome_free(&outcome);
    mha_arrays *found = read_arrays("out.safetensors");
    assert_same_arrays(found, expected);
    mha_arrays_free(found);
    input_remove(&input, "heads");
    ck_assert_int_eq(mha_safetensors_write(folder_path("in.safetensors"), input.at, input.count,
                         &(mha_metadata){"heads", "2"}, 1, NULL),
        MHA_OK);
    outcome = run_well(WORDS("apply", "in.safetensors", "-o", "other.npz"));
    outcome_free(&outcome);
    found = read_arrays("other.npz");
    assert_same_arrays(found, expected);
    mha_arrays_free(found);
    mha_arrays_free(expected);
}
END_TEST

/* Results never take the place of what they were made from, under whatever name. */
START_TEST(the_input_is_not_replaced) {
    const struct input input = with_gradient();
    mha_arrays_free(apply(&input, NO_OPTIONS));
    ck_assert_int_eq(symlink("in.npz", folder_path("link.npz")), 0);
    assert_program_refuses(
        WORDS("apply", "in.npz", "-o", "in.npz"), "-o in.npz is the file in.npz that is read");
    assert_program_refuses(
        WORDS("apply", "in.npz", "-o", "link.npz"), "-o link.npz is the file in.npz that is read");
    assert_program_refuses(WORDS("apply", "out.npz", "--weights", "in.npz", "-o", "./in.npz"),
        "-o ./in.npz is the file in.npz that is read");
}
END_TEST

/* What overflows is written as it is, and told. */
START_TEST(an_overflow_is_told) {
    static const double query[] = {1e200}, context[] = {1e200, -1e200};
    const struct input input = mean_input(query, 1, context, 2);
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), input.at, input.count, NULL), MHA_OK);
    struct outcome outcome = run_well(WORDS("apply", "in.npz", "-o", "out.npz"));
    ck_assert_str_eq(outcome.err, "");
    outcome_free(&outcome);
    static const double large[] = {1.7e308, 1.7e308};
    const struct input sum = mean_input(large, 2, NULL, 0);
    static const double two[] = {2.0};
    struct input doubled = sum;
    input_set(&doubled, DOUBLES("wo", two, 1, 1));
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), doubled.at, doubled.count, NULL), MHA_OK);
    outcome = run_well(WORDS("apply", "in.npz", "-o", "out.npz"));
    ck_assert_str_eq(
        outcome.err, "mha: out.npz: output[0, 0, 0] is inf, its terms are too large\n");
    outcome_free(&outcome);
}
END_TEST

/* Names that nothing is read from are listed, weights are not. */
START_TEST(unknown_arrays_are_left_out_and_listed) {
    struct input input = with_gradient();
    mha_arrays *expected = apply(&input, NO_OPTIONS);
    static const double bias[D];
    static const unsigned char bytes[T * S];
    input_set(&input, DOUBLES("gradoutput", lesson.query, B, T, D));
    input_set(&input, ARRAY("msk", MHA_BOOL, bytes, T, S));
    input_set(&input, DOUBLES("line\nbreak", bias, 1));
    input_set(&input, DOUBLES("layer_norm", bias, D));
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), input.at, input.count, NULL), MHA_OK);
    struct outcome outcome = run_well(WORDS("apply", "in.npz", "-o", "out.npz"));
    ck_assert_str_eq(
        outcome.err, "mha: in.npz: left out: gradoutput, msk, line?break, layer_norm (4)\n");
    outcome_free(&outcome);
    mha_arrays *found = read_arrays("out.npz");
    assert_same_arrays(found, expected);
    mha_arrays_free(found);
    mha_arrays_free(expected);
}
END_TEST

/* Beside --weights, what would have been weights is left out too. */
START_TEST(part_of_the_weights_is_left_out) {
    struct input input = with_gradient();
    ck_assert_int_eq(mha_npz_write(folder_path("w.npz"), input.at, input.count, NULL), MHA_OK);
    static const char *const names[] = {"wk", "wv", "wo", "heads"};
    for (size_t i = 0; i < 4; i++) {
        input_remove(&input, names[i]);
    }
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), input.at, input.count, NULL), MHA_OK);
    struct outcome outcome =
        run_well(WORDS("apply", "in.npz", "-o", "out.npz", "--weights", "w.npz"));
    ck_assert_str_eq(outcome.err, "mha: w.npz: left out: query, context, grad_output (3)\n"
                                  "mha: in.npz: left out: wq (1)\n");
    outcome_free(&outcome);
}
END_TEST

static const size_t empty_sizes[][3] = {{0, 3, 3}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}, {2, 0, 0}};
enum { EMPTY_SIZES = sizeof empty_sizes / sizeof *empty_sizes };

static void assert_zeros(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(numbers[i] == 0.0, "%zu: %g", i, numbers[i]);
    }
}

/* What there is has the right shape and is zero. */
START_TEST(a_size_may_be_0) {
    const size_t b = empty_sizes[_i][0], t = empty_sizes[_i][1], s = empty_sizes[_i][2];
    static const double ones[] = {
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t heads = 2;
    static const char *const names[] = {"wq", "wk", "wv", "wo"};
    struct input input = {.count = 0};
    input_set(&input, DOUBLES("query", ones, b, t, 4));
    input_set(&input, DOUBLES("context", ones, b, s, 4));
    input_set(&input, DOUBLES("grad_output", ones, b, t, 4));
    for (size_t i = 0; i < 4; i++) {
        input_set(&input, DOUBLES(names[i], ones, 4, 4));
    }
    input_set(&input, (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads});
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    ck_assert_uint_eq(mha_arrays_count(arrays), 8);
    RESULT(arrays, "weights", b, 2, t, s);
    assert_zeros(RESULT(arrays, "output", b, t, 4), b * t * 4);
    assert_zeros(RESULT(arrays, "grad_query", b, t, 4), b * t * 4);
    assert_zeros(RESULT(arrays, "grad_context", b, s, 4), b * s * 4);
    assert_zeros(RESULT(arrays, "grad_wq", 4, 4), 4 * 4);
    assert_zeros(RESULT(arrays, "grad_wk", 4, 4), 4 * 4);
    assert_zeros(RESULT(arrays, "grad_wv", 4, 4), 4 * 4);
    assert_zeros(RESULT(arrays, "grad_wo", 4, 4), 4 * 4);
    mha_arrays_free(arrays);
}
END_TEST

/* A file that holds next to nothing may claim a batch that would take for ever, or memory that no
 * machine has. */
START_TEST(claims_of_size_cost_nothing) {
    static const double one = 1.0;
    struct input input = mean_input(&one, 1, NULL, 0);
    input_set(&input, DOUBLES("query", &one, (size_t)1 << 40, 0, 1));
    mha_arrays *arrays = apply(&input, NO_OPTIONS);
    RESULT(arrays, "weights", (size_t)1 << 40, 1, 0, 0);
    mha_arrays_free(arrays);
    const size_t length = 1000000;
    double *zeros = calloc(length, sizeof *zeros);
    ck_assert_ptr_nonnull(zeros);
    input_set(&input, DOUBLES("query", zeros, 1, length, 1));
    assert_apply_refuses(
        &input, NO_OPTIONS, "no memory for 16000064000032 bytes, the machine has ");
    assert_apply_refuses(&input, WORDS("--kernel", "reference"),
        "no memory for 40000096000032 bytes, the machine has ");
    free(zeros);
}
END_TEST

START_TEST(a_refusal_leaves_the_old_result) {
    static const char before[] = "an older result";
    static const int64_t lengths[] = {6, 7};
    struct input input = with_gradient();
    folder_write("out.npz", before, sizeof before);
    input_set(&input, ARRAY("lengths", MHA_INT64, lengths, B));
    assert_apply_refuses(&input, NO_OPTIONS, "length 7 of sample 1");
    ck_assert(folder_holds("out.npz", before, sizeof before));
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_result) {
    static const char before[] = "an older result";
    const struct input input = with_gradient();
    ck_assert_int_eq(mha_npz_write(folder_path("in.npz"), input.at, input.count, NULL), MHA_OK);
    folder_write("out.npz", before, sizeof before);
    struct outcome outcome = run_program_limited(
        folder_path(""), WORDS("apply", "in.npz", "-o", "out.npz"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_msg(strstr(outcome.err, "out.npz") != NULL, "%s", outcome.err);
    ck_assert_str_eq(strchr(outcome.err, '\n'), "\n");
    outcome_free(&outcome);
    ck_assert(folder_holds("out.npz", before, sizeof before));
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

TCase *apply_files(void) {
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_test(files, safetensors_in_and_out);
    tcase_add_test(files, the_input_is_not_replaced);
    tcase_add_test(files, an_overflow_is_told);
    tcase_add_test(files, unknown_arrays_are_left_out_and_listed);
    tcase_add_test(files, part_of_the_weights_is_left_out);
    tcase_add_loop_test(files, a_size_may_be_0, 0, EMPTY_SIZES);
    tcase_add_test(files, claims_of_size_cost_nothing);
    tcase_add_test(files, a_refusal_leaves_the_old_result);
    tcase_add_test(files, a_full_disk_leaves_the_old_result);
    return files;
}
