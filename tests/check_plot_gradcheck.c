/* The picture of a gradient check: its curves, its data, and `mha plot gradcheck` as a user runs it. */
#include "check_plot_gradcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/faults/faults.h"
#include "commands/gradcheck_chart.h"
#include "count.h"
#include "folder.h"
#include "program_cases.h"

static struct check_curves make_curves(const char *name, uint64_t seed) {
    struct check_curves curves;
    mha_error error;
    size_t i = 0;
    while (i < fault_count && strcmp(faults[i].name, name) != 0) {
        i++;
    }
    ck_assert_msg(i < fault_count, "no fault '%s'", name);
    ck_assert_msg(curves_create(&curves, &faults[i], seed, &error) == MHA_OK, "%s", error.text);
    return curves;
}

/* A minimum inside, from which the error rises as h^2 on one side and as 1/h on the other. */
START_TEST(test_single_steps) {
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct check_curves curves = make_curves("scale lost", seed);
        const size_t best = curves.best;
        ck_assert_uint_eq(curves.weights, 36);
        ck_assert(best > 10 && best < 25);
        for (size_t n = 0; n < CURVE_STEPS; n++) {
            ck_assert_double_eq(curves.step[n], ldexp(1, -(int)n - 1));
            ck_assert_double_ge(curves.error[n], curves.error[best]);
        }
        for (size_t n = 2; n + 4 < best; n++) {
            ck_assert_double_eq_tol(log2(curves.error[n] / curves.error[n + 1]), 2, 0.2);
        }
        const double truncation = curves.truncation * ldexp(1, -12), last = ldexp(1, -40);
        ck_assert_double_eq_tol(curves.error[5] / truncation, 1, 0.1);
        for (size_t n = best + 4; n < 40; n++) {
            ck_assert_double_lt(fabs(log2(curves.error[n] * curves.step[n] / curves.rounding)), 2);
        }
        ck_assert_double_gt(curves.error[39], 1e5 * curves.error[best]);
        ck_assert_double_eq_tol(log2(curves.rounding / last / curves.error[39]), 0, 2);
        curves_free(&curves);
    }
}
END_TEST

/* The extrapolation beats every single step and knows its error; backward agrees to all digits. */
START_TEST(test_levels) {
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct check_curves curves = make_curves("scale lost", seed);
        ck_assert_double_lt(10 * curves.extrapolated, curves.error[curves.best]);
        ck_assert_double_le(curves.extrapolated, MHA_GRADCHECK_ESTIMATES * curves.estimate);
        ck_assert_double_lt(curves.estimate, 1e-10);
        ck_assert(curves.agreement > 0 && curves.agreement < 1e-14);
        curves_free(&curves);
    }
}
END_TEST

START_TEST(test_orders) {
    static const char *const names[] = {
        "scale lost", "one entry wrong by a hundredth", "Q and K exchanged"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct check_curves curves = make_curves(names[i], 1);
        ck_assert_double_eq_tol(curves.right.order, 2, 0.03);
        ck_assert_double_eq_tol(curves.wrong.order, 1, 0.03);
        const mha_gradcheck_taylor *right = &curves.right, *wrong = &curves.wrong;
        ck_assert_uint_eq(right->count, MHA_GRADCHECK_TAYLOR_STEPS);
        ck_assert_double_eq_tol(
            log2(curves.right_factor * pow(right->step[12], 2) / right->remainder[12]), 0, 0.1);
        ck_assert_double_eq_tol(
            log2(curves.wrong_factor * wrong->step[24] / wrong->remainder[24]), 0, 0.1);
        curves_free(&curves);
    }
}
END_TEST

/* Entries of the layer of fault_plan: query, source unless it is shared, and four matrices of 6 times 6. */
static size_t next_block(const char **name, size_t block, bool self_attention) {
    static const char *const names[] = {"query", "source", "wq", "wk", "wv", "wo"};
    static const size_t crossed[] = {3 * 3 * 6, 3 * 5 * 6, 36, 36, 36, 36};
    *name = names[block];
    return !self_attention ? crossed[block] : block == 0 ? 3 * 5 * 6 : block == 1 ? 0 : 36;
}

