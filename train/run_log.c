/* log.tsv, written and read. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"

/* The reason of the write that just failed on folder/log.tsv. */
static mha_status log_failed(const char *folder, mha_error *error) {
    return mha_fail(error, MHA_ERROR_FILE, "%s/log.tsv: %s", folder, strerror(errno));
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

mha_status run_open_log(int *log, const char *folder, mha_error *error) {
    char *path = run_path(folder, "log.tsv");
    if (path == NULL) {
        *log = -1;
        return no_memory(error);
    }
    *log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    free(path);
    static const char header[] = LOG_HEADER "\n";
    if (*log < 0 || !write_whole(*log, header, sizeof header - 1)) {
        return log_failed(folder, error);
    }
    return MHA_OK;
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

mha_status run_close_log(int log, const char *folder, mha_error *error) {
    return close(log) == 0 ? MHA_OK : log_failed(folder, error);
}

/* The next number of a line and the tab or end behind it. */
static bool read_field(double *number, char **at, bool last) {
    char *end;
    if (**at == '\t' || **at == '\0' || **at == ' ') {
        return false;
    }
    *number = strtod(*at, &end);
    if (end == *at || *end != (last ? '\0' : '\t')) {
        return false;
    }
    *at = last ? end : end + 1;
    return true;
}

static bool read_row(struct log_row *row, char *line) {
    double step = 0.0;
    char *at = line;
    double *const fields[] = {&step, &row->loss, &row->eval_loss, &row->eval_accuracy,
        &row->learning_rate, &row->gradient_norm, &row->seconds};
    enum { FIELDS = sizeof fields / sizeof *fields };
    for (size_t i = 0; i < FIELDS; i++) {
        if (!read_field(fields[i], &at, i + 1 == FIELDS)) {
            return false;
        }
    }
    if (!(step >= 0 && step <= 9007199254740992.0 && step == floor(step))) {
        return false;
    }
    row->step = (size_t)step;
    return true;
}

/* Appends a row, growing the array by doubling. */
static bool append_row(struct log_row **rows, size_t *count, const struct log_row *row) {
    if ((*count & (*count - 1)) == 0) { /* 0 and the powers of two are where it is full */
        struct log_row *grown = realloc(*rows, (*count == 0 ? 1 : 2 * *count) * sizeof **rows);
        if (grown == NULL) {
            return false;
        }
        *rows = grown;
    }
    (*rows)[(*count)++] = *row;
    return true;
}

/* The next line without its end. Lines of a log are short; a longer one is cut and so refused. */
enum { LINE_SIZE = 1024 };

static bool next_line(char line[LINE_SIZE], bool *complete, FILE *file) {
    if (fgets(line, LINE_SIZE, file) == NULL) {
        return false;
    }
    const size_t length = strlen(line);
    *complete = length > 0 && line[length - 1] == '\n';
    if (*complete) {
        line[length - 1] = '\0';
    }
    return true;
}

/* A last row that is cut short, by a crash or a full disk, is left out. */
static mha_status read_rows(
    struct log_row **rows, size_t *count, FILE *file, const char *path, mha_error *error) {
    char line[LINE_SIZE];
    bool complete = true;
    size_t number = 0;
    mha_status status = MHA_OK;
    while (status == MHA_OK && next_line(line, &complete, file)) {
        struct log_row row;
        number++;
        if (number == 1 && (!complete || strcmp(line, LOG_HEADER) != 0)) {
            status = mha_fail(error, MHA_ERROR_FORMAT, "%s:1: not the header of a log", path);
        } else if (!complete && feof(file)) {
            break;
        } else if (number > 1 && (!complete || !read_row(&row, line))) {
            status =
                mha_fail(error, MHA_ERROR_FORMAT, "%s:%zu: not a row of 7 numbers", path, number);
        } else if (number > 1 && !append_row(rows, count, &row)) {
            status = no_memory(error);
        }
    }
    if (status == MHA_OK && ferror(file)) {
        status = mha_fail(error, MHA_ERROR_FILE, "%s: %s", path, strerror(errno));
    } else if (status == MHA_OK && number == 0) {
        status = mha_fail(error, MHA_ERROR_FORMAT, "%s is empty", path);
    }
    return status;
}

mha_status run_read_log(
    struct log_row **rows, size_t *count, const char *folder, mha_error *error) {
    *rows = NULL;
    *count = 0;
    char *path = run_path(folder, "log.tsv");
    if (path == NULL) {
        return no_memory(error);
    }
    FILE *file;
    mha_status status = open_stream(&file, path, error);
    if (status == MHA_OK) {
        status = read_rows(rows, count, file, path, error);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (status != MHA_OK) {
        free(*rows);
        *rows = NULL;
        *count = 0;
    }
    free(path);
    return status;
}
