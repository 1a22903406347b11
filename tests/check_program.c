/* The program as a user meets it: commands and wrong use. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "program_cases.h"

START_TEST(help_lists_every_command) {
    struct outcome outcome = run_well(WORDS("--help"));
    const char *const commands[] = {"train", "eval", "gradcheck", "plot", "tape", "tasks"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ck_assert_ptr_nonnull(strstr(outcome.out, commands[i]));
        struct outcome help = run_well(WORDS(commands[i], "--help"));
        ck_assert_ptr_nonnull(strstr(help.out, "Usage: mha "));
        struct outcome brief = run_well(WORDS(commands[i], "-h"));
        ck_assert_str_eq(brief.out, help.out);
        outcome_free(&help);
        outcome_free(&brief);
    }
    outcome_free(&outcome);
}
END_TEST

START_TEST(wrong_words_are_refused) {
    assert_program_refuses(WORDS("fly"), "unknown command 'fly'");
    assert_program_refuses(WORDS("train"), "a TASK is missing");
    assert_program_refuses(WORDS("train", "revers"), "unknown task 'revers'");
    assert_program_refuses(WORDS("train", "copy", "reverse"), "'copy' and 'reverse'");
    assert_program_refuses(WORDS("train", "copy", "--speed", "3"), "--speed");
    assert_program_refuses(WORDS("train", "--causal", "top-left"), "--causal=top-left");
    assert_program_refuses(WORDS("train", "copy", "--causal", "top-left"), "--causal=top-left");
    assert_program_refuses(
        WORDS("train", "--causal", "bottom-right", "copy"), "--causal=bottom-right");
    assert_program_refuses(WORDS("train", "a\033[31m\nb", "c"), "'a?[31m?b'");
    assert_program_refuses(WORDS("train", "copy", "--causal=left"), "'left'");
    assert_program_refuses(WORDS("train", "copy", "--causal=square"), "'square'");
    assert_program_refuses(WORDS("train", "copy", "--schedule", "fast"), "'fast'");
    assert_program_refuses(WORDS("train", "copy", "--words", "list"), "copy reads no words");
    assert_program_refuses(WORDS("eval"), "a RUN is missing");
    assert_program_refuses(WORDS("gradcheck", "--op", "magic"), "'magic'");
    assert_program_refuses(WORDS("gradcheck", "mask"), "unexpected argument 'mask'");
    assert_program_refuses(WORDS("tape", "4"), "unexpected argument '4'");
    assert_program_refuses(WORDS("plot", "loss"), "RUN");
    assert_program_refuses(WORDS("tasks", "copy"), "unexpected argument 'copy'");
}
END_TEST

START_TEST(wrong_numbers_are_refused) {
    static const char *const sizes[] = {
        "0", "-1", "1.5", "x", "", " 4", "+4", "0x10", "99999999999999999999", "1073741825"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[64];
        snprintf(text, sizeof text, "--heads '%s'", sizes[i]);
        assert_program_refuses(WORDS("train", "copy", "--heads", sizes[i]), text);
    }
    static const char *const rates[] = {
        "0", "-1", "nan", "inf", "1e999", "1e-400", "0x1", "x", "0.1x"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char text[64];
        snprintf(text, sizeof text, "--lr '%s'", rates[i]);
        assert_program_refuses(WORDS("train", "copy", "--lr", rates[i]), text);
    }
    assert_program_refuses(WORDS("train", "copy", "--seed", "18446744073709551616"), "--seed");
    assert_program_refuses(WORDS("train", "copy", "--momentum", "1"), "--momentum '1'");
    assert_program_refuses(WORDS("train", "copy", "--nesterov", "--momentum", "0"), "momentum");
    assert_program_refuses(WORDS("train", "copy", "--eval-every", "0"), "--eval-every '0'");
}
END_TEST

START_TEST(sizes_that_do_not_fit_are_refused) {
    assert_program_refuses(
        WORDS("train", "copy", "--heads", "5"), "width 32 is not divisible by 5 heads");
    assert_program_refuses(WORDS("train", "copy", "--width", "16"), "width 16");
    assert_program_refuses(
        WORDS("train", "copy", "--target-length", "4", "--source-length", "5"), "length 4");
    assert_program_refuses(WORDS("train", "retrieve", "--causal", "--target-length", "4"),
        "target length 4 and source length 16 needs an alignment");
    assert_program_refuses(
        WORDS("tape", "--width", "6", "--heads", "4"), "width 6 is not divisible by 4 heads");
    assert_program_refuses(WORDS("tape", "--batch", "1073741824", "--target-length", "1073741824",
                               "--heads", "1073741824", "--width", "1073741824"),
        "exceed the address space");
    assert_program_refuses(
        WORDS("gradcheck", "--width", "4", "--heads", "3"), "width 4 is not divisible by 3 heads");
}
END_TEST

START_TEST(tape_lists_entries_and_sum) {
    struct outcome outcome = run_well(WORDS("tape", "--batch", "2", "--target-length", "4",
        "--source-length", "6", "--width", "8", "--heads", "2"));
    static const struct {
        const char *name, *shape;
        unsigned bytes;
    } entries[] = {
        {"q_heads", "(2, 2, 4, 4)", 256},
        {"k_heads", "(2, 2, 6, 4)", 384},
        {"v_heads", "(2, 2, 6, 4)", 384},
        {"attention_weights", "(2, 2, 4, 6)", 384},
        {"context", "(2, 4, 8)", 256},
        {"sum", "", 256 + 384 + 384 + 384 + 256},
    };
    const char *line = outcome.out;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        line = strchr(line, '\n');
        ck_assert_ptr_nonnull(line);
        line++;
        char expected[16];
        snprintf(expected, sizeof expected, " %u", entries[i].bytes);
        ck_assert_int_eq(strncmp(line, entries[i].name, strlen(entries[i].name)), 0);
        ck_assert_ptr_nonnull(strstr(line, entries[i].shape));
        ck_assert_ptr_nonnull(strstr(line, expected));
    }
    outcome_free(&outcome);
}
END_TEST

/* The whole sweep: every routine, and the layer under each mask, for both kinds of attention. */
START_TEST(gradcheck_sweeps_over_everything) {
    struct outcome outcome = run_well(WORDS("gradcheck"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "531 checks, 0 failed"));
    static const char *const routines[] = {"project_query", "project_key, explicit",
        "project_value, lengths", "split_query", "split_key", "split_value", "scores, combined",
        "scale", "mask, causal top-left", "softmax, combined", "context, explicit", "combine",
        "project_output", "attention, causal bottom-right", "mse", "cross_entropy"};
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        ck_assert_msg(strstr(outcome.out, routines[i]) != NULL, "no check of %s", routines[i]);
    }
    static const char *const masks[] = {
        "no mask", "causal top-left", "causal bottom-right", "lengths", "explicit", "combined"};
    static const char *const shapes[] = {"T=4 S=4", "T=4 S=4", "T=3 S=5", "T=5 S=3"};
    static const char *const heads[] = {"h=1 ", "h=2 ", "h=6 "};
    for (size_t i = 0; i < 6 * 4 * 3; i++) {
        char what[64], line[128];
        const size_t shape = i / 3 % 4;
        snprintf(
            what, sizeof what, shape == 0 ? "layer self, %s" : "layer cross, %s", masks[i / 12]);
        snprintf(line, sizeof line, "\n%-36s B=3 %s D=6 %s", what, shapes[shape], heads[i % 3]);
        ck_assert_msg(strstr(outcome.out, line) != NULL, "no check of %s", line);
    }
    outcome_free(&outcome);
}
END_TEST

