/* gnuplot as a process: what it may do to the program, and what signals do to both. */
#include "check_plot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "gnuplot.h"

mha_status run_text(char **bytes, size_t *size, const char *text, mha_error *error) {
    return gnuplot_run(bytes, size, text, strlen(text), error);
}

void fake_gnuplot(const char *text) {
    folder_write("gnuplot", text, strlen(text));
    ck_assert_int_eq(chmod(folder_path("gnuplot"), 0755), 0);
    char path[2048];
    snprintf(path, sizeof path, "%s:/bin:/usr/bin", folder_path(""));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

START_TEST(test_absent) {
    ck_assert_int_eq(setenv("PATH", folder_path(""), 1), 0);
    char *bytes;
    size_t size;
    mha_error error;
    mha_status status = run_text(&bytes, &size, "plot x\n", &error);
    assert_error(status, &error, "Debian package gnuplot-nox");
    ck_assert_ptr_null(bytes);
    folder_write("gnuplot", "text", 4);
    ck_assert_int_eq(chmod(folder_path("gnuplot"), 0644), 0);
    assert_error(
        run_text(&bytes, &size, "plot x\n", &error), &error, "(Debian package gnuplot-nox)");
}
END_TEST

START_TEST(test_failures) {
    char *bytes;
    size_t size;
    mha_error error;
    mha_status status = run_text(&bytes, &size, "x = 1\nplot sin(\n", &error);
    assert_error(status, &error, "gnuplot failed with status 1: line 2: ");
    static const char *const fakes[][2] = {
        {"#!/bin/sh\ncat > /dev/null\necho '  first reason' >&2\necho second >&2\nexit 3\n",
            "gnuplot failed with status 3: first reason"},
        {"#!/bin/sh\nexit 4\n", "gnuplot failed with status 4: it gave no reason"},
        {"#!/bin/sh\nkill -9 $$\n", "gnuplot was ended by signal 9"}};
    static char text[1 << 20]; /* more than a pipe holds, to a program that reads none of it */
    memset(text, '\n', sizeof text - 1);
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
        fake_gnuplot(fakes[i][0]);
        assert_error(run_text(&bytes, &size, text, &error), &error, fakes[i][1]);
    }
}
END_TEST

START_TEST(test_flood_of_complaints_is_ended) {
    fake_gnuplot("#!/bin/sh\nwhile :; do echo 'one of many'; done >&2\n");
    char *bytes;
    size_t size;
    mha_error error;
    assert_error(run_text(&bytes, &size, "", &error), &error,
        "gnuplot complained in more than 65535 bytes: one of many");
}
END_TEST

/* The disposition of SIGPIPE is the caller's again. */
START_TEST(test_sigpipe_is_left_alone) {
    struct sigaction standard = {.sa_handler = SIG_DFL}, before, after;
    sigaction(SIGPIPE, &standard, &before);
    fake_gnuplot("#!/bin/sh\nexit 0\n");
    static char text[1 << 20];
    memset(text, '\n', sizeof text - 1);
    char *bytes;
    size_t size;
    mha_error error;
    ck_assert_int_eq(run_text(&bytes, &size, text, &error), MHA_OK);
    free(bytes);
    sigaction(SIGPIPE, &before, &after);
    ck_assert(after.sa_handler == SIG_DFL);
}
END_TEST

/* What the program ignores acts as usual in gnuplot, and does not keep it from being waited for. */
START_TEST(test_ignored_signals_are_not_inherited) {
    static const struct {
        const char *fake;
        int number;
    } cases[] = {{"#!/bin/sh\nkill -PIPE $$\n", SIGPIPE}, {"#!/bin/sh\nkill -XFSZ $$\n", SIGXFSZ}};
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before, child_before;
    sigaction(SIGCHLD, &ignored, &child_before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_gnuplot(cases[i].fake);
        sigaction(cases[i].number, &ignored, &before);
        char *bytes, text[64];
        size_t size;
        mha_error error;
        mha_status status = run_text(&bytes, &size, "", &error);
        sigaction(cases[i].number, &before, NULL);
        snprintf(text, sizeof text, "gnuplot was ended by signal %d", cases[i].number);
        assert_error(status, &error, text);
    }
    sigaction(SIGCHLD, &child_before, NULL);
}
END_TEST

static volatile sig_atomic_t handled;

static void handle(int number) {
    handled = number;
}

/* Who handles a signal gets it, and an error; who ignores it is not disturbed. */
START_TEST(test_caller_handles_or_ignores_a_signal) {
    struct sigaction action = {.sa_handler = handle}, before;
    sigaction(SIGTERM, &action, &before);
    fake_gnuplot("#!/bin/sh\nkill -TERM $PPID\nsleep 60\n");
    char *bytes;
    size_t size;
    mha_error error;
    handled = 0;
    assert_error(run_text(&bytes, &size, "", &error), &error, "gnuplot was interrupted by signal");
    ck_assert_int_eq(handled, SIGTERM);
    action.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &action, NULL);
    fake_gnuplot("#!/bin/sh\nkill -TERM $PPID\necho drawn\n");
    mha_status status = run_text(&bytes, &size, "", &error);
    sigaction(SIGTERM, &before, NULL);
    ck_assert_msg(status == MHA_OK, "%s", error.text);
    ck_assert_str_eq(bytes, "drawn\n");
    free(bytes);
}
END_TEST

/* Reads the number that the fake wrote into the file "pid", at most 3 s later. */
static pid_t wait_for_pid(void) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < 300 && access(folder_path("pid"), R_OK) != 0; i++) {
        nanosleep(&pause, NULL);
    }
    char *text = read_text("pid");
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    free(text);
    ck_assert_int_gt(pid, 1);
    return pid;
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

/* The program dies by the signal, and a gnuplot that hangs does not outlive it. */
START_TEST(test_signal_ends_both) {
    int number = ending_signals[_i];
    ck_assert_int_eq(chdir(folder_path("")), 0);
    fake_gnuplot("#!/bin/sh\ntrap '' HUP INT TERM\necho $$ > new\nmv new pid\n"
                 "for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done\n");
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char *bytes;
        size_t size;
        signal(number, SIG_DFL);
        gnuplot_run(&bytes, &size, "plot x\n", 7, NULL);
        _exit(3);
    }
    pid_t gnuplot = wait_for_pid();
    ck_assert_int_eq(kill(child, number), 0);
    int state;
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    bool outlived = kill(gnuplot, SIGKILL) == 0;
    ck_assert_msg(WIFSIGNALED(state) && WTERMSIG(state) == number, "state %d", state);
    ck_assert(!outlived);
    ck_assert_uint_eq(folder_count(), 2);
}
END_TEST

TCase *plot_process_case(void) {
    TCase *process = tcase_create("process");
    tcase_add_checked_fixture(process, plot_setup, plot_teardown);
    tcase_add_test(process, test_absent);
    tcase_add_test(process, test_failures);
    tcase_add_test(process, test_flood_of_complaints_is_ended);
    tcase_add_test(process, test_sigpipe_is_left_alone);
    tcase_add_test(process, test_ignored_signals_are_not_inherited);
    tcase_add_test(process, test_caller_handles_or_ignores_a_signal);
    return process;
}

TCase *plot_signals_case(void) {
    TCase *signals = tcase_create("signals");
    tcase_add_checked_fixture(signals, plot_setup, plot_teardown);
    tcase_set_tags(signals, "fork");
    tcase_add_loop_test(signals, test_signal_ends_both, 0, ENDING_SIGNALS);
    return signals;
}
