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
    bool close_err;
};

static void become_program(const struct start *start, const char *path) {
    char *argv[MOST_WORDS + 2] = {(char *)(uintptr_t)path};
    for (size_t i = 0; i < MOST_WORDS && start->words[i] != NULL; i++) {
        argv[i + 1] = (char *)(uintptr_t)start->words[i];
    }
    if (start->file_bytes != 0) {
        const struct rlimit limit = {start->file_bytes, start->file_bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (dup2(start->out, STDOUT_FILENO) >= 0 && dup2(start->err, STDERR_FILENO) >= 0 &&
        chdir(start->folder) == 0) {
        if (start->close_err) {
            close(STDERR_FILENO);
        }
        execv(path, argv);
    }
    _exit(127);
}

static pid_t launch(const struct start *start) {
    const char *path = program_path();
    fflush(NULL);
    /* Until it is the program, the child would run Check's handlers, which end the whole group. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL); /* ignored under nohup */
        sigprocmask(SIG_SETMASK, &before, NULL);
        become_program(start, path);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_ge(pid, 0);
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
    const pid_t pid = launch(&(struct start){folder, words, null, null, 0, false});
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

static struct outcome run_to_end(struct start start) {
    FILE *out = tmpfile(), *err = tmpfile();
    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(err);
    start.out = start.out >= 0 ? start.out : fileno(out);
    start.err = fileno(err);
    struct outcome outcome = {.status = wait_for_program(launch(&start))};
    outcome.out = read_back(out);
    outcome.err = read_back(err);
    return outcome;
}

struct outcome run_program_limited(
    const char *folder, const char *const *words, size_t file_bytes, bool full_output) {
    const int full = open("/dev/full", O_WRONLY);
    struct outcome outcome =
        run_to_end((struct start){folder, words, full_output ? full : -1, -1, file_bytes, false});
    close(full);
    return outcome;
}

struct outcome run_program(const char *folder, const char *const *words) {
    return run_program_limited(folder, words, 0, false);
}

struct outcome run_program_deaf(const char *folder, const char *const *words) {
    return run_to_end((struct start){folder, words, -1, -1, 0, true});
}

void outcome_free(struct outcome *outcome) {
    free(outcome->out);
    free(outcome->err);
}
