/* Shapes, operations and times of `mha bench`. */
#include "suites.h"
#include "check_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/bench_arrays.h"
#include "commands/bench_machine.h"
#include "commands/bench_shape.h"
#include "commands/bench_time.h"
#include "count.h"

static struct bench_shape shape_of(const char *text) {
    struct bench_shape shape;
    mha_error error;
    ck_assert_msg(bench_shape_parse(&shape, text, &error) == MHA_OK, "%s", error.text);
    return shape;
}

START_TEST(test_shapes_are_read_and_written) {
    static const char *const texts[] = {
        "2,4,6,8,2", "1,1,1,1,1", "4,512,512,512,8,causal", "1,1073741824,1,1,1"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct bench_shape shape = shape_of(texts[i]);
        char text[BENCH_SHAPE_SIZE];
        bench_shape_format(text, &shape);
        ck_assert_str_eq(text, texts[i]);
    }
    const struct bench_shape shape = shape_of("2,4,6,8,1");
    ck_assert_uint_eq(shape.sizes.batch, 2);
    ck_assert_uint_eq(shape.sizes.target_length, 4);
    ck_assert_uint_eq(shape.sizes.source_length, 6);
    ck_assert_uint_eq(shape.sizes.width, 8);
    ck_assert_uint_eq(shape.sizes.heads, 1);
    ck_assert(!shape.causal && shape_of("1,2,2,4,2,causal").causal);
}
END_TEST

