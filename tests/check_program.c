/* The program as a user meets it: commands, wrong use, files, signals. */
#include "suites.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "folder.h"
#include "program.h"
#include "run.h"

/* A refusal: status 2, nothing on standard output, one line (argp adds its own on --help) that
 * holds the text, and an untouched folder. */
static void assert_refused(const char *const *words, const char *text) {
    const size_t before = folder_count();
    struct outcome outcome = run_program(folder_path(""), words);
    ck_assert_msg(outcome.status == 2, "status %d: %s", outcome.status, outcome.err);
    ck_assert_str_eq(outcome.out, "");
    ck_assert_msg(strstr(outcome.err, text) != NULL, "'%s' is not in: %s", text, outcome.err);
    const char *end = strchr(outcome.err, '\n');
    ck_assert_ptr_nonnull(end);
    ck_assert_msg(end[1] == '\0' || strncmp(end + 1, "Try `mha ", 9) == 0, "%s", outcome.err);
    ck_assert_uint_eq(folder_count(), before);
    outcome_free(&outcome);
}

static struct outcome run_well(const char *const *words) {
    struct outcome outcome = run_program(folder_path(""), words);
    ck_assert_msg(outcome.status == 0, "status %d: %s", outcome.status, outcome.err);
    return outcome;
}

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
    assert_refused(WORDS("fly"), "unknown command 'fly'");
    assert_refused(WORDS("train"), "a TASK is missing");
    assert_refused(WORDS("train", "revers"), "unknown task 'revers'");
    assert_refused(WORDS("train", "copy", "reverse"), "'copy' and 'reverse'");
    assert_refused(WORDS("train", "copy", "--speed", "3"), "--speed");
    assert_refused(WORDS("train", "--causal", "top-left"), "--causal=top-left");
    assert_refused(WORDS("train", "copy", "--causal=left"), "'left'");
    assert_refused(WORDS("train", "copy", "--causal=square"), "'square'");
    assert_refused(WORDS("train", "copy", "--schedule", "fast"), "'fast'");
    assert_refused(WORDS("train", "copy", "--words", "list"), "copy reads no words");
    assert_refused(WORDS("eval"), "a RUN is missing");
    assert_refused(WORDS("gradcheck", "--op", "magic"), "'magic'");
    assert_refused(WORDS("gradcheck", "mask"), "unexpected argument 'mask'");
    assert_refused(WORDS("tape", "4"), "unexpected argument '4'");
    assert_refused(WORDS("plot", "loss"), "RUN");
    assert_refused(WORDS("tasks", "copy"), "unexpected argument 'copy'");
}
END_TEST

START_TEST(wrong_numbers_are_refused) {
    static const char *const sizes[] = {
        "0", "-1", "1.5", "x", "", " 4", "+4", "0x10", "99999999999999999999", "1073741825"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[64];
        snprintf(text, sizeof text, "--heads '%s'", sizes[i]);
        assert_refused(WORDS("train", "copy", "--heads", sizes[i]), text);
    }
    static const char *const rates[] = {"0", "-1", "nan", "inf", "1e999", "x", "0.1x"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char text[64];
        snprintf(text, sizeof text, "--lr '%s'", rates[i]);
        assert_refused(WORDS("train", "copy", "--lr", rates[i]), text);
    }
    assert_refused(WORDS("train", "copy", "--seed", "18446744073709551616"), "--seed");
    assert_refused(WORDS("train", "copy", "--momentum", "1"), "--momentum '1'");
    assert_refused(WORDS("train", "copy", "--nesterov", "--momentum", "0"), "momentum");
    assert_refused(WORDS("train", "copy", "--eval-every", "0"), "--eval-every '0'");
}
END_TEST

START_TEST(sizes_that_do_not_fit_are_refused) {
    assert_refused(WORDS("train", "copy", "--heads", "5"), "width 32 is not divisible by 5 heads");
    assert_refused(WORDS("train", "copy", "--width", "16"), "width 16");
    assert_refused(
        WORDS("train", "copy", "--target-length", "4", "--source-length", "5"), "length 4");
    assert_refused(WORDS("train", "retrieve", "--causal", "--target-length", "4"),
        "target length 4 and source length 16 needs an alignment");
    assert_refused(
        WORDS("tape", "--width", "6", "--heads", "4"), "width 6 is not divisible by 4 heads");
    assert_refused(WORDS("tape", "--batch", "1073741824", "--target-length", "1073741824",
                       "--heads", "1073741824", "--width", "1073741824"),
        "exceed the address space");
    assert_refused(
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

static struct outcome train_briefly(const char *folder, const char *seed) {
    return run_well(WORDS("train", "reverse", "--quiet", "--steps", "12", "--batch", "8",
        "--eval-every", "5", "--seed", seed, "-o", folder));
}

START_TEST(training_writes_a_run_that_reads_back) {
    struct outcome outcome = train_briefly("run", "3");
    ck_assert_str_eq(outcome.err, "");
    ck_assert_ptr_nonnull(strstr(outcome.out, "reverse: 12 steps"));
    outcome_free(&outcome);
    struct run run;
    mha_error error;
    ck_assert_msg(run_read(&run, folder_path("run"), &error) == MHA_OK, "%s", error.text);
    ck_assert_str_eq(run.task->name, "reverse");
    ck_assert_uint_eq(run.settings.seed, 3);
    ck_assert_uint_eq(run.settings.shape.batch, 8);
    run_free(&run);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), &error), MHA_OK);
    static const size_t steps[] = {0, 5, 10, 12};
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(rows[i].step, steps[i]);
        ck_assert_double_finite(rows[i].eval_loss);
    }
    ck_assert_double_nan(rows[0].loss);
    ck_assert_double_eq(rows[3].learning_rate, 0.3);
    free(rows);
    outcome = run_well(WORDS("eval", "run"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "accuracy"));
    outcome_free(&outcome);
}
END_TEST

