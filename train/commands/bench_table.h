/* The table that `mha bench` prints, and as `--tsv` writes it for others to read: lines of "# NAME:
 * VALUE" about the machine, a header, and rows with tabs between their columns. */
#ifndef TRAIN_COMMANDS_BENCH_TABLE_H
#define TRAIN_COMMANDS_BENCH_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "bench_machine.h"
#include "bench_shape.h"

#define BENCH_HEADER "shape\twhat\tmode\tthreads\tmedian_us\tgflops\tpeak_percent"

struct bench_row {
    struct bench_shape shape;
    enum bench_what what;
    mha_mode mode;
    size_t threads;
    double median_us, gflops, peak_percent;
};

struct bench_table {
    char processor[PROCESSOR_NAME_SIZE]; /* "" when the file does not tell */
    char isa[ISA_NAME_SIZE];             /* the instruction set, likewise */
    struct bench_row *rows;
    size_t count; /* at least 1 */
};

/* Writes the header, and a row; aligned for people, or with tabs. */
void bench_write_header(FILE *out, bool tsv);
void bench_write_row(FILE *out, const struct bench_row *row, bool tsv);

/* Reads a file. MHA_ERROR_FILE, _FORMAT naming file and line, _SIZE for more rows than
 * BENCH_MOST_ROWS, or _MEMORY; the table is empty then. */
enum { BENCH_MOST_ROWS = 1000 };
mha_status bench_table_read(struct bench_table *table, const char *path, mha_error *error);
void bench_table_free(struct bench_table *table);

#endif
