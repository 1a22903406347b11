#include "program.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 40 };

/* The path of the program, absolute, since it is run elsewhere. */
static const char *program_path(void) {
    static char path[4096];
    const char *given = getenv("MHA");
    ck_assert_ptr_nonnull(given);
    ck_assert_ptr_nonnull(realpath(given, path));
    return path;
}

struct start {
    const char *folder;
    const char *const *words;
    int out, err;
    size_t file_bytes; /* 0: no limit */
};

static void become_program(const struct start *start, const char *path) {
    char *argv[MOST_WORDS + 2] = {(char *)(uintptr_t)path};
    for (size_t i = 0; i < MOST_WORDS && start->words[i] != NULL; i++) {
        argv[i + 1] = (char *)(uintptr_t)start->words[i];
    }
    if (start->file_bytes != 0) {
        const struct rlimit limit = {start->file_bytes, start->file_bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_IGN);
    }
    if (dup2(start->out, STDOUT_FILENO) >= 0 && dup2(start->err, STDERR_FILENO) >= 0 &&
        chdir(start->folder) == 0) {
        execv(path, argv);
    }
    _exit(127);
}

static pid_t launch(const struct start *start) {
    const char *path = program_path();
    fflush(NULL);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        become_program(start, path);
    }
    return pid;
}

int wait_for_program(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        ck_assert_int_eq(errno, EINTR);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t start_program(const char *folder, const char *const *words) {
    const int null = open("/dev/null", O_WRONLY);
    const pid_t pid = launch(&(struct start){folder, words, null, null, 0});
    close(null);
    return pid;
}

static char *read_back(FILE *file) {
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    ck_assert_int_ge(size, 0);
    rewind(file);
    char *text = calloc((size_t)size + 1, 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return text;
}

struct outcome run_program_limited(
    const char *folder, const char *const *words, size_t file_bytes, bool full_output) {
    FILE *out = tmpfile(), *err = tmpfile();
    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(err);
    const int full = open("/dev/full", O_WRONLY);
    const struct start start = {
        folder, words, full_output ? full : fileno(out), fileno(err), file_bytes};
    struct outcome outcome = {.status = wait_for_program(launch(&start))};
    close(full);
    outcome.out = read_back(out);
    outcome.err = read_back(err);
    return outcome;
}

struct outcome run_program(const char *folder, const char *const *words) {
    return run_program_limited(folder, words, 0, false);
}

void outcome_free(struct outcome *outcome) {
    free(outcome->out);
    free(outcome->err);
}