START_TEST(equal_seeds_give_equal_weights) {
    struct outcome first = train_briefly("a", "5"), second = train_briefly("b", "5");
    struct outcome third = train_briefly("c", "6");
    size_t size;
    unsigned char *bytes = folder_read(&size, "a/weights.npz");
    ck_assert_int_eq(folder_holds("b/weights.npz", bytes, size), 1);
    ck_assert_int_eq(folder_holds("c/weights.npz", bytes, size), 0);
    free(bytes);
    outcome_free(&first);
    outcome_free(&second);
    outcome_free(&third);
}
END_TEST

/* First and last entries of float32(default_rng(7).normal(size=(32,32)) / sqrt(32)), four times in
 * a row, computed with NumPy 1.24.2. */
START_TEST(first_weights_are_those_of_numpy) {
    struct outcome outcome = run_well(
        WORDS("train", "copy", "--steps", "0", "--seed", "7", "--width", "32", "-o", "run"));
    outcome_free(&outcome);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    static const struct {
        size_t index;
        float value;
    } golden[] = {{0, 0x1.c80d420000000p-13f}, {1, 0x1.b0a1380000000p-5f},
        {2, -0x1.8cfe780000000p-5f}, {1023, -0x1.81f5020000000p-3f}, {1024, -0x1.7197980000000p-2f},
        {2047, -0x1.91484a0000000p-4f}, {2048, -0x1.468a440000000p-4f},
        {3072, 0x1.e971e60000000p-3f}, {4095, 0x1.343f880000000p-4f}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        ck_assert_int_eq(memcmp(&run.weights[golden[i].index], &golden[i].value, sizeof(float)), 0);
    }
    run_free(&run);
}
END_TEST

START_TEST(existing_folders_are_kept) {
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    assert_refused(WORDS("train", "copy", "-o", "run"), "run exists");
    outcome = run_well(WORDS("train", "copy", "--force", "--quiet", "--steps", "1", "-o", "run"));
    outcome_free(&outcome);
    ck_assert_int_eq(mkdir(folder_path("other"), 0700), 0);
    folder_write("other/run.json", "{}", 2);
    assert_refused(WORDS("train", "copy", "--force", "-o", "other"), "--force does not replace");
    ck_assert_int_eq(folder_holds("other/run.json", "{}", 2), 1);
    folder_write("file", "x", 1);
    assert_refused(WORDS("train", "copy", "-o", "file/run"), "file");
    assert_refused(WORDS("train", "copy", "-o", ""), "is empty");
    assert_refused(WORDS("train", "copy", "-o", "run/"), "run exists");
    assert_refused(WORDS("train", "copy", "-o", "/proc/nowhere/run"), "/proc/nowhere");
}
END_TEST

START_TEST(full_disk_leaves_no_folder) {
    struct outcome outcome = run_program_limited(
        folder_path(""), WORDS("train", "copy", "-o", "deep/er/run/"), 1000, false);
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_ptr_nonnull(strstr(outcome.err, "File too large"));
    ck_assert_uint_eq(folder_count(), 0);
    outcome_free(&outcome);
}
END_TEST

START_TEST(full_output_is_an_error) {
    const char *const *const commands[] = {WORDS("--help"), WORDS("--version"), WORDS("tape"),
        WORDS("tasks"), WORDS("tasks", "--help"), WORDS("gradcheck", "--op", "scale")};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct outcome outcome = run_program_limited(folder_path(""), commands[i], 0, true);
        ck_assert_int_eq(outcome.status, 2);
        ck_assert_ptr_nonnull(strstr(outcome.err, "standard output: No space left on device"));
        outcome_free(&outcome);
    }
}
END_TEST

