/* One run of gnuplot: the script goes in through a pipe, the picture and the complaints come out
 * through two others. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

extern char **environ;

/* The exit status of a child in which posix_spawnp could not start the program, where it cannot
 * tell its caller. */
enum { SPAWN_FAILED = 127 };

#define SCRIPT_NAME "/dev/stdin"

enum { LARGEST_PICTURE = 1 << 28, LARGEST_COMPLAINT = 1 << 16 };

struct buffer {
    char *bytes; /* size bytes and a final 0 */
    size_t size, capacity;
};

static bool buffer_add(struct buffer *into, const char *bytes, size_t size) {
    if (into->size + size + 1 > into->capacity) {
        size_t capacity = 2 * (into->size + size) + 4096;
        char *larger = realloc(into->bytes, capacity);
        if (larger == NULL) {
            return false;
        }
        into->bytes = larger;
        into->capacity = capacity;
    }
    if (size > 0) {
        memcpy(into->bytes + into->size, bytes, size);
    }
    into->size += size;
    into->bytes[into->size] = '\0';
    return true;
}

/* gnuplot while it runs. A closed descriptor is -1. */
struct gnuplot_process {
    pid_t pid;
    int input, output, complaints; /* our ends of its standard streams */
};

static void close_end(int *end) {
    if (*end >= 0) {
        close(*end);
        *end = -1;
    }
}

