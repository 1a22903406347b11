/* gnuplot as a process: started in a group of its own, and ended for certain. */
#ifndef TRAIN_GNUPLOT_PROCESS_H
#define TRAIN_GNUPLOT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <mha/status.h>

/* The name of the script for gnuplot, which reads its nameless standard input byte by byte. */
#define GNUPLOT_SCRIPT_NAME "/dev/stdin"

/* One process at a time. A closed descriptor is -1. */
struct gnuplot_process {
    pid_t pid;
    int input, output, complaints; /* our ends of its standard streams */
};

/* Starts `gnuplot -d` on its standard input. Until gnuplot_end a broken pipe is a write error, and a
 * signal that asks this program to end kills gnuplot, so that its streams come to their end.
 * MHA_ERROR_FILE when gnuplot is absent or could not be started; there is nothing to end then. */
mha_status gnuplot_start(struct gnuplot_process *process, mha_error *error);

/* Closes the streams, kills gnuplot if asked to, and waits for its end. Signals act as before
 * gnuplot_start again; one that came meanwhile is raised again, and where that does not end the
 * program it is an error. MHA_ERROR_FILE also when gnuplot could not be found after all, or was
 * ended by a signal. *exit_status is set on success. */
mha_status gnuplot_end(
    int *exit_status, struct gnuplot_process *process, bool killed, mha_error *error);

void gnuplot_close(int *end); /* of a stream */

#endif
