#include "child.h"

#include <check.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int status_of_child(int (*attempt)(const void *self), const void *self) {
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(attempt(self));
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void limit_file_size(size_t bytes) {
    const struct rlimit limit = {bytes, bytes};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
}
