/* Tables of `mha bench --tsv`: written, read back, refused. */
#include "check_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "folder.h"

#define GOOD_ROW "2,4,6,8,2\tstep\tstored\t1\t2.345\t6.768\t4.50\n"

void write_bench_table(const char *name, const char *processor, const char *lines) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(file);
    fprintf(file, "# processor: %s\n%s\n%s", processor, BENCH_HEADER, lines);
    fclose(file);
    folder_write(name, text, size);
    free(text);
}

START_TEST(test_rows_read_back) {
    struct bench_row rows[] = {
        {.what = BENCH_STEP, .mode = MHA_MODE_STORED, .threads = 1},
        {.what = BENCH_CORE_BACKWARD, .mode = MHA_MODE_TILED, .threads = 16},
    };
    static const char *const shapes[] = {"2,4,6,8,2", "1,4096,4096,256,8,causal"};
    static const double values[][3] = {{2.345, 6.768, 4.5}, {123456.789, 1234.5, 87.25}};
    FILE *file = fopen(folder_path("a.tsv"), "w");
    ck_assert_ptr_nonnull(file);
    fputs("# processor: A name: of 3 GHz\n# instruction set: v3\n# other: 1\n", file);
    bench_write_header(file, true);
    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_int_eq(bench_shape_parse(&rows[i].shape, shapes[i], NULL), MHA_OK);
        rows[i].median_us = values[i][0];
        rows[i].gflops = values[i][1];
        rows[i].peak_percent = values[i][2];
        bench_write_row(file, &rows[i], true);
    }
    fclose(file);
    struct bench_table table;
    mha_error error;
    ck_assert_msg(
        bench_table_read(&table, folder_path("a.tsv"), &error) == MHA_OK, "%s", error.text);
    ck_assert_str_eq(table.processor, "A name: of 3 GHz");
    ck_assert_str_eq(table.isa, "v3");
    ck_assert_uint_eq(table.count, COUNT(rows));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char shape[BENCH_SHAPE_SIZE];
        bench_shape_format(shape, &table.rows[i].shape);
        ck_assert_str_eq(shape, shapes[i]);
        ck_assert_int_eq(table.rows[i].what, rows[i].what);
        ck_assert_int_eq(table.rows[i].mode, rows[i].mode);
        ck_assert_uint_eq(table.rows[i].threads, rows[i].threads);
        ck_assert_double_eq(table.rows[i].median_us, values[i][0]);
        ck_assert_double_eq(table.rows[i].gflops, values[i][1]);
        ck_assert_double_eq(table.rows[i].peak_percent, values[i][2]);
    }
    bench_table_free(&table);
}
END_TEST

static void assert_table_refused(const char *name, const char *reason) {
    struct bench_table table;
    mha_error error = {.text = ""};
    ck_assert_int_ne(bench_table_read(&table, folder_path(name), &error), MHA_OK);
    ck_assert_ptr_null(table.rows);
    ck_assert_msg(strstr(error.text, name) != NULL, "%s", error.text);
    ck_assert_msg(strstr(error.text, reason) != NULL, "'%s' lacks '%s'", error.text, reason);
}

