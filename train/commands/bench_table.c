#include "bench_table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "files.h"
#include "memory.h"

enum { LINE_SIZE = 512, COLUMNS = 7, MOST_PERCENT = 1000 };

static const char processor_key[] = "# processor: ", isa_key[] = "# instruction set: ";

static const char *const columns[COLUMNS] = {
    "shape", "what", "mode", "threads", "median_us", "gflops", "peak_percent"};

void bench_write_header(FILE *out, bool tsv) {
    if (tsv) {
        fprintf(out, "%s\n", BENCH_HEADER);
        return;
    }
    fprintf(out, "%-27s %-13s %-6s %7s %12s %8s %12s\n", columns[0], columns[1], columns[2],
        columns[3], columns[4], columns[5], columns[6]);
}

void bench_write_row(FILE *out, const struct bench_row *row, bool tsv) {
    char shape[BENCH_SHAPE_SIZE];
    bench_shape_format(shape, &row->shape);
    fprintf(out,
        tsv ? "%s\t%s\t%s\t%zu\t%.3f\t%.3f\t%.2f\n" : "%-27s %-13s %-6s %7zu %12.2f %8.2f %12.1f\n",
        shape, bench_what_name(row->what), mode_name(row->mode), row->threads, row->median_us,
        row->gflops, row->peak_percent);
}

/* Splits a line at its tabs; the number of columns. */
static size_t split(char *fields[COLUMNS], char *line) {
    size_t count = 0;
    for (char *at = line; at != NULL; count++) {
        char *tab = strchr(at, '\t');
        if (tab != NULL) {
            *tab++ = '\0';
        }
        if (count < COLUMNS) {
            fields[count] = at;
        }
        at = tab;
    }
    return count;
}

/* A number as it is written here: digits, perhaps a point or an exponent; not negative. */
static bool read_number(double *number, const char *text) {
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    return isdigit((unsigned char)*text) && strpbrk(text, "xX") == NULL && *end == '\0' &&
           errno == 0 && isfinite(*number);
}

static mha_status read_row(struct bench_row *row, char *line, mha_error *error) {
    char *fields[COLUMNS];
    const size_t found = split(fields, line);
    if (found != COLUMNS) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%zu columns where the header has %d", found, (int)COLUMNS);
    }
    mha_status status = bench_shape_parse(&row->shape, fields[0], error);
    if (status != MHA_OK) {
        return status;
    }
    if (!bench_what_from_name(&row->what, fields[1])) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "what '%s' is none of forward, step, core-forward, core-backward", fields[1]);
    }
    if (!mode_from_name(&row->mode, fields[2])) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "mode '%s' is neither stored nor tiled", fields[2]);
    }
    double threads = 0.0;
    double *const numbers[COLUMNS] = {
        [3] = &threads, &row->median_us, &row->gflops, &row->peak_percent};
    for (size_t i = 3; i < COLUMNS; i++) {
        if (!read_number(numbers[i], fields[i])) {
            return mha_fail(error, MHA_ERROR_FORMAT, "%s '%s' is not a number from 0 up",
                columns[i], fields[i]);
        }
    }
    if (threads < 1 || threads > 1e6 || threads != floor(threads)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "threads '%s' is not a whole number from 1 to 1000000", fields[3]);
    }
    if (row->peak_percent > MOST_PERCENT) {
        return mha_fail(error, MHA_ERROR_FORMAT, "peak_percent '%s' is more than %d", fields[6],
            (int)MOST_PERCENT);
    }
    row->threads = (size_t)threads;
    return MHA_OK;
}

static mha_status append(struct bench_table *table, char *line, mha_error *error) {
    if (table->count == BENCH_MOST_ROWS) {
        return mha_fail(
            error, MHA_ERROR_SIZE, "more than %d rows, which is the most", (int)BENCH_MOST_ROWS);
    }
    const mha_status status = read_row(&table->rows[table->count], line, error);
    table->count += status == MHA_OK;
    return status;
}

/* The next line without its end. MHA_ERROR_FORMAT when it has none (a file that was cut short), is
 * too long or holds a 0. */
static mha_status next_line(char line[LINE_SIZE], bool *more, FILE *file, mha_error *error) {
    *more = fgets(line, LINE_SIZE, file) != NULL;
    const size_t length = *more ? strlen(line) : 0;
    if (!*more && ferror(file)) {
        return mha_fail(error, MHA_ERROR_FILE, "%s", strerror(errno));
    }
    if (*more && (length == 0 || line[length - 1] != '\n')) {
        return mha_fail(error, MHA_ERROR_FORMAT, "not a whole line of at most %d characters",
            (int)LINE_SIZE - 2);
    }
    if (*more) {
        line[length - 1] = '\0';
    }
    return MHA_OK;
}

/* Keeps what stands behind the key, cut to size, where the line begins with it. */
static void keep_value(char *text, size_t size, const char *line, const char *key) {
    const size_t length = strlen(key);
    if (strncmp(line, key, length) == 0) {
        snprintf(text, size, "%.*s", (int)size - 1, line + length);
    }
}

/* A line before the rows: a comment, of which the processor's name and set are kept, or the header. */
static mha_status read_head(
    struct bench_table *table, bool *header, const char *line, mha_error *error) {
    if (*line != '#') {
        *header = strcmp(line, BENCH_HEADER) == 0;
        return *header ? MHA_OK
                       : mha_fail(error, MHA_ERROR_FORMAT,
                             "not the header of a table that `mha bench --tsv` wrote");
    }
    for (const char *at = line; *at != '\0'; at++) {
        if (iscntrl((unsigned char)*at)) {
            return mha_fail(
                error, MHA_ERROR_FORMAT, "character %u in a comment", (unsigned)(unsigned char)*at);
        }
    }
    keep_value(table->processor, sizeof table->processor, line, processor_key);
    keep_value(table->isa, sizeof table->isa, line, isa_key);
    return MHA_OK;
}

/* *number is that of the line that was read last, or could not be. */
static mha_status read_lines(
    struct bench_table *table, size_t *number, FILE *file, mha_error *error) {
    char line[LINE_SIZE];
    bool more = true, header = false;
    mha_status status = MHA_OK;
    for (*number = 1; (status = next_line(line, &more, file, error)) == MHA_OK && more; ++*number) {
        status = header ? append(table, line, error) : read_head(table, &header, line, error);
        if (status != MHA_OK) {
            return status;
        }
    }
    if (status == MHA_OK && table->count == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            header ? "the table has no row" : "no header of a table is there");
    }
    return status;
}

mha_status bench_table_read(struct bench_table *table, const char *path, mha_error *error) {
    *table = (struct bench_table){.rows = allocate_zeroed(BENCH_MOST_ROWS, sizeof *table->rows)};
    if (table->rows == NULL) {
        return no_memory(error);
    }
    FILE *file = NULL;
    mha_status status = open_stream(&file, path, error);
    if (status == MHA_OK) {
        mha_error reason;
        size_t number;
        status = read_lines(table, &number, file, &reason);
        if (status != MHA_OK) {
            mha_fail(error, status, "%.4000s:%zu: %s", path, number, reason.text);
        }
        fclose(file);
    }
    if (status != MHA_OK) {
        bench_table_free(table);
    }
    return status;
}

void bench_table_free(struct bench_table *table) {
    free(table->rows);
    *table = (struct bench_table){0};
}
