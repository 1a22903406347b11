/* log.tsv, written row by row. */
#include "run/write.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

/* The reason of the write that just failed on folder/log.tsv. */
static mha_status log_failed(const char *folder, mha_error *error) {
    return mha_fail(error, MHA_ERROR_FILE, "%s/" RUN_LOG ": %s", folder, strerror(errno));
}

/* Writes all bytes, or none: what got through is taken back. */
static bool write_whole(int log, const char *text, size_t size) {
    const off_t begin = lseek(log, 0, SEEK_CUR);
    for (size_t done = 0; done < size;) {
        const ssize_t written = write(log, text + done, size - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            const int reason = errno;
            if (begin < 0 || ftruncate(log, begin) != 0 || lseek(log, begin, SEEK_SET) < 0) {
                /* The reader leaves out a row that is cut short. */
            }
            errno = reason;
            return false;
        }
        done += (size_t)written;
    }
    return true;
}

static mha_status open_log(int *log, const char *folder, int flags, mha_error *error) {
    char *path = run_path(folder, RUN_LOG);
    if (path == NULL) {
        *log = -1;
        return no_memory(error);
    }
    *log = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
    free(path);
    return *log < 0 ? log_failed(folder, error) : MHA_OK;
}

mha_status run_create_log(int *log, const char *folder, mha_error *error) {
    static const char header[] = LOG_HEADER "\n";
    mha_status status = open_log(log, folder, O_CREAT | O_EXCL, error);
    if (status == MHA_OK && !write_whole(*log, header, sizeof header - 1)) {
        status = log_failed(folder, error);
        close(*log);
        *log = -1;
    }
    return status;
}

mha_status run_open_log(int *log, const char *folder, mha_error *error) {
    mha_status status = open_log(log, folder, O_NONBLOCK, error); /* a pipe is not waited for */
    if (status == MHA_OK && lseek(*log, 0, SEEK_END) < 0) {
        status = log_failed(folder, error);
        close(*log);
        *log = -1;
    }
    return status;
}

/* The shortest of 15 to 17 digits that reads back as the same number; "nan" whatever its sign. */
static void format_exact(char text[32], double number) {
    if (isnan(number)) {
        snprintf(text, 32, "nan");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            return;
        }
    }
}

mha_status run_write_row(int log, const struct log_row *row, const char *folder, mha_error *error) {
    const double numbers[] = {
        row->loss, row->eval_loss, row->eval_accuracy, row->learning_rate, row->gradient_norm};
    char line[256];
    size_t used = (size_t)snprintf(line, sizeof line, "%zu", row->step);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[32];
        format_exact(text, numbers[i]);
        used += (size_t)snprintf(line + used, sizeof line - used, "\t%s", text);
    }
    used += (size_t)snprintf(line + used, sizeof line - used, "\t%.6f\n", row->seconds);
    return write_whole(log, line, used) ? MHA_OK : log_failed(folder, error);
}

mha_status run_flush_log(int log, const char *folder, mha_error *error) {
    return fsync(log) == 0 ? MHA_OK : log_failed(folder, error);
}

mha_status run_close_log(int log, const char *folder, mha_error *error) {
    const mha_status status = run_flush_log(log, folder, error);
    if (close(log) != 0 && status == MHA_OK) {
        return log_failed(folder, error);
    }
    return status;
}
