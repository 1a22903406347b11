/* What the tests of `mha bench` share. */
#ifndef TESTS_CHECK_BENCH_H
#define TESTS_CHECK_BENCH_H

#include <check.h>

#include "commands/bench_table.h"

TCase *bench_table_case(void);
TCase *bench_chart_case(void);
TCase *bench_program_case(void);

/* A file of the folder: a comment that names the processor, the header, and these lines. */
void write_bench_table(const char *name, const char *processor, const char *lines);

#endif