START_TEST(gradcheck_passes_and_can_fail) {
    struct outcome outcome = run_well(WORDS("gradcheck", "--op", "softmax"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "54 checks, 0 failed"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    outcome_free(&outcome);
    outcome = run_program(folder_path(""), WORDS("gradcheck", "--op", "softmax", "--rtol", "0"));
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.out, "FAIL"));
    outcome_free(&outcome);
}
END_TEST

/* A layer whose weights the user can follow: every key but one is hidden, so the weights of Q and K
 * have zero gradients, and the check still passes. */
START_TEST(gradcheck_knows_gradients_that_are_zero) {
    struct outcome outcome =
        run_well(WORDS("gradcheck", "--target-length", "1", "--source-length", "1"));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    outcome_free(&outcome);
}
END_TEST

Suite *program_suite(void) {
    Suite *suite = suite_create("program");
    TCase *words = tcase_create("words");
    tcase_add_checked_fixture(words, folder_make, folder_remove);
    tcase_set_timeout(words, 60);
    tcase_add_test(words, help_lists_every_command);
    tcase_add_test(words, wrong_words_are_refused);
    tcase_add_test(words, wrong_numbers_are_refused);
    tcase_add_test(words, sizes_that_do_not_fit_are_refused);
    tcase_add_test(words, tape_lists_entries_and_sum);
    tcase_add_test(words, gradcheck_sweeps_over_everything);
    tcase_add_test(words, gradcheck_passes_and_can_fail);
    tcase_add_test(words, gradcheck_knows_gradients_that_are_zero);
    suite_add_tcase(suite, words);
    suite_add_tcase(suite, program_runs());
    suite_add_tcase(suite, program_early_signals());
    suite_add_tcase(suite, program_files());
    return suite;
}
