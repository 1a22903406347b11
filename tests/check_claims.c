/* The marks of common mistakes, each on arrays that were made by it. */
#include "claims_made.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "claims_cases.h"

Suite *claims_suite(void);

#define ROOT_OF_D 2.449489742783178 /* d = 6 */

static const struct {
    const char *what;
    void (*spoil)(mha_value, double);
    mha_value value;
    double by;
    enum mark mark;
    const char *text;
} mistakes[] = {
    {"right", nothing, MHA_WQ, 0, MARK_RIGHT, ""},
    {"right pairs", nothing, MHA_SCORES, 0, MARK_RIGHT, ""},
    {"noise", noisy, MHA_WQ, 1, MARK_UNKNOWN, "no mark of a common mistake"},
    {"noise by a stream", noisy, MHA_SOURCE, 1e-3, MARK_UNKNOWN, "no mark of a common mistake"},
    {"noise by heads", noisy, MHA_Q_HEADS, 1e-6, MARK_UNKNOWN, "no mark of a common mistake"},
    {"little", noisy, MHA_WV, 3e-12, MARK_UNKNOWN, "no mark of a common mistake"},
    {"NaN", one_number, MHA_WK, (double)NAN, MARK_NOT_FINITE, "not finite"},
    {"infinite", one_number, MHA_WK, HUGE_VAL, MARK_NOT_FINITE, "not finite"},
    {"one entry", one_entry, MHA_WQ, 1.5, MARK_ONE_ENTRY, "this entry alone, by 0.5 of it"},
    {"one pair", one_entry, MHA_SCALED, 2, MARK_ONE_ENTRY, "this entry alone, by 1 of it"},
    {"one pair lost", one_entry, MHA_SCALED, 0, MARK_SEEN_PAIRS, "zero at 1 pairs that the mask"},
    {"zero", multiplied, MHA_WQ, 0, MARK_MISSING, "zero everywhere: no gradient reaches it"},
    {"sign", multiplied, MHA_WO, -1, MARK_SIGN, "-1 times what is right: the sign is wrong"},
    {"twice", multiplied, MHA_V, 2, MARK_TWICE, "2 times what is right: counted twice"},
    {"scale lost", multiplied, MHA_SCORES, ROOT_OF_D, MARK_SCALE_LOST,
        "the scale 1/sqrt(d) is missing"},
    {"scaled twice", multiplied, MHA_SCORES, 1 / ROOT_OF_D, MARK_SCALE_TWICE, "scaled twice"},
    {"not by the scale", multiplied, MHA_WV, ROOT_OF_D, MARK_FACTOR,
        "2.44948974 times what is right"},
    {"mean", multiplied, MHA_WO, 1.0 / 3, MARK_FACTOR,
        "1/B of what is right: averaged over the batch"},
    {"mean of all", multiplied, MHA_WO, 1.0 / 12, MARK_FACTOR, "averaged over the queries"},
    {"half", multiplied, MHA_WO, 0.5, MARK_FACTOR, "half of what is right"},
    {"batch", multiplied, MHA_WO, 3, MARK_FACTOR, "B times what is right: the batch counted again"},
    {"near 1", multiplied, MHA_WO, 1 + 3e-9, MARK_FACTOR, "(1 +3e-09) times what is right"},
    {"copy", copied, MHA_WK, MHA_WV, MARK_EXCHANGED, "the gradient of wv"},
    {"exchanged", exchanged, MHA_K, MHA_V, MARK_EXCHANGED, "gradient of v: the two are exchanged"},
    {"transposed", transposed, MHA_WV, 1, MARK_TRANSPOSED, "the transpose of what is right"},
    {"dy w", not_transposed, MHA_SOURCE, 1, MARK_NOT_TRANSPOSED, "dy w where dy w^T is right"},
    {"heads, wq", heads_from, MHA_WQ, -1, MARK_HEADS_PERMUTED, "the heads in another order: 1 0"},
    {"heads, wo", heads_from, MHA_WO, -1, MARK_HEADS_PERMUTED, "the heads in another order: 1 0"},
    {"heads, k", heads_from, MHA_K, -1, MARK_HEADS_PERMUTED, "the heads in another order: 1 0"},
    {"heads, pairs", heads_from, MHA_SCORES, -1, MARK_HEADS_PERMUTED, "in another order: 1 0"},
    {"one head", heads_from, MHA_V_HEADS, 1, MARK_HEADS_PERMUTED, "in another order: 1 1"},
    {"joined", regrouped, MHA_Q, 0, MARK_HEADS_REGROUPED, "right numbers in wrong places"},
    {"split", regrouped, MHA_K_HEADS, 1, MARK_HEADS_REGROUPED, "right numbers in wrong places"},
    {"mask", blocked_pairs, MHA_SCORES, 1, MARK_BLOCKED_PAIRS, "pairs that the mask blocks"},
    {"lost pairs", seen_pairs, MHA_SCORES, 0, MARK_SEEN_PAIRS, "pairs that the mask allows"},
    {"row term", rows_moved, MHA_MASKED, 1, MARK_SOFTMAX_ROWS, "rows do not sum to zero"},
    {"no row term", rows_spoiled, MHA_MASKED, 1, MARK_UNKNOWN, "no mark of a common mistake"},
    {"a head", last_head, MHA_WQ, 0, MARK_HEAD, "zero in head 1, right elsewhere"},
    {"a head of wo", last_head, MHA_WO, 3, MARK_HEAD, "3 times what is right in head 1, right"},
    {"a head of q", last_head, MHA_Q_HEADS, 0, MARK_HEAD, "zero in head 1, right elsewhere"},
    {"samples", last_samples, MHA_QUERY, 0, MARK_SAMPLE, "zero in samples 1 2, right elsewhere"},
    {"target", last_target, MHA_QUERY, -1, MARK_POSITION, "-1 times what is right in target posit"},
    {"source", last_sources, MHA_V, 0, MARK_POSITION, "zero in source positions 3 4, right els"},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

START_TEST(each_mistake_has_its_mark) {
    claims_fill();
    mistakes[_i].spoil(mistakes[_i].value, mistakes[_i].by);
    const struct diagnosis found = diagnosis_of(mistakes[_i].value);
    ck_assert_msg(found.mark == mistakes[_i].mark, "%s: mark %d, %s", mistakes[_i].what,
        (int)found.mark, found.text);
    ck_assert_msg(strstr(found.text, mistakes[_i].text) != NULL, "%s: '%s' is not in '%s'",
        mistakes[_i].what, mistakes[_i].text, found.text);
    ck_assert_int_eq(found.mark == MARK_RIGHT, found.text[0] == '\0');
    ck_assert_int_eq(found.mark == MARK_RIGHT, found.wrong == 0);
    ck_assert_uint_lt(found.entry, claims_count(mistakes[_i].value));
}
END_TEST

/* Where nothing is off nothing needs to be allowed, and where something is, little is enough. */
START_TEST(nothing_is_allowed) {
    claims_fill();
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        claims[value].allowed = 0.0;
        ck_assert_int_eq(diagnosis_of((mha_value)value).mark, MARK_RIGHT);
        claimed[value][4] = nextafter(truth[value][4], HUGE_VAL);
        const struct diagnosis found = diagnosis_of((mha_value)value);
        ck_assert_int_ne(found.mark, MARK_RIGHT);
        ck_assert_uint_eq(found.entry, 4);
        ck_assert_uint_eq(found.wrong, 1);
    }
}
END_TEST

