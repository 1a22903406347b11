/* The commands of the program: one file each in commands/, dispatched by main. */
#ifndef TRAIN_COMMAND_H
#define TRAIN_COMMAND_H

#include <mha/status.h>

/* Exit statuses. 129, 130 and 143 follow from SIGHUP, SIGINT and SIGTERM. */
enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1, /* a check failed, or the training diverged */
    STATUS_USAGE = 2   /* wrong use, unusable input, or the system refused */
};

struct command {
    const char *name;
    const char *summary; /* one line for `mha --help` */
    /* argv[0] is "mha NAME". Returns the exit status. */
    int (*run)(int argc, char **argv);
};

extern const struct command command_train;
extern const struct command command_eval;
extern const struct command command_apply;
extern const struct command command_init;
extern const struct command command_convert;
extern const struct command command_gradcheck;
extern const struct command command_plot;
extern const struct command command_tape;
extern const struct command command_tasks;
extern const struct command command_bench;

/* One line "mha: TEXT" on standard error. Control characters in the text are shown as '?'. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text with control characters shown as '?', in shown. */
enum { SHOWN_SIZE = 4608 };
const char *printable(char shown[SHOWN_SIZE], const char *text);

/* Flushes standard output and says so when that fails (a full disk, a closed pipe): returns status,
 * or STATUS_USAGE when the output could not be written. Every command ends with it. */
int finish_output(int status);

#endif