/* Every fault is off in the blocks it spoils, and on the diagonal in the others. */
START_TEST(test_every_entry) {
    const struct fault *fault = &faults[_i];
    struct check_curves curves = make_curves(fault->name, 0);
    const struct curve_entry *entry = curves.entries;
    size_t all = 0, caught_in_all = 0;
    for (size_t block = 0; block < 6; block++) {
        const char *name;
        const size_t count = next_block(&name, block, fault->self_attention);
        size_t caught = 0;
        for (size_t i = 0; i < count; i++, entry++) {
            const double nothing = 1e-11 * entry->largest;
            ck_assert_double_eq_tol(entry->right, entry->numeric, nothing);
            ck_assert_double_eq_tol(entry->right, entry->complex_step, nothing);
            ck_assert_double_le(fabs(entry->numeric), entry->largest);
            const double off = fabs(entry->wrong - entry->right);
            ck_assert(entry->caught ? !(off <= nothing) : off <= 20 * nothing);
            caught += entry->caught;
        }
        ck_assert_msg(count == 0 || (caught > 0) == (strstr(fault->fails, name) != NULL),
            "'%s': %zu of %s off", fault->name, caught, name);
        all += count;
        caught_in_all += caught;
    }
    ck_assert_uint_eq(curves.count, all);
    ck_assert_uint_eq(curves.caught, caught_in_all);
    curves_free(&curves);
}
END_TEST

/* Heads are 3 wide: without the scale 1/sqrt(3), gradients of wq are sqrt(3) as large. */
START_TEST(test_right_and_wrong_share_inputs) {
    struct check_curves curves = make_curves("scale lost", 7);
    for (size_t i = 54 + 90; i < 54 + 90 + 36; i++) {
        const struct curve_entry *entry = &curves.entries[i];
        ck_assert_double_eq_tol(entry->wrong, sqrt(3) * entry->right, 1e-13 * entry->largest);
    }
    curves_free(&curves);
}
END_TEST

/* Rows of a block of data, all of them with so many fields. */
static size_t rows_of(const char *text, const char *block, size_t fields) {
    const char *at = strstr(text, block);
    size_t rows = 0;
    ck_assert_ptr_nonnull(at);
    for (at += strlen(block); strncmp(at, "EOD\n", 4) != 0; at = strchr(at, '\n') + 1) {
        size_t found = 1;
        for (const char *c = at; *c != '\n'; c++) {
            found += *c == ' ';
        }
        ck_assert_uint_eq(found, fields);
        rows++;
    }
    return rows;
}

START_TEST(test_variables) {
    static const struct {
        const char *fault, *parts[6];
        size_t wrong_rows, entries;
    } cases[] = {{"scale lost",
                     {"title = 'Gradient check of a layer: masked cross-attention, B=3 T=3 S=5 D=6 "
                      "h=2, seed 3'\n",
                         "taylor_names[1] = 'right gradient, order 2.00'\n",
                         "taylor_names[2] = 'scale lost in backward, order 1.00'\n",
                         "entry_names[1] = 'right gradient: all 288 entries'\n",
                         "entry_names[2] = 'scale lost: 156 entries off'\n", "\nwrong_factor = "},
                     MHA_GRADCHECK_TAYLOR_STEPS, 288},
        {"one entry NaN",
            {"entry_names[2] = 'one entry NaN: 1 entry off, 1 not finite'\n",
                "taylor_names[2] = 'one entry NaN in backward, gradient not finite'\n",
                "wrong_factor = NaN\n", " NaN\n", "limit = 1.05", "$taylor2 << EOD\nNaN NaN NaN\n"},
            2, 288}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct check_curves curves = make_curves(cases[i].fault, 3);
        struct picture_size size;
        struct script made;
        mha_error error;
        ck_assert_int_eq(script_open(&made, &error), MHA_OK);
        gradcheck_chart_variables(made.stream, &size, &curves, cases[i].fault, 3, false);
        ck_assert_int_eq(script_close(&made, &error), MHA_OK);
        for (size_t j = 0; j < COUNT(cases[i].parts); j++) {
            ck_assert_msg(
                strstr(made.text, cases[i].parts[j]) != NULL, "no '%s'", cases[i].parts[j]);
        }
        ck_assert_uint_eq(rows_of(made.text, "$steps1 << EOD\n", 2), CURVE_STEPS);
        ck_assert_uint_eq(rows_of(made.text, "$taylor1 << EOD\n", 3), MHA_GRADCHECK_TAYLOR_STEPS);
        ck_assert_uint_eq(rows_of(made.text, "$taylor2 << EOD\n", 3), cases[i].wrong_rows);
        ck_assert_uint_eq(rows_of(made.text, "$entries1 << EOD\n", 3), cases[i].entries);
        script_free(&made);
        curves_free(&curves);
    }
}
END_TEST