/* A pipe whose ends are not inherited and are no standard streams, even where those are closed. */
static bool make_pipe(int ends[2]) {
    int low[2];
    ends[0] = ends[1] = -1;
    if (pipe(low) != 0) {
        return false;
    }
    ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(low[0]);
    close(low[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

/* Starts gnuplot on the inner ends of three pipes; returns 0 or an errno. */
static int spawn(pid_t *pid, int input, int output, int complaints) {
    /* By name, because gnuplot reads its nameless standard input byte by byte. */
    char program[] = "gnuplot", option[] = "-d", script[] = SCRIPT_NAME;
    char *arguments[] = {program, option, script, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failure = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    failure =
        failure != 0 ? failure : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    failure = failure != 0 ? failure
                           : posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (failure == 0) {
        failure = posix_spawnp(pid, program, &actions, &attributes, arguments, environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static mha_status failed_to_start(int failure, mha_error *error) {
    if (failure == ENOENT) {
        return mha_fail(error, MHA_ERROR_FILE,
            "gnuplot, which draws the pictures, was not found (Debian package gnuplot-nox)");
    }
    return mha_fail(error, MHA_ERROR_FILE,
        "gnuplot could not be started: %s (Debian package gnuplot-nox)", strerror(failure));
}

static mha_status start(struct gnuplot_process *process, mha_error *error) {
    int input[2], output[2] = {-1, -1}, complaints[2] = {-1, -1};
    int failure = 0;
    if (!make_pipe(input) || !make_pipe(output) || !make_pipe(complaints)) {
        failure = errno;
    }
    if (failure == 0) {
        failure = spawn(&process->pid, input[0], output[1], complaints[1]);
    }
    close_end(&input[0]);
    close_end(&output[1]);
    close_end(&complaints[1]);
    *process = (struct gnuplot_process){process->pid, input[1], output[0], complaints[0]};
    if (failure == 0) {
        fcntl(process->input, F_SETFL, O_NONBLOCK);
        return MHA_OK;
    }
    close_end(&process->input);
    close_end(&process->output);
    close_end(&process->complaints);
    return failed_to_start(failure, error);
}

/* Writes what the pipe takes; closes it when all is written or nobody reads any more. */
static void feed(int *end, const char *script, size_t size, size_t *written) {
    ssize_t step = write(*end, script + *written, size - *written);
    if (step >= 0) {
        *written += (size_t)step;
    } else if (errno != EAGAIN && errno != EINTR) {
        close_end(end);
        return;
    }
    if (*written == size) {
        close_end(end);
    }
}

/* Reads once, and closes at the end. False when memory is short. Of more than `most` bytes the rest
 * is dropped. */
static bool drain(int *end, struct buffer *into, size_t most) {
    char bytes[16384];
    ssize_t size = read(*end, bytes, sizeof bytes);
    if (size <= 0) {
        if (size == 0 || errno != EINTR) {
            close_end(end);
        }
        return true;
    }
    size_t room = most - into->size;
    return buffer_add(into, bytes, (size_t)size < room ? (size_t)size : room);
}

static mha_status talk(struct gnuplot_process *process, struct buffer *output,
    struct buffer *complaints, const char *script, size_t size, mha_error *error) {
    size_t written = 0;
    while (process->output >= 0 || process->complaints >= 0) {
        struct pollfd ends[3] = {{process->input, POLLOUT, 0}, {process->output, POLLIN, 0},
            {process->complaints, POLLIN, 0}};
        if (poll(ends, 3, -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return mha_fail(error, MHA_ERROR_FILE, "gnuplot: poll failed: %s", strerror(errno));
        }
        bool enough_memory = true;
        if (ends[0].revents != 0) {
            feed(&process->input, script, size, &written);
        }
        if (ends[1].revents != 0) {
            enough_memory = drain(&process->output, output, LARGEST_PICTURE);
        }
        if (ends[2].revents != 0 && enough_memory) {
            enough_memory = drain(&process->complaints, complaints, LARGEST_COMPLAINT);
        }
        if (!enough_memory) {
            return no_memory(error);
        }
        if (output->size == LARGEST_PICTURE) {
            return mha_fail(error, MHA_ERROR_SIZE, "the picture has more than %d bytes",
                (int)LARGEST_PICTURE - 1);
        }
    }
    return MHA_OK;
}

/* The line that tells what went wrong: gnuplot repeats the command first, then says "line N: ...",
 * behind the name of the script. */
static const char *error_line(char *complaints) {
    static const char name[] = "\"" SCRIPT_NAME "\" ";
    const char *first = NULL;
    char *rest = complaints;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        line += strspn(line, " \t\r");
        if (strncmp(line, name, sizeof name - 1) == 0) {
            line += sizeof name - 1;
        }
        if (strncmp(line, "line ", 5) == 0 && strstr(line, "arning:") == NULL) {
            return line;
        }
        if (first == NULL && *line != '\0') {
            first = line;
        }
    }
    return first != NULL ? first : "it gave no reason";
}

static mha_status finish(struct gnuplot_process *process, struct buffer *complaints,
    mha_status status, mha_error *error) {
    close_end(&process->input);
    close_end(&process->output);
    close_end(&process->complaints);
    if (status != MHA_OK) {
        kill(process->pid, SIGKILL);
    }
    int state = 0;
    while (waitpid(process->pid, &state, 0) < 0) {
        if (errno != EINTR) {
            return mha_fail(error, MHA_ERROR_FILE, "gnuplot: %s", strerror(errno));
        }
    }
    if (status != MHA_OK) {
        return status;
    }
    if (WIFSIGNALED(state)) {
        return mha_fail(error, MHA_ERROR_FILE, "gnuplot was ended by signal %d", WTERMSIG(state));
    }
    if (WEXITSTATUS(state) == SPAWN_FAILED) {
        return failed_to_start(ENOENT, error);
    }
    if (WEXITSTATUS(state) != 0) {
        return mha_fail(error, MHA_ERROR_FILE, "gnuplot failed with status %d: %.300s",
            WEXITSTATUS(state), error_line(complaints->bytes));
    }
    return MHA_OK;
}

mha_status gnuplot_run(
    char **bytes, size_t *size, const char *script, size_t script_size, mha_error *error) {
    struct buffer output = {0}, complaints = {0};
    struct gnuplot_process process = {0};
    *bytes = NULL;
    *size = 0;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    mha_status status = start(&process, error);
    if (status == MHA_OK) {
        if (buffer_add(&output, "", 0) && buffer_add(&complaints, "", 0)) {
            status = talk(&process, &output, &complaints, script, script_size, error);
        } else {
            status = no_memory(error);
        }
        status = finish(&process, &complaints, status, error);
    }
    sigaction(SIGPIPE, &before, NULL);
    free(complaints.bytes);
    if (status != MHA_OK) {
        free(output.bytes);
        return status;
    }
    *bytes = output.bytes;
    *size = output.size;
    return MHA_OK;
}
