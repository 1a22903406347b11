/* log.tsv, read. */
#include "run/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "memory.h"
#include "run/folder.h"
#include "run/log.h"

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

bool log_read_row(struct log_row *row, char *line) {
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

bool log_next_line(char line[LOG_LINE_SIZE], bool *complete, FILE *file) {
    if (fgets(line, LOG_LINE_SIZE, file) == NULL) {
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
    char line[LOG_LINE_SIZE];
    bool complete = true;
    size_t number = 0;
    mha_status status = MHA_OK;
    while (status == MHA_OK && log_next_line(line, &complete, file)) {
        struct log_row row;
        number++;
        if (number == 1 && (!complete || strcmp(line, LOG_HEADER) != 0)) {
            status = mha_fail(error, MHA_ERROR_FORMAT, "%s:1: not the header of a log", path);
        } else if (!complete && feof(file)) {
            break;
        } else if (number > 1 && (!complete || !log_read_row(&row, line))) {
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
    char *path = run_path(folder, RUN_LOG);
    if (path == NULL) {
        return no_memory(error);
    }
    FILE *file = NULL;
    mha_status status = run_folder_check(folder, error);
    if (status == MHA_OK) {
        status = open_stream(&file, path, error);
    }
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