START_TEST(divergence_is_refused_and_logged) {
    struct outcome outcome = run_program(
        folder_path(""), WORDS("train", "reverse", "--quiet", "--lr", "1e30", "-o", "run"));
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "diverged at step "));
    outcome_free(&outcome);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_uint_ge(count, 2);
    const struct log_row *last = &rows[count - 1];
    ck_assert_msg(!(last->loss - last->loss == 0.0) ||
                      !(last->gradient_norm - last->gradient_norm == 0.0) ||
                      last->gradient_norm > 1e10 || last->learning_rate > 1e29,
        "loss %g, norm %g", last->loss, last->gradient_norm);
    free(rows);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    for (size_t i = 0; i < 4 * 32 * 32; i++) {
        ck_assert_double_finite((double)run.weights[i]);
    }
    run_free(&run);
}
END_TEST

static void pause_briefly(void) {
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
}

/* Until the run has written its third row, at most 20 s. */
static void wait_for_rows(const char *folder) {
    for (int i = 0; i < 1000; i++) {
        struct log_row *rows;
        size_t count;
        const mha_status status = run_read_log(&rows, &count, folder, NULL);
        free(rows);
        if (status == MHA_OK && count >= 3) {
            return;
        }
        pause_briefly();
    }
    ck_abort_msg("no rows in %s", folder);
}

START_TEST(interrupted_run_is_saved) {
    const int signals[] = {SIGINT, SIGTERM};
    const pid_t pid = start_program(folder_path(""),
        WORDS("train", "reverse", "--steps", "1000000", "--eval-every", "3", "-o", "run"));
    wait_for_rows(folder_path("run"));
    ck_assert_int_eq(kill(pid, signals[_i]), 0);
    ck_assert_int_eq(wait_for_program(pid), 128 + signals[_i]);
    struct log_row *rows;
    size_t count;
    ck_assert_int_eq(run_read_log(&rows, &count, folder_path("run"), NULL), MHA_OK);
    ck_assert_double_finite(rows[count - 1].eval_loss);
    free(rows);
    struct run run;
    ck_assert_int_eq(run_read(&run, folder_path("run"), NULL), MHA_OK);
    run_free(&run);
    size_t size;
    char *json = (char *)folder_read(&size, "run/run.json");
    json[size - 1] = '\0';
    ck_assert_ptr_nonnull(strstr(json, "\"interrupted\""));
    free(json);
}
END_TEST

START_TEST(broken_runs_are_refused) {
    assert_refused(WORDS("eval", "nowhere"), "nowhere/run.json");
    struct outcome outcome = train_briefly("run", "0");
    outcome_free(&outcome);
    size_t size;
    unsigned char *weights = folder_read(&size, "run/weights.npz");
    folder_write("run/weights.npz", weights, size / 2);
    assert_refused(WORDS("eval", "run"), "run/weights.npz");
    folder_write("run/weights.npz", weights, size);
    free(weights);
    static const char *const broken[] = {"", "{", "[]", "{\"program\": \"mha\"}",
        "{\"program\": \"mha\", \"task\": \"fly\", \"settings\": {}}",
        "{\"program\": \"mha\", \"task\": \"copy\", \"settings\": {\"batch\": -1}}",
        "{\"program\": \"mha\", \"task\": \"copy\", \"settings\": {\"batch\": \"8\"}}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        folder_write("run/run.json", broken[i], strlen(broken[i]));
        assert_refused(WORDS("eval", "run"), "run/run.json");
    }
}
END_TEST

START_TEST(word_lists_that_cannot_be_used_are_refused) {
    assert_refused(WORDS("train", "letters", "--words", "nowhere", "-o", "run"), "nowhere");
    folder_write("empty", "", 0);
    assert_refused(WORDS("train", "letters", "--words", "empty", "-o", "run"), "empty");
    folder_write("binary", "ab\0cd\xff\n", 8);
    assert_refused(WORDS("train", "letters", "--words", "binary", "-o", "run"), "binary");
    assert_refused(WORDS("train", "letters", "--words", ".", "-o", "run"), ".");
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
    tcase_add_test(words, gradcheck_passes_and_can_fail);
    tcase_add_test(words, gradcheck_knows_gradients_that_are_zero);
    suite_add_tcase(suite, words);
    TCase *runs = tcase_create("runs");
    tcase_add_checked_fixture(runs, folder_make, folder_remove);
    tcase_set_timeout(runs, 60);
    tcase_add_test(runs, training_writes_a_run_that_reads_back);
    tcase_add_test(runs, equal_seeds_give_equal_weights);
    tcase_add_test(runs, first_weights_are_those_of_numpy);
    tcase_add_test(runs, existing_folders_are_kept);
    tcase_add_test(runs, full_disk_leaves_no_folder);
    tcase_add_test(runs, full_output_is_an_error);
    tcase_add_test(runs, divergence_is_refused_and_logged);
    tcase_add_loop_test(runs, interrupted_run_is_saved, 0, 2);
    tcase_add_test(runs, broken_runs_are_refused);
    tcase_add_test(runs, word_lists_that_cannot_be_used_are_refused);
    suite_add_tcase(suite, runs);
    return suite;
}
