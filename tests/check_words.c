/* Reading word lists, and n-gram figures worked out by hand. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "tasks/ngrams.h"
#include "word_lists.h"

Suite *words_suite(void);

enum { WORDS = LISTED_WORDS };

START_TEST(usable_words_are_kept_once_and_in_order) {
    const char *path = write_list(WORDS,
        "ab\nabc\nAbc\nit's\nzebra\r\nabcdefghijk\nabcdefghijkl\n\n caf\xc3\xa9\nabc\nna ive\nzzz");
    static const char *const kept[] = {"abc", "zebra", "abcdefghijk", "zzz"};
    struct word_list list;
    mha_error error = {0};
    ck_assert_msg(word_list_read(&list, path, &error) == MHA_OK, "%s", error.text);
    ck_assert_uint_eq(list.count, WORDS + 4);
    for (size_t i = 0; i < WORDS; i++) {
        char word[4];
        name_word(word, i);
        ck_assert_uint_eq(list.words[i], packed(word));
    }
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(list.words[WORDS + i], packed(kept[i]));
    }
    ck_assert_int_eq(word_letter(packed("zebra"), 0), 26);
    ck_assert_int_eq(word_letter(packed("zebra"), 5), 0);
    ck_assert_int_eq(word_letter(packed("abcdefghijk"), 10), 11);
    ck_assert_int_eq(word_letter(packed("abcdefghijk"), 11), 0);
    word_list_free(&list);
}
END_TEST

START_TEST(very_long_lines_are_passed_over) {
    enum { LONG = 200000 };
    char *text = malloc(LONG + 4 * WORDS);
    memset(text, 'a', LONG);
    text[LONG - 1] = '\n';
    for (size_t i = 0; i < WORDS; i++) {
        name_word(text + LONG + 4 * i, i);
        text[LONG + 4 * i + 3] = '\n';
    }
    folder_write("words", text, LONG + 4 * WORDS);
    free(text);
    struct word_list list;
    ck_assert_int_eq(word_list_read(&list, folder_path("words"), NULL), MHA_OK);
    ck_assert_uint_eq(list.count, WORDS);
    word_list_free(&list);
}
END_TEST

/* Training words ab and b, held-out word ba: every count can be written down. */
START_TEST(ngram_figures_match_hand_computation) {
    const packed_word training[] = {packed("ab"), packed("b")}, held_out[] = {packed("ba")};
    double bits[NGRAM_LONGEST];
    ck_assert_int_eq(ngram_bits(bits, held_out, 1, training, 2, NULL), MHA_OK);
    /* Symbols seen: a once, b twice, the end twice; three kinds. p(a) = (1 + 3/27) / (5 + 3). */
    const double a = 5.0 / 36, b = 19.0 / 72, end = 19.0 / 72;
    /* After the start: a, b. After b: the end twice. After a: b. */
    const double b_start = (1 + 2 * b) / 4, a_b = (0 + a) / 3, end_a = (0 + end) / 2;
    /* After two starts as after one; after start b: the end once; ba never seen. */
    const double b_start2 = (1 + 2 * b_start) / 4, a_start_b = (0 + a_b) / 2;
    const double b_start3 = (1 + 2 * b_start2) / 4, a_start2_b = (0 + a_start_b) / 2;
    const double expected[] = {-log2(b * a * end) / 3, -log2(b_start * a_b * end_a) / 3,
        -log2(b_start2 * a_start_b * end_a) / 3, -log2(b_start3 * a_start2_b * end_a) / 3};
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        ck_assert_double_eq_tol(bits[n], expected[n], 1e-12);
    }
}
END_TEST

Suite *words_suite(void) {
    Suite *suite = suite_create("words");
    TCase *tcase = tcase_create("words");
    tcase_add_checked_fixture(tcase, folder_make, folder_remove);
    tcase_add_test(tcase, usable_words_are_kept_once_and_in_order);
    tcase_add_test(tcase, very_long_lines_are_passed_over);
    tcase_add_test(tcase, ngram_figures_match_hand_computation);
    suite_add_tcase(suite, tcase);
    return suite;
}