static size_t count_marks(const char *svg, const char *mark) {
    size_t count = 0;
    for (const char *at = svg; (at = strstr(at, mark)) != NULL; at++) {
        count++;
    }
    return count;
}

START_TEST(test_whole_pictures) {
    static const char *const pictures[][2] = {
        {"a.png", "\x89PNG"}, {"a.svg", "<?xml"}, {"a.pdf", "%PDF-"}};
    for (size_t i = 0; i < COUNT(pictures); i++) {
        struct outcome outcome = run_well(
            WORDS("plot", "gradcheck", "--fault", "mask off by one", "-o", pictures[i][0]));
        size_t size;
        unsigned char *bytes = folder_read(&size, pictures[i][0]);
        ck_assert_str_eq(outcome.out, "");
        ck_assert_int_eq(memcmp(bytes, pictures[i][1], 4), 0);
        free(bytes);
        outcome_free(&outcome);
    }
    size_t size;
    char *svg = (char *)folder_read(&size, "a.svg");
    svg[size - 1] = '\0';
    static const char *const texts[] = {"seed 0", "1. One step", "2. Taylor", "3. Every entry",
        "truncation, falls as h", "rounding, grows as 1/h",
        "mask off by one in backward, order 1.00", "right gradient, order 2.00",
        "mask off by one: 132 entries off", "step h, in units of"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_msg(strstr(svg, texts[i]) != NULL, "no '%s'", texts[i]);
    }
    /* One mark a row, and one a key. */
    ck_assert_uint_eq(
        count_marks(svg, "<use xlink:href='#gpPt5' transform"), CURVE_STEPS + 1 + 44 + 1 + 288 + 1);
    ck_assert_uint_eq(count_marks(svg, "<use xlink:href='#gpPt1' transform"), 44 + 1 + 288 + 1);
    free(svg);
}
END_TEST

START_TEST(test_in_the_terminal) {
    struct outcome outcome = run_well(WORDS("plot", "gradcheck", "--seed=5"));
    static const char *const texts[] = {"seed 5\n", "\n 1. error of a derivative", "\n 2. Taylor",
        "\n 3. every entry", "  x  scale lost: 156 entries off\n", "=====", "-----", "....."};
    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_msg(strstr(outcome.out, texts[i]) != NULL, "no '%s'", texts[i]);
    }
    outcome_free(&outcome);
    outcome = run_well(WORDS("plot", "gradcheck", "--fault=one entry NaN"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "one entry NaN in backward, gradient not finite\n"));
    outcome_free(&outcome);
}
END_TEST

START_TEST(test_wrong_options_are_refused) {
    static const struct {
        const char *words[8], *text;
    } refused[] = {
        {{"plot", "gradcheck", "--fault", "scale", NULL},
            "--fault 'scale' is none of: scale lost, "},
        {{"plot", "gradcheck", "--fault", "", NULL}, "--fault '' is none of"},
        {{"plot", "gradcheck", "--seed", "-1", NULL}, "--seed '-1' is not a whole number"},
        {{"plot", "gradcheck", "run", NULL}, "unexpected argument 'run'"},
        {{"plot", "gradcheck", "-o", "a.jpg", NULL}, "does not end in .png, .svg or .pdf"},
        {{"plot", "gradcheck", "-o", "no/a.png", NULL}, "no/a.png: No such file"},
        {{"plot", NULL}, "no picture named: loss, heads, bench or gradcheck"},
        {{"plot", "check", NULL}, "there are loss, heads, bench and gradcheck"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_program_refuses(refused[i].words, refused[i].text);
    }
}
END_TEST

TCase *plot_gradcheck_case(void) {
    TCase *gradcheck = tcase_create("gradcheck");
    tcase_add_checked_fixture(gradcheck, folder_make, folder_remove);
    tcase_set_timeout(gradcheck, 60);
    tcase_add_test(gradcheck, test_single_steps);
    tcase_add_test(gradcheck, test_levels);
    tcase_add_test(gradcheck, test_orders);
    tcase_add_loop_test(gradcheck, test_every_entry, 0, (int)fault_count);
    tcase_add_test(gradcheck, test_right_and_wrong_share_inputs);
    tcase_add_test(gradcheck, test_variables);
    tcase_add_test(gradcheck, test_whole_pictures);
    tcase_add_test(gradcheck, test_in_the_terminal);
    tcase_add_test(gradcheck, test_wrong_options_are_refused);
    return gradcheck;
}
