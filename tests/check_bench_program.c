/* `mha bench` and `mha plot bench` as a user runs them. */
#include "check_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "folder.h"
#include "program_cases.h"

/* Median and speed belong together: the operations of a row are those of its shape. */
static void assert_row_is_consistent(const struct bench_row *row) {
    const double counted = bench_operations(&row->shape, row->what, row->mode);
    const double shown = row->median_us * row->gflops * 1e3;
    const double rounding = 0.0006 / row->median_us + 0.0006 / row->gflops;
    ck_assert_msg(fabs(shown - counted) <= rounding * counted, "%s: %g and %g operations",
        bench_what_name(row->what), shown, counted);
    ck_assert_double_gt(row->peak_percent, 0.0);
    ck_assert_double_lt(row->peak_percent, 200.0);
}

/* Both modes, one after the other. */
START_TEST(test_rows_of_a_shape) {
    struct outcome outcome =
        run_well(WORDS("bench", "--shape", "8,16,16,32,2,causal", "--threads", "1", "--tsv"));
    ck_assert_msg(strncmp(outcome.out, "# processor: ", 13) == 0, "%s", outcome.out);
    static const char *const facts[] = {"\n# instruction set: ", "\n# threads: 1\n",
        "\n# FMA peak of 1 thread: ", "\n# memory read: ", "\n# memory copy, read and written: "};
    for (size_t i = 0; i < COUNT(facts); i++) {
        ck_assert_msg(strstr(outcome.out, facts[i]) != NULL, "no %s", facts[i]);
    }
    folder_write("a.tsv", outcome.out, strlen(outcome.out));
    outcome_free(&outcome);
    struct bench_table table;
    mha_error error;
    ck_assert_msg(
        bench_table_read(&table, folder_path("a.tsv"), &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(table.count, 2 * BENCH_WHATS);
    for (size_t i = 0; i < table.count; i++) {
        ck_assert_int_eq(table.rows[i].what, (int)i % BENCH_WHATS);
        ck_assert_int_eq(table.rows[i].mode, i < BENCH_WHATS ? MHA_MODE_STORED : MHA_MODE_TILED);
        ck_assert_uint_eq(table.rows[i].threads, 1);
        ck_assert(table.rows[i].shape.causal);
        assert_row_is_consistent(&table.rows[i]);
    }
    bench_table_free(&table);
}
END_TEST

/* Two streams, two threads, one mode, for people. */
START_TEST(test_table_for_people) {
    struct outcome outcome =
        run_well(WORDS("bench", "--shape=1,3,5,4,2", "--threads", "2", "--mode", "tiled"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "\nFMA peak of 2 threads: "));
    ck_assert_ptr_nonnull(strstr(outcome.out,
        "\n\nshape                       what          mode   threads    median_us   gflops "
        "peak_percent\n1,3,5,4,2                   forward       tiled        2 "));
    ck_assert_ptr_nonnull(
        strstr(outcome.out, "\n1,3,5,4,2                   core-backward tiled        2 "));
    ck_assert_ptr_null(strstr(outcome.out, "stored"));
    ck_assert_ptr_null(strchr(outcome.out, '\t'));
    outcome_free(&outcome);
}
END_TEST

START_TEST(test_wrong_options_are_refused) {
    static const struct {
        const char *words[8], *text;
    } refused[] = {
        {{"bench", "--shape", "2,4,6,8", NULL}, "--shape '2,4,6,8' is neither B,T,S,D,h"},
        {{"bench", "--shape", "2,4,6,8,3", NULL}, "width 8 is not divisible by 3 heads"},
        {{"bench", "--shape", "2,4,6,8,2,causal", NULL}, "T is 4, S is 6"},
        {{"bench", "--shape", "2,4,6,8,2", "--shape", "1,1,1,1,0", NULL}, "h '0' is not"},
        {{"bench", "--threads", "0", NULL}, "--threads '0' is not a whole number from 1 to"},
        {{"bench", "--threads", "two", NULL}, "--threads 'two' is not"},
        {{"bench", "--mode", "fast", NULL}, "--mode 'fast' is none of stored, tiled"},
        {{"bench", "2,4,6,8,2", NULL}, "unexpected argument '2,4,6,8,2'"},
        {{"plot", "bench", NULL}, "no FILE given"},
        {{"plot", "bench", "none.tsv", NULL}, "none.tsv: No such file"},
        {{"plot", "bench", ".", NULL}, ". is a directory"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_program_refuses(refused[i].words, refused[i].text);
    }
}
END_TEST

/* What the machine cannot hold is told before it is tried. */
START_TEST(test_shapes_without_memory_are_refused) {
    struct outcome outcome =
        run_program(folder_path(""), WORDS("bench", "--tsv", "--threads", "1", "--mode", "stored",
                                         "--shape", "1,4194304,4194304,1,1"));
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_msg(
        strncmp(outcome.err, "mha: shape 1,4194304,4194304,1,1, stored: needs 70368.", 53) == 0,
        "%s", outcome.err);
    ck_assert_ptr_eq(strchr(outcome.err, '\n'), outcome.err + strlen(outcome.err) - 1);
    outcome_free(&outcome);
}
END_TEST

START_TEST(test_impossible_instruction_set_is_refused) {
    const char *before = getenv("MHA_ISA");
    char *kept = before != NULL ? strdup(before) : NULL;
    setenv("MHA_ISA", "v9", 1);
    assert_program_refuses(WORDS("bench", "--shape", "1,1,1,1,1"), "v9");
    if (kept != NULL) {
        setenv("MHA_ISA", kept, 1);
    } else {
        unsetenv("MHA_ISA");
    }
    free(kept);
}
END_TEST

static void assert_drawn(const char *name, const char *begin) {
    size_t size;
    unsigned char *bytes = folder_read(&size, name);
    ck_assert_uint_gt(size, 1000);
    ck_assert_int_eq(memcmp(bytes, begin, strlen(begin)), 0);
    free(bytes);
}

START_TEST(test_tables_are_drawn) {
    write_bench_table("a.tsv", "X", "2,4,6,8,2\tstep\tstored\t1\t2.5\t7\t12.50\n");
    write_bench_table("it's b.tsv", "X",
        "2,4,6,8,2\tstep\tstored\t2\t2.5\t7\t25.00\n"
        "1,8,8,4,2,causal\tcore-forward\ttiled\t2\t2.5\t7\t250.00\n");
    struct outcome outcome = run_well(WORDS("plot", "bench", "a.tsv", "it's b.tsv"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "\nB  it's b.tsv\n"));
    ck_assert_ptr_nonnull(strstr(outcome.out, " 12.5 |"));
    outcome_free(&outcome);
    static const char *const pictures[][2] = {
        {"a.png", "\x89PNG"}, {"a.svg", "<?xml"}, {"a.pdf", "%PDF-"}};
    for (size_t i = 0; i < COUNT(pictures); i++) {
        outcome = run_well(WORDS("plot", "bench", "a.tsv", "it's b.tsv", "-o", pictures[i][0]));
        ck_assert_str_eq(outcome.out, "");
        outcome_free(&outcome);
        assert_drawn(pictures[i][0], pictures[i][1]);
    }
    size_t size;
    char *svg = (char *)folder_read(&size, "a.svg");
    svg[size - 1] = '\0';
    static const char *const texts[] = {"Speed in percent of FMA peak, on X", "percent of FMA peak",
        "shape B,T,S,D,h and what is measured", "2,4,6,8,2 step", "1,8,8,4,2,causal core-forward",
        "a.tsv, stored, 1 thread", "b.tsv, tiled, 2 threads"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_msg(strstr(svg, texts[i]) != NULL, "no '%s'", texts[i]);
    }
    free(svg);
    assert_program_refuses(
        WORDS("plot", "bench", "a.tsv", "--keep-script", "a.gp"), "--keep-script needs -o PIC");
}
END_TEST

TCase *bench_program_case(void) {
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, folder_make, folder_remove);
    tcase_set_timeout(program, 60);
    tcase_add_test(program, test_rows_of_a_shape);
    tcase_add_test(program, test_table_for_people);
    tcase_add_test(program, test_wrong_options_are_refused);
    tcase_add_test(program, test_shapes_without_memory_are_refused);
    tcase_add_test(program, test_impossible_instruction_set_is_refused);
    tcase_add_test(program, test_tables_are_drawn);
    return program;
}
