/* Tests of what threads do to a process. They are forked neither by Check nor by each other, since a
 * forked process computes on one thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "cases.h"

static const struct {
    const char *name;
    int (*run)(void);
} alone[] = {{"host_forks", alone_host_forks}, {"thread_count", alone_thread_count},
    {"environment", alone_environment}};

static char *this_program;

static const char *const openmp_variables[] = {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC",
    "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS", "OMP_SCHEDULE"};

static void become_alone(const char *name, const char *const *variables, int said) {
    for (size_t i = 0; i < sizeof openmp_variables / sizeof *openmp_variables; i++) {
        unsetenv(openmp_variables[i]);
    }
    for (; *variables != NULL; variables++) {
        putenv((char *)(uintptr_t)*variables);
    }
    alarm(ALONE_SECONDS);
    dup2(said, STDERR_FILENO);
    execl(this_program, this_program, name, (char *)NULL);
    _exit(127);
}

/* Standard error is shown on failure: runtimes of OpenMP speak of nonsense in the environment. */
void run_alone(const char *name, const char *const *variables) {
    FILE *said = tmpfile();
    ck_assert_ptr_nonnull(said);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        become_alone(name, variables, fileno(said));
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    char text[2000] = "";
    rewind(said);
    const size_t length = fread(text, 1, sizeof text - 1, said);
    text[length] = '\0';
    fclose(said);
    ck_assert_msg(status == 0, "%s, %s: wait status %d: %s", name, *variables, status, text);
}

int main(int argc, char **argv) {
    this_program = argv[0];
    for (size_t i = 0; argc == 2 && i < sizeof alone / sizeof *alone; i++) {
        if (strcmp(argv[1], alone[i].name) == 0) {
            return alone[i].run();
        }
    }
    if (argc != 1) {
        fprintf(stderr, "threads: no test is called %s\n", argv[1]);
        return 2;
    }
    Suite *suite = suite_create("threads");
    suite_add_tcase(suite, count_case());
    suite_add_tcase(suite, host_case());
    suite_add_tcase(suite, nested_case());
    suite_add_tcase(suite, fork_case());
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
