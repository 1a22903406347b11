#include "gnuplot_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The exit status of a child in which posix_spawnp could not start the program, where it cannot
 * tell its caller. */
enum { SPAWN_FAILED = 127 };

/* What ends this program. gnuplot catches SIGINT itself and may then hang, so it is killed. */
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
/* What this program ignores and gnuplot must not. */
static const int ignored_signals[] = {SIGPIPE, SIGXFSZ};
enum {
    ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals,
    IGNORED_SIGNALS = sizeof ignored_signals / sizeof *ignored_signals
};

/* What the signal handler needs. The ending signals are blocked while they are changed. */
static volatile sig_atomic_t running_pid, caught_signal;

static struct sigaction ending_before[ENDING_SIGNALS], pipe_before, child_before;

static void end_gnuplot(int number) {
    int before = errno;
    caught_signal = number;
    if (running_pid > 0) {
        kill((pid_t)-running_pid, SIGKILL);
    }
    errno = before;
}

static void block_ending_signals(sigset_t *before) {
    sigset_t ending;
    sigemptyset(&ending);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        sigaddset(&ending, ending_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &ending, before);
}

/* Signals that are ignored stay ignored. SIGCHLD must not be, or nobody could wait for gnuplot. */
static void catch_signals(void) {
    struct sigaction ignored = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL},
                     caught = {.sa_handler = end_gnuplot};
    sigfillset(&caught.sa_mask);
    sigaction(SIGPIPE, &ignored, &pipe_before);
    sigaction(SIGCHLD, &standard, &child_before);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        sigaction(ending_signals[i], NULL, &ending_before[i]);
        if (ending_before[i].sa_handler != SIG_IGN) {
            sigaction(ending_signals[i], &caught, NULL);
        }
    }
}

static void release_signals(void) {
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigaction(SIGCHLD, &child_before, NULL);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        sigaction(ending_signals[i], &ending_before[i], NULL);
    }
}

void gnuplot_close(int *end) {
    if (*end >= 0) {
        close(*end);
        *end = -1;
    }
}

static void close_streams(struct gnuplot_process *process) {
    gnuplot_close(&process->input);
    gnuplot_close(&process->output);
    gnuplot_close(&process->complaints);
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

/* A group of its own, no signal blocked, and the ignored ones as usual again. */
static void set_attributes(posix_spawnattr_t *attributes) {
    sigset_t standard, none;
    sigemptyset(&none);
    sigemptyset(&standard);
    for (size_t i = 0; i < IGNORED_SIGNALS; i++) {
        sigaddset(&standard, ignored_signals[i]);
    }
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigdefault(attributes, &standard);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/* Starts gnuplot on these ends of three pipes; returns 0 or an errno. */
static int spawn(pid_t *pid, const int streams[3]) {
    char program[] = "gnuplot", option[] = "-d", script[] = GNUPLOT_SCRIPT_NAME;
    char *arguments[] = {program, option, script, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failure = 0;
    for (int i = 0; i < 3 && failure == 0; i++) {
        failure = posix_spawn_file_actions_adddup2(&actions, streams[i], STDIN_FILENO + i);
    }
    set_attributes(&attributes);
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

/* Opens the pipes and starts gnuplot; returns 0 or an errno. */
static int open_and_spawn(struct gnuplot_process *process) {
    int input[2], output[2] = {-1, -1}, complaints[2] = {-1, -1};
    int failure = 0;
    if (!make_pipe(input) || !make_pipe(output) || !make_pipe(complaints)) {
        failure = errno;
    }
    *process = (struct gnuplot_process){0, input[1], output[0], complaints[0]};
    if (failure == 0) {
        failure = spawn(&process->pid, (const int[]){input[0], output[1], complaints[1]});
    }
    gnuplot_close(&input[0]);
    gnuplot_close(&output[1]);
    gnuplot_close(&complaints[1]);
    if (failure != 0) {
        close_streams(process);
        return failure;
    }
    fcntl(process->input, F_SETFL, O_NONBLOCK);
    return 0;
}

mha_status gnuplot_start(struct gnuplot_process *process, mha_error *error) {
    sigset_t before;
    block_ending_signals(&before);
    caught_signal = 0;
    catch_signals();
    int failure = open_and_spawn(process);
    if (failure == 0) {
        running_pid = process->pid;
    } else {
        release_signals();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failure == 0 ? MHA_OK : failed_to_start(failure, error);
}

/* Waits while signals are still caught; only then, with them blocked, the number of the process is
 * given back to the system. Returns 0 or an errno. */
static int reap(int *state, pid_t pid) {
    siginfo_t ended;
    int failure = 0;
    while (failure == 0 && waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) != 0) {
        failure = errno == EINTR ? 0 : errno;
    }
    sigset_t before;
    block_ending_signals(&before);
    running_pid = 0;
    while (failure == 0 && waitpid(pid, state, 0) < 0) {
        failure = errno == EINTR ? 0 : errno;
    }
    release_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    return failure;
}

mha_status gnuplot_end(
    int *exit_status, struct gnuplot_process *process, bool killed, mha_error *error) {
    close_streams(process);
    if (killed) {
        kill(-process->pid, SIGKILL);
    }
    int state = 0, failure = reap(&state, process->pid);
    if (caught_signal != 0) {
        raise(caught_signal);
        return mha_fail(
            error, MHA_ERROR_FILE, "gnuplot was interrupted by signal %d", (int)caught_signal);
    }
    if (failure != 0) {
        return mha_fail(error, MHA_ERROR_FILE, "gnuplot: %s", strerror(failure));
    }
    if (WIFSIGNALED(state)) {
        return mha_fail(error, MHA_ERROR_FILE, "gnuplot was ended by signal %d", WTERMSIG(state));
    }
    if (WEXITSTATUS(state) == SPAWN_FAILED) {
        return failed_to_start(ENOENT, error);
    }
    *exit_status = WEXITSTATUS(state);
    return MHA_OK;
}
