/* The program `mha`: finds the command and hands over. */
#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const struct command *const commands[] = {&command_train, &command_eval, &command_apply,
    &command_gradcheck, &command_plot, &command_init, &command_convert, &command_tape,
    &command_tasks, &command_bench, NULL};

static void print_help(FILE *out) {
    fputs("Usage: mha COMMAND [OPTION...]\n"
          "Trainable multi-head attention: train small attention tasks, check gradients, draw what "
          "happened.\n\n",
        out);
    for (const struct command *const *command = commands; *command != NULL; command++) {
        fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    }
    fputs("\n  --help     this text; `mha COMMAND --help` tells about one command\n"
          "  --version  the version\n\n"
          "Exit status: 0 done; 1 a check failed or the training diverged; 2 wrong use, unusable "
          "input, or\nthe system refused; 129, 130 or 143 interrupted, run saved.\n",
        out);
}

static int run_command(const struct command *command, int argc, char **argv) {
    char name[32];
    snprintf(name, sizeof name, "mha %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

/* A standard descriptor that is closed would be given to the next file, and messages written into it.
 * Writing to this one fails, as to one that is closed. */
static void open_standard_descriptors(void) {
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
        if (fd > STDERR_FILENO) {
            close(fd);
            return;
        }
    }
}

/* Help and version end in exit() inside argp: their output is checked here. */
static void check_output_at_exit(void) {
    if (finish_output(STATUS_DONE) != STATUS_DONE) {
        _exit(STATUS_USAGE);
    }
}

int main(int argc, char **argv) {
    argp_err_exit_status = STATUS_USAGE;
    open_standard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe, or a limit on the size of files, */
    signal(SIGXFSZ, SIG_IGN); /* is a write error with a message */
    atexit(check_output_at_exit);
    if (argc < 2) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return finish_output(STATUS_DONE);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("mha %s\n", mha_version());
        return finish_output(STATUS_DONE);
    }
    for (const struct command *const *command = commands; *command != NULL; command++) {
        if (strcmp(word, (*command)->name) == 0) {
            return run_command(*command, argc - 1, argv + 1);
        }
    }
    complain("unknown command '%s'; `mha --help` lists the commands", word);
    return STATUS_USAGE;
}
