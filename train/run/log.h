/* The lines of log.tsv, for those who read it. */
#ifndef TRAIN_RUN_LOG_H
#define TRAIN_RUN_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "run/run.h"

/* Lines of a log are short; a longer one is cut and so refused. */
enum { LOG_LINE_SIZE = 1024 };

/* The next line without its end; *complete tells whether it had one. False at the end of the file. */
bool log_next_line(char line[LOG_LINE_SIZE], bool *complete, FILE *file);

/* False when the line is not 7 numbers, or its step no whole one. */
bool log_read_row(struct log_row *row, char *line);

#endif