/* The entry is the one that is farthest off, and all that are off are counted. */
START_TEST(the_worst_entry_is_named) {
    claims_fill();
    claimed[MHA_WQ][3] += 1.0;
    claimed[MHA_WQ][7] -= 2.0;
    claimed[MHA_WQ][100] += 1e-13;
    struct diagnosis found = diagnosis_of(MHA_WQ);
    ck_assert_uint_eq(found.entry, 7);
    ck_assert_uint_eq(found.wrong, 2);
    claimed[MHA_WQ][50] = claimed[MHA_WQ][60] = (double)NAN;
    found = diagnosis_of(MHA_WQ);
    ck_assert_uint_eq(found.entry, 50);
    ck_assert_uint_eq(found.wrong, 4);
}
END_TEST

/* No share of zero is told. */
START_TEST(one_entry_where_zero_is_right) {
    claims_fill();
    truth[MHA_SOURCE][11] = 0.0;
    claimed[MHA_SOURCE][11] = 0.5;
    const struct diagnosis found = diagnosis_of(MHA_SOURCE);
    ck_assert_int_eq(found.mark, MARK_ONE_ENTRY);
    ck_assert_str_eq(found.text, "this entry alone, where zero is right");
}
END_TEST

Suite *claims_suite(void) {
    Suite *suite = suite_create("claims");
    TCase *tests = tcase_create("marks");
    tcase_add_loop_test(tests, each_mistake_has_its_mark, 0, MISTAKES);
    tcase_add_test(tests, nothing_is_allowed);
    tcase_add_test(tests, the_worst_entry_is_named);
    tcase_add_test(tests, one_entry_where_zero_is_right);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, claims_places());
    suite_add_tcase(suite, claims_suspects());
    suite_add_tcase(suite, claims_located());
    suite_add_tcase(suite, claims_rounding());
    return suite;
}