/* Rows that differ from a good one in one thing. */
START_TEST(test_broken_rows_are_refused) {
    static const struct {
        const char *row, *reason;
    } broken[] = {
        {"\n", ":4: 1 columns where the header has 7"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\n", "6 columns"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t4.5\t\n", "8 columns"},
        {"2,4,6,8\tstep\tstored\t1\t2.3\t6.7\t4.5\n", ":4: shape '2,4,6,8' is neither"},
        {"2,4,6,8,3\tstep\tstored\t1\t2.3\t6.7\t4.5\n", "width 8 is not divisible by 3 heads"},
        {"2,4,6,8,2\tsteps\tstored\t1\t2.3\t6.7\t4.5\n", "what 'steps' is none of"},
        {"2,4,6,8,2\tstep\tfast\t1\t2.3\t6.7\t4.5\n", "mode 'fast' is neither stored nor tiled"},
        {"2,4,6,8,2\tstep\tstored\t0\t2.3\t6.7\t4.5\n", "threads '0' is not"},
        {"2,4,6,8,2\tstep\tstored\t1.5\t2.3\t6.7\t4.5\n", "threads '1.5' is not"},
        {"2,4,6,8,2\tstep\tstored\t1\t\t6.7\t4.5\n", "median_us '' is not a number"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t-6.7\t4.5\n", "gflops '-6.7' is not a number"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\tnan\n", "peak_percent 'nan' is not a number"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t1e999\n", "peak_percent '1e999' is not"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t0x10\n", "peak_percent '0x10' is not"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t4.5 \n", "peak_percent '4.5 ' is not"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t1000.1\n",
            "peak_percent '1000.1' is more than 1000"},
        {"2,4,6,8,2\tstep\tstored\t1\t2.3\t6.7\t4.5", ":4: not a whole line of at most 510"},
        {"# late\n", "1 columns"},
    };
    for (size_t i = 0; i < COUNT(broken); i++) {
        char lines[256];
        snprintf(lines, sizeof lines, "%s%s", GOOD_ROW, broken[i].row);
        write_bench_table("a.tsv", "one", lines);
        assert_table_refused("a.tsv", broken[i].reason);
    }
    write_bench_table("a.tsv", "one", GOOD_ROW); /* what they differ from */
    struct bench_table table;
    ck_assert_int_eq(bench_table_read(&table, folder_path("a.tsv"), NULL), MHA_OK);
    bench_table_free(&table);
}
END_TEST

START_TEST(test_other_files_are_refused) {
    assert_table_refused("none.tsv", "No such file");
    folder_write("empty.tsv", "", 0);
    assert_table_refused("empty.tsv", ":1: no header of a table is there");
    folder_write("comments.tsv", "# a\n# b\n", 8);
    assert_table_refused("comments.tsv", "no header");
    folder_write("log.tsv", "step\tloss\n", 10);
    assert_table_refused("log.tsv", ":1: not the header of a table");
    write_bench_table("rows.tsv", "one", "");
    assert_table_refused("rows.tsv", ":3: the table has no row");
    static const char zero[] = "2,4,6,8,2\tstep\0\n";
    folder_write("zero.tsv", zero, sizeof zero - 1);
    assert_table_refused("zero.tsv", ":1: not a whole line");
    char wide[2000];
    memset(wide, '#', sizeof wide);
    folder_write("wide.tsv", wide, sizeof wide);
    assert_table_refused("wide.tsv", ":1: not a whole line of at most 510 characters");
    char *many = calloc(BENCH_MOST_ROWS + 1, sizeof GOOD_ROW);
    ck_assert_ptr_nonnull(many);
    for (size_t i = 0; i <= BENCH_MOST_ROWS; i++) {
        memcpy(many + i * (sizeof GOOD_ROW - 1), GOOD_ROW, sizeof GOOD_ROW - 1);
    }
    write_bench_table("many.tsv", "one", many);
    assert_table_refused("many.tsv", ":1003: more than 1000 rows");
    free(many);
}
END_TEST

START_TEST(test_a_name_with_an_escape) {
    write_bench_table("escape.tsv", "one\033[31m", GOOD_ROW);
    assert_table_refused("escape.tsv", ":1: character 27 in a comment");
}
END_TEST

START_TEST(test_long_names_are_cut) {
    char name[400];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    write_bench_table("a.tsv", name, GOOD_ROW);
    struct bench_table table;
    ck_assert_int_eq(bench_table_read(&table, folder_path("a.tsv"), NULL), MHA_OK);
    ck_assert_uint_eq(strlen(table.processor), PROCESSOR_NAME_SIZE - 1);
    bench_table_free(&table);
}
END_TEST

TCase *bench_table_case(void) {
    TCase *tables = tcase_create("tables");
    tcase_add_checked_fixture(tables, folder_make, folder_remove);
    tcase_add_test(tables, test_rows_read_back);
    tcase_add_test(tables, test_broken_rows_are_refused);
    tcase_add_test(tables, test_other_files_are_refused);
    tcase_add_test(tables, test_a_name_with_an_escape);
    tcase_add_test(tables, test_long_names_are_cut);
    return tables;
}