START_TEST(test_other_shapes_are_refused) {
    static const struct {
        const char *text, *reason;
    } refused[] = {
        {"", "neither B,T,S,D,h, five numbers, nor B,T,S,D,h,causal"},
        {"2,4,6,8", "neither"},
        {"2,4,6,8,2,", "neither"},
        {"2,4,4,8,2,Causal", "neither"},
        {"2,4,4,8,2,causal,causal", "neither"},
        {"2,4,4,8,2,3", "neither"},
        {"2,4,6,8,", "h '' is not a whole number from 1 to 1073741824"},
        {"0,4,6,8,2", "B '0' is not"},
        {"2,-4,6,8,2", "T '-4' is not"},
        {"2,4, 6,8,2", "S ' 6' is not"},
        {"2,4,6,8.0,2", "D '8.0' is not"},
        {"2,4,6,8,0x2", "h '0x2' is not"},
        {"2,4,6,8,2x", "h '2x' is not"},
        {"2,1073741825,6,8,2", "T '1073741825' is not"},
        {"2,99999999999999999999999999,6,8,2", "T '99999999999999999999999999' is not"},
        {"2,4,6,8,3", "width 8 is not divisible by 3 heads"},
        {"2,4,6,8,2,causal", "causal needs equal lengths, and T is 4, S is 6"},
        {"1073741824,1073741824,1073741824,1,1", "exceed the address space"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct bench_shape shape;
        mha_error error = {.text = ""};
        ck_assert_int_ne(bench_shape_parse(&shape, refused[i].text, &error), MHA_OK);
        char lead[64];
        snprintf(lead, sizeof lead, "shape '%s'", refused[i].text);
        ck_assert_msg(strncmp(error.text, lead, strlen(lead)) == 0, "%s", error.text);
        ck_assert_msg(strstr(error.text, refused[i].reason) != NULL, "%s", error.text);
    }
}
END_TEST

static double operations(const char *text, enum bench_what what, mha_mode mode) {
    const struct bench_shape shape = shape_of(text);
    return bench_operations(&shape, what, mode);
}

/* Counted by hand: P is 2*4*6 = 48, and 1 + ... + 512 = 131328 for each of 3 samples. */
START_TEST(test_operations) {
    const mha_mode stored = MHA_MODE_STORED, tiled = MHA_MODE_TILED;
    ck_assert_double_eq(operations("2,4,6,8,2", BENCH_FORWARD, stored), 6656);
    ck_assert_double_eq(operations("2,4,6,8,2", BENCH_STEP, stored), 15872);
    ck_assert_double_eq(operations("2,4,6,8,2", BENCH_STEP, tiled), 15872);
    ck_assert_double_eq(operations("2,4,6,8,4", BENCH_CORE_FORWARD, tiled), 4 * 48 * 8);
    ck_assert_double_eq(operations("2,4,6,8,2", BENCH_CORE_BACKWARD, stored), 8 * 48 * 8);
    ck_assert_double_eq(operations("2,4,6,8,2", BENCH_CORE_BACKWARD, tiled), 10 * 48 * 8);
    ck_assert_double_eq(
        operations("3,512,512,64,4,causal", BENCH_CORE_FORWARD, stored), 4 * 393984.0 * 64);
    ck_assert_double_eq(operations("3,512,512,64,4,causal", BENCH_FORWARD, stored),
        8.0 * 3 * 512 * 64 * 64 + 4 * 393984.0 * 64);
}
END_TEST

START_TEST(test_median) {
    double odd[] = {5, 1, 4}, even[] = {4, 1, 3, 2}, one[] = {7};
    ck_assert_double_eq(median_of(odd, 3), 4);
    ck_assert_double_eq(median_of(even, 4), 2.5);
    ck_assert_double_eq(median_of(one, 1), 7);
}
END_TEST

/* Counts its calls, and sleeps. */
struct sleeper {
    long nanoseconds;
    size_t calls;
};

static void run_sleeper(void *context) {
    struct sleeper *sleeper = context;
    const struct timespec pause = {.tv_nsec = sleeper->nanoseconds};
    sleeper->calls++;
    if (pause.tv_nsec > 0) {
        nanosleep(&pause, NULL);
    }
}

START_TEST(test_long_runs_are_repeated_few_times) {
    struct sleeper sleeper = {.nanoseconds = 100000000};
    const double seconds = median_seconds(run_sleeper, &sleeper);
    ck_assert_double_ge(seconds, 0.1);
    ck_assert_double_lt(seconds, 0.3);
    ck_assert_uint_eq(sleeper.calls, 1 + 5); /* to warm up, and measured */
}
END_TEST

START_TEST(test_short_runs_are_repeated_in_batches) {
    struct sleeper sleeper = {.nanoseconds = 0};
    const double begin = clock_seconds();
    const double seconds = median_seconds(run_sleeper, &sleeper);
    const double spent = clock_seconds() - begin;
    ck_assert_double_gt(seconds, 0.0);
    ck_assert_double_lt(seconds, 20e-6);
    ck_assert_double_ge(spent, 0.3);
    ck_assert_double_lt(seconds * (double)sleeper.calls, 2 * spent);
}
END_TEST

START_TEST(test_machine) {
    char name[PROCESSOR_NAME_SIZE];
    processor_name(name);
    ck_assert_uint_ge(strlen(name), 1);
    ck_assert_ptr_null(strpbrk(name, "\n\t"));
    for (size_t threads = 1; threads <= 2; threads++) {
        const double peak = fma_peak(threads);
        ck_assert_msg(peak > 1e7 && peak < 1e14, "%g operations a second", peak);
    }
    struct memory_speed speed;
    mha_error error;
    ck_assert_int_eq(memory_measure(&speed, 1, &error), MHA_OK);
    ck_assert_msg(speed.read > 1e7 && speed.read < 1e13, "%g bytes a second", speed.read);
    ck_assert_msg(speed.copy > 1e7 && speed.copy < 1e13, "%g bytes a second", speed.copy);
}
END_TEST

START_TEST(test_arrays) {
    mha_real *drawn, *zeros, *none;
    void *block;
    mha_error error;
    const struct bench_array arrays[] = {{&none, 0, true}, {&zeros, 3, false}, {&drawn, 999, true}};
    ck_assert_int_eq(bench_arrays_create(&block, arrays, COUNT(arrays), 0, &error), MHA_OK);
    ck_assert_ptr_null(none);
    ck_assert_uint_eq((size_t)drawn % 64, 0);
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < 999; i++) {
        sum += (double)drawn[i];
        squares += (double)drawn[i] * (double)drawn[i];
    }
    ck_assert_double_lt(fabs(sum / 999), 0.1);
    ck_assert_double_lt(fabs(squares / 999 - 1), 0.2);
    ck_assert(zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0);
    free(block);
    ck_assert_int_eq(bench_arrays_create(&block, arrays, COUNT(arrays), (size_t)1 << 62, &error),
        MHA_ERROR_MEMORY);
    ck_assert_ptr_null(block);
    ck_assert_msg(
        strstr(error.text, "needs 4611686018.4 GB of memory, and this machine has ") == error.text,
        "%s", error.text);
}
END_TEST

Suite *bench_suite(void) {
    Suite *suite = suite_create("bench");
    TCase *shapes = tcase_create("shapes and times");
    tcase_set_timeout(shapes, 60);
    tcase_add_test(shapes, test_shapes_are_read_and_written);
    tcase_add_test(shapes, test_other_shapes_are_refused);
    tcase_add_test(shapes, test_operations);
    tcase_add_test(shapes, test_median);
    tcase_add_test(shapes, test_long_runs_are_repeated_few_times);
    tcase_add_test(shapes, test_short_runs_are_repeated_in_batches);
    tcase_add_test(shapes, test_arrays);
    TCase *machine = tcase_create("machine");
    tcase_set_timeout(machine, 60);
    tcase_set_tags(machine, "long"); /* under valgrind */
    tcase_add_test(machine, test_machine);
    suite_add_tcase(suite, shapes);
    suite_add_tcase(suite, machine);
    suite_add_tcase(suite, bench_table_case());
    suite_add_tcase(suite, bench_chart_case());
    suite_add_tcase(suite, bench_program_case());
    return suite;
}
