/* The options of `mha train`. */
#ifndef TRAIN_COMMANDS_TRAIN_OPTIONS_H
#define TRAIN_COMMANDS_TRAIN_OPTIONS_H

#include <argp.h>

#include "compute.h"
#include "options.h"
#include "session.h"
#include "settings.h"
#include "tasks/task.h"

/* What was given. Settings start as those of the task or of the run, and a task may stand behind the
 * options, so values are kept beside a bit that says which were given. */
struct train_arguments {
    const char *task_name; /* NULL: not given */
    struct shape_options shape;
    struct compute_options compute;
    struct settings values;
    unsigned long given; /* which of values */
    struct session_options session;
    bool resume;
};

/* The parser, whose input is a train_arguments. */
extern const struct argp train_argp;

/* Puts what was given in place of what *settings has; with one_length a length given alone stands for
 * both. */
void apply_train_options(
    struct settings *settings, const struct train_arguments *arguments, bool one_length);

#endif
