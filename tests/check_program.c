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
    assert_program_refuses(WORDS("train", "copy", "--mode", "till"), "--mode 'till' is none of");
    assert_program_refuses(WORDS("apply", "in.npz", "-o", "o.npz", "--kernel", "fuse"), "'fuse'");
    assert_program_refuses(WORDS("eval"), "a RUN is missing");
    assert_program_refuses(WORDS("gradcheck", "--op", "magic"), "'magic'");
    assert_program_refuses(WORDS("gradcheck", "--op", "softmax", "--kernel", "fused"),
        "--op softmax is not checked with --kernel fused");
    assert_program_refuses(WORDS("gradcheck", "--op", "mse", "--mode", "stored"),
        "--op mse is not checked with --mode stored");
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

START_TEST(numbers_of_threads_are_refused) {
    static const char *const numbers[] = {"0", "1025", "-1", "two", ""};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[64];
        snprintf(
            text, sizeof text, "--threads '%s' is not a whole number from 1 to 1024", numbers[i]);
        assert_program_refuses(WORDS("train", "copy", "--threads", numbers[i]), text);
        assert_program_refuses(WORDS("eval", "run", "--threads", numbers[i]), text);
        assert_program_refuses(WORDS("apply", "in", "-o", "o.npz", "--threads", numbers[i]), text);
        assert_program_refuses(WORDS("gradcheck", "--threads", numbers[i]), text);
    }
}
END_TEST

/* The reference kernel has one mode. */
START_TEST(kernel_and_mode_go_together) {
    static const char *const words[][5] = {
        {"train", "copy"}, {"apply", "in.npz", "-o", "o.npz"}, {"gradcheck"}, {"tape"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *all[10] = {NULL};
        size_t count = 0;
        for (; words[i][count] != NULL; count++) {
            all[count] = words[i][count];
        }
        memcpy(all + count, WORDS("--kernel", "reference", "--mode", "tiled"), 4 * sizeof *all);
        assert_program_refuses(all, "--mode tiled needs --kernel fused");
    }
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

struct tape_line {
    const char *name, *shape;
    unsigned bytes;
    const char *readers;
};

static void assert_tape_lists(
    const char *option, const char *value, const struct tape_line *lines) {
    struct outcome outcome = run_well(WORDS("tape", "--batch", "2", "--target-length", "4",
        "--source-length", "6", "--width", "8", "--heads", "2", option, value));
    char *at = strchr(outcome.out, '\n');
    for (; lines->name != NULL; lines++) {
        ck_assert_ptr_nonnull(at);
        char *line = at + 1, expected[128];
        at = strchr(line, '\n');
        ck_assert_ptr_nonnull(at);
        *at = '\0';
        ck_assert_int_eq(strncmp(line, lines->name, strlen(lines->name)), 0);
        ck_assert_ptr_nonnull(strstr(line, lines->shape));
        snprintf(expected, sizeof expected, " %u%s%s", lines->bytes,
            lines->readers[0] == '\0' ? "" : "  ", lines->readers);
        const char *end = line + strlen(line) - strlen(expected);
        ck_assert_msg(strcmp(end, expected) == 0, "'%s' does not end in '%s'", line, expected);
    }
    ck_assert_str_eq(at + 1, "");
    outcome_free(&outcome);
}

START_TEST(tape_lists_entries_and_sum) {
    static const struct tape_line stored[] = {
        {"q ", "(2, 4, 8)", 256, "attention"},
        {"k ", "(2, 6, 8)", 384, "attention"},
        {"v ", "(2, 6, 8)", 384, "attention"},
        {"attention_weights ", "(2, 2, 4, 6)", 384, "attention"},
        {"context ", "(2, 4, 8)", 256, "attention, project_output"},
        {"sum ", "", 256 + 384 + 384 + 384 + 256, ""},
        {NULL, NULL, 0, NULL},
    };
    static const struct tape_line tiled[] = {
        {"q ", "(2, 4, 8)", 256, "attention"},
        {"k ", "(2, 6, 8)", 384, "attention"},
        {"v ", "(2, 6, 8)", 384, "attention"},
        {"row_maximum ", "(2, 2, 4)", 64, "attention"},
        {"row_inverse_sum ", "(2, 2, 4)", 64, "attention"},
        {"context ", "(2, 4, 8)", 256, "attention, project_output"},
        {"sum ", "", 256 + 384 + 384 + 64 + 64 + 256, ""},
        {NULL, NULL, 0, NULL},
    };
    static const struct tape_line reference[] = {
        {"q_heads ", "(2, 2, 4, 4)", 256, "scores"},
        {"k_heads ", "(2, 2, 6, 4)", 384, "scores"},
        {"v_heads ", "(2, 2, 6, 4)", 384, "context"},
        {"attention_weights ", "(2, 2, 4, 6)", 384, "softmax, context"},
        {"context ", "(2, 4, 8)", 256, "project_output"},
        {"sum ", "", 256 + 384 + 384 + 384 + 256, ""},
        {NULL, NULL, 0, NULL},
    };
    assert_tape_lists(NULL, NULL, stored);
    assert_tape_lists("--mode", "stored", stored);
    assert_tape_lists("--mode", "tiled", tiled);
    assert_tape_lists("--kernel", "fused", stored);
    assert_tape_lists("--kernel", "reference", reference);
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
    tcase_add_test(words, numbers_of_threads_are_refused);
    tcase_add_test(words, kernel_and_mode_go_together);
    tcase_add_test(words, sizes_that_do_not_fit_are_refused);
    tcase_add_test(words, tape_lists_entries_and_sum);
    suite_add_tcase(suite, words);
    suite_add_tcase(suite, program_gradcheck());
    suite_add_tcase(suite, program_runs());
    suite_add_tcase(suite, program_kernels());
    suite_add_tcase(suite, program_early_signals());
    suite_add_tcase(suite, program_files());
    return suite;
}
