/* Which instruction set is used, and what MHA_ISA may say. Each test decides anew, so it has a
 * process of its own. */
#define MHA_PRECISION 32

#include "base/isa.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "kernels/kernels.h"
#include "program_cases.h"
#include "suites.h"

#include <mha/mode.h>

static const char *const names[] = {"baseline", "v3", "v4"};
enum { NAMES = sizeof names / sizeof *names };

/* The highest by what the compiler knows of two telling features. */
static isa best(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") ? ISA_V4
           : __builtin_cpu_supports("avx2")   ? ISA_V3
                                              : ISA_BASELINE;
#else
    return ISA_BASELINE;
#endif
}

static void assert_used(isa expected) {
    const char *name = NULL;
    mha_isa(&name, NULL);
    ck_assert_str_eq(name, names[expected]);
    ck_assert_int_eq(isa_chosen(), expected);
#if defined(__x86_64__)
    const kernels *const compiled[] = {&kernels_baseline, &kernels_v3, &kernels_v4};
    ck_assert_ptr_eq(kernels_get(), compiled[expected]);
    const char *asked = getenv("MHA_ISA");
    const bool forced = asked != NULL && strcmp(asked, names[expected]) == 0;
    ck_assert_ptr_eq(kernels_for(16), compiled[expected == ISA_V4 && !forced ? ISA_V3 : expected]);
    ck_assert_ptr_eq(kernels_for(17), compiled[expected]);
#endif
}

/* By mha_isa, and by a layer that is wanted nevertheless. */
static void assert_refused(const char *shown) {
    static const char *const had[] = {"baseline", "baseline, v3", "baseline, v3, v4"};
    char text[200];
    snprintf(text, sizeof text, "MHA_ISA is '%s', this processor has %s", shown, had[best()]);
    const char *name = NULL;
    mha_error error = {MHA_OK, ""};
    ck_assert_int_eq(mha_isa(&name, &error), MHA_ERROR_ARGUMENT);
    ck_assert_int_eq(error.status, MHA_ERROR_ARGUMENT);
    ck_assert_str_eq(error.text, text);
    assert_used(best());
    const mha_shape shape = {1, 2, 2, 4, 2};
    mha_layer *layer = (mha_layer *)&error;
    error = (mha_error){MHA_OK, ""};
    ck_assert_int_eq(mha_layer_create(&layer, &shape, NULL, &error), MHA_ERROR_ARGUMENT);
    ck_assert_ptr_null(layer);
    ck_assert_str_eq(error.text, text);
}

START_TEST(what_the_processor_has_is_obeyed) {
    setenv("MHA_ISA", names[_i], 1);
    if (_i > (int)best()) {
        assert_refused(names[_i]);
        return;
    }
    const char *name = NULL;
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(mha_isa(&name, &error) == MHA_OK, "%s", error.text);
    assert_used((isa)_i);
}
END_TEST

static const struct {
    const char *value, *shown;
} unknown[] = {{"v5", "v5"}, {"V3", "V3"}, {"v3 ", "v3 "}, {"v", "v"},
    {"baseline,v3", "baseline,v3"}, {"x86-64-v3", "x86-64-v3"}, {"v3\n\x1b[31m", "v3??[31m"},
    {"%s%n", "%s%n"},
    {"a long name that is cut where it does not fit", "a long name that is cut where i"}};

START_TEST(unknown_names_are_refused) {
    setenv("MHA_ISA", unknown[_i].value, 1);
    assert_refused(unknown[_i].shown);
}
END_TEST

START_TEST(the_best_is_used_by_itself) {
    if (_i == 0) {
        unsetenv("MHA_ISA");
    } else {
        setenv("MHA_ISA", "", 1);
    }
    const char *name = NULL;
    ck_assert_int_eq(mha_isa(&name, NULL), MHA_OK);
    assert_used(best());
}
END_TEST

START_TEST(it_is_decided_once) {
    setenv("MHA_ISA", "baseline", 1);
    assert_used(ISA_BASELINE);
    setenv("MHA_ISA", "nonsense", 1);
    const char *name = NULL;
    ck_assert_int_eq(mha_isa(&name, NULL), MHA_OK);
    assert_used(ISA_BASELINE);
}
END_TEST

static void *ask(void *result) {
    *(isa *)result = isa_chosen();
    return NULL;
}

START_TEST(all_threads_are_told_the_same) {
    enum { ASKING = 8 };
    setenv("MHA_ISA", "baseline", 1);
    pthread_t threads[ASKING];
    isa told[ASKING];
    for (size_t i = 0; i < ASKING; i++) {
        told[i] = ISA_V4;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &told[i]), 0);
    }
    for (size_t i = 0; i < ASKING; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(told[i], ISA_BASELINE);
    }
}
END_TEST

START_TEST(the_program_refuses_too) {
    setenv("MHA_ISA", "v9", 1);
    assert_program_refuses(WORDS("train", "reverse", "--steps", "1", "-o", "run"),
        "MHA_ISA is 'v9', this processor has ");
}
END_TEST

Suite *isa_suite(void) {
    Suite *suite = suite_create("isa");
    TCase *tests = tcase_create("choice");
    tcase_set_tags(tests, "fork");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_add_loop_test(tests, what_the_processor_has_is_obeyed, 0, NAMES);
    tcase_add_loop_test(tests, unknown_names_are_refused, 0, sizeof unknown / sizeof *unknown);
    tcase_add_loop_test(tests, the_best_is_used_by_itself, 0, 2);
    tcase_add_test(tests, it_is_decided_once);
    tcase_add_test(tests, all_threads_are_told_the_same);
    tcase_add_test(tests, the_program_refuses_too);
    suite_add_tcase(suite, tests);
    return suite;
}
