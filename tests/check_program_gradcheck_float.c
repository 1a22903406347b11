/* mha gradcheck --float as a user runs it. */
#include <stdio.h>
#include <string.h>

#include "count.h"
#include "folder.h"
#include "program_cases.h"

/* Every line of the sweep, by seeds of its own. */
START_TEST(the_sweep_passes) {
    char seed[8];
    snprintf(seed, sizeof seed, "%d", _i);
    struct outcome outcome = run_well(WORDS("gradcheck", "--float", "--seed", seed));
    ck_assert_ptr_nonnull(strstr(outcome.out, "\n855 checks, 0 failed; "));
    ck_assert_ptr_null(strstr(outcome.out, "FAIL"));
    for (const char *line = outcome.out, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        ck_assert_int_le(end - line, 110);
    }
    static const char *const lines[] = {
        "\nproject_key, explicit            reference      1 3 4 4 6 2    ",
        "\nsoftmax, combined                reference      1 3 5 3 6 6    ",
        "\nattention, lengths               fused stored   2 3 70 70 12 2 ",
        "\nattention, no mask               fused tiled    1 3 50 70 12 2 ",
        "\ncross_entropy                    -              1 3 3 5 6 1    ",
        "\nlayer self, causal bottom-right  fused tiled    1 3 70 70 12 2 "};
    for (size_t i = 0; i < COUNT(lines); i++) {
        ck_assert_msg(strstr(outcome.out, lines[i]) != NULL, "no check of %s", lines[i]);
    }
    outcome_free(&outcome);
}
END_TEST

START_TEST(options_narrow_it_or_are_refused) {
    struct outcome outcome = run_well(WORDS("gradcheck", "--float", "--op", "attention", "--mode",
        "tiled", "--heads", "2", "--source-length", "300", "--causal", "--threads", "2"));
    ck_assert_ptr_nonnull(strstr(outcome.out, "fused tiled    2 3 300 300 6 2 "));
    ck_assert_ptr_nonnull(strstr(outcome.out, "\n1 checks, 0 failed; "));
    outcome_free(&outcome);
    assert_program_refuses(
        WORDS("gradcheck", "--float", "--self-test"), "does not go with --float");
    assert_program_refuses(
        WORDS("gradcheck", "--float", "--case", "a.npz"), "does not go with --case");
    assert_program_refuses(WORDS("gradcheck", "--float", "--op", "soft"), "--op 'soft' is none of");
}
END_TEST

TCase *program_gradcheck_float(void) {
    TCase *tests = tcase_create("program");
    tcase_add_checked_fixture(tests, folder_make, folder_remove);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, the_sweep_passes, 0, 3);
    tcase_add_test(tests, options_narrow_it_or_are_refused);
    return tests;
}
