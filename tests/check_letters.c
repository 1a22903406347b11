/* The letters task: reading word lists, the fixed split, the encoding, and n-gram figures worked
 * out by hand. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"
#include "task_batch.h"
#include "tasks/ngrams.h"
#include "tasks/symbols.h"
#include "tasks/table.h"
#include "word_lists.h"

Suite *letters_suite(void);

enum { WORDS = LISTED_WORDS, HELD_OUT = WORDS / 10, T = LONGEST_WORD + 1 };

static struct settings settings_for(const char *path) {
    struct settings settings = task_letters.defaults;
    settings.words = path;
    return settings;
}

/* The list is refused, and the text is "word list PATH" and the ending. */
static void assert_list_refused(const char *path, mha_status status, const char *ending) {
    char text[MHA_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "word list %s%s", path, ending);
    struct settings settings = settings_for(path);
    assert_refused(&task_letters, &settings, status, text);
}

START_TEST(unusable_lists_are_refused) {
    assert_list_refused(folder_path("missing"), MHA_ERROR_FILE, ": No such file or directory");
    assert_list_refused(folder_path(""), MHA_ERROR_FILE, " is a directory, not a file");
    ck_assert_int_eq(mkfifo(folder_path("pipe"), 0600), 0);
    assert_list_refused(folder_path("pipe"), MHA_ERROR_FILE, " is a device or a pipe, not a file");
    folder_write("empty", "", 0);
    assert_list_refused(folder_path("empty"), MHA_ERROR_FORMAT,
        " has 0 usable words (3 to 11 letters a to z, one a line), 100 are needed");
    folder_write("binary", "abc\nde\0fgh\n", 11);
    assert_list_refused(folder_path("binary"), MHA_ERROR_FORMAT, " is not text: byte 7 is zero");
    /* Duplicates do not make a list long enough. */
    assert_list_refused(write_list(FEWEST_WORDS - 1, "aaa\naaa\naaa\n"), MHA_ERROR_FORMAT,
        " has 99 usable words (3 to 11 letters a to z, one a line), 100 are needed");
    struct settings settings = settings_for(write_list(FEWEST_WORDS, ""));
    task_closed(&task_letters, task_opened(&task_letters, &settings));
}
END_TEST

START_TEST(a_long_path_leaves_room_for_the_reason) {
    char path[2001];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct settings settings = settings_for(path);
    struct task_data *data;
    mha_error error = {0};
    ck_assert_int_eq(task_letters.open(&data, &settings, &error), MHA_ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(error.text, "xxx: File name too long"));
}
END_TEST

/* The word that a sample of the batch spells, from its labels; checks queries on the way. */
static packed_word spelled(const struct task_batch *batch, size_t b) {
    const struct token_encoding encoding = {LETTER_SYMBOLS, T, "positions"};
    const int32_t *labels = batch->labels + b * T;
    packed_word word = 0;
    int32_t before = 0;
    bool ended = false;
    for (size_t t = 0; t < T; t++) {
        const mha_real *row = token_row(batch, b, t, false);
        mha_real expected[64] = {0};
        if (!ended) {
            encode_token(expected, 64, &encoding, before, (int32_t)t);
        }
        ck_assert_mem_eq(row, expected, sizeof expected);
        if (ended) {
            ck_assert_int_eq(labels[t], -1);
            continue;
        }
        ck_assert_int_ge(labels[t], 0);
        ck_assert_int_lt(labels[t], LETTER_SYMBOLS);
        word |= (packed_word)labels[t] << (5 * t);
        before = labels[t];
        ended = before == 0;
    }
    ck_assert(ended);
    return word;
}

static struct task_batch letters_batch(size_t samples) {
    mha_shape shape = task_letters.defaults.shape;
    shape.batch = samples;
    return batch_make(&task_letters, &shape);
}

START_TEST(first_tenth_of_the_permutation_is_held_out) {
    struct settings settings = settings_for(write_list(WORDS, ""));
    settings.seed = 9; /* the split does not depend on it */
    struct task_data *data = task_opened(&task_letters, &settings);
    ck_assert_uint_eq(task_letters.held_out_count(data), HELD_OUT);
    struct task_batch batch = letters_batch(HELD_OUT);
    task_letters.fill_held_out(&batch, 0, HELD_OUT, data);
    packed_word held_out[HELD_OUT];
    for (size_t i = 0; i < HELD_OUT; i++) {
        held_out[i] = spelled(&batch, i);
    }
    task_letters.fill_held_out(&batch, 5, 3, data);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(spelled(&batch, i), held_out[5 + i]);
    }
    uint32_t order[WORDS];
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){0, 5}, 2);
    mha_rng_permutation(order, &rng, WORDS);
    for (size_t i = 0; i < HELD_OUT; i++) {
        char word[4];
        name_word(word, order[i]);
        ck_assert_uint_eq(held_out[i], packed(word));
    }
    /* NumPy 1.24.2: default_rng([0, 5]).permutation(200) */
    ck_assert_uint_eq(held_out[0], packed("nhg"));
    ck_assert_uint_eq(held_out[1], packed("ybb"));
    ck_assert_uint_eq(held_out[HELD_OUT - 1], packed("tbd"));
    batch_free(&batch);
    task_closed(&task_letters, data);
}
END_TEST

START_TEST(training_draws_every_other_word) {
    enum { DRAWS = 4000 };
    struct settings settings = settings_for(write_list(WORDS, ""));
    struct task_data *data = task_opened(&task_letters, &settings);
    struct task_batch batch = letters_batch(DRAWS);
    bool seen[WORDS] = {false}, held[WORDS] = {false};
    task_letters.fill_held_out(&batch, 0, HELD_OUT, data);
    for (size_t b = 0; b < HELD_OUT; b++) {
        packed_word word = spelled(&batch, b);
        held[word_letter(word, 0) - 1 + 26 * (word_letter(word, 1) - 1)] = true;
    }
    mha_rng rng = batch_stream(0, 1);
    task_letters.fill(&batch, DRAWS, &rng, data);
    static const char *const first[] = {"ihb", "rad", "cdd", "nag"}; /* NumPy 1.24.2 */
    for (size_t b = 0; b < 4; b++) {
        ck_assert_uint_eq(spelled(&batch, b), packed(first[b]));
    }
    for (size_t b = 0; b < DRAWS; b++) {
        packed_word word = spelled(&batch, b);
        seen[word_letter(word, 0) - 1 + 26 * (word_letter(word, 1) - 1)] = true;
    }
    for (size_t i = 0; i < WORDS; i++) {
        ck_assert_int_ne(seen[i], held[i]);
    }
    batch_free(&batch);
    task_closed(&task_letters, data);
}
END_TEST

START_TEST(labels_are_letters) {
    struct settings settings = settings_for(write_list(WORDS, ""));
    struct task_data *data = task_opened(&task_letters, &settings);
    struct task_batch batch = letters_batch(1);
    task_letters.fill_held_out(&batch, 0, 1, data);
    static const char *const expected[] = {"^", "n", "h", "g", ""};
    for (size_t t = 0; t < 5; t++) {
        char text[8] = "other";
        task_letters.label(text, sizeof text, &batch, 0, t, t % 2 == 0);
        ck_assert_str_eq(text, expected[t]);
    }
    batch_free(&batch);
    task_closed(&task_letters, data);
}
END_TEST

START_TEST(compare_prints_ngrams_beside_the_layer) {
    struct settings settings = settings_for(write_list(WORDS, ""));
    struct task_data *data = task_opened(&task_letters, &settings);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    task_letters.compare(out, 2.0 * log(2.0), data);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "20 held-out words (180 for training)\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n  this layer  2.000\n"));
    double bits = 0.0;
    const char *line = text;
    for (int n = 1; n <= NGRAM_LONGEST; n++) {
        char name[16];
        snprintf(name, sizeof name, "\n  %d-gram ", n);
        line = strstr(line, name);
        ck_assert_ptr_nonnull(line);
        ck_assert_int_eq(sscanf(line, " %*s %lf", &bits), 1);
        ck_assert(isfinite(bits) && bits > 0.0);
    }
    free(text);
    task_closed(&task_letters, data);
}
END_TEST

START_TEST(unusable_settings_are_refused) {
    struct settings settings = settings_for(write_list(WORDS, ""));
    settings.causal = MHA_CAUSAL_OFF;
    assert_refused(&task_letters, &settings, MHA_ERROR_MASK,
        "task letters needs a causal mask: without it each position sees its own answer");
    settings = settings_for(settings.words);
    settings.shape.width = 32;
    assert_refused(&task_letters, &settings, MHA_ERROR_SHAPE,
        "width 32 cannot hold the 40 features of task letters (27 symbols, 12 positions and 1)");
    settings.shape.width = 64;
    settings.shape.target_length = settings.shape.source_length = 11;
    assert_refused(&task_letters, &settings, MHA_ERROR_SHAPE,
        "target length 11 is too short for task letters, which needs at least 12");
}
END_TEST

Suite *letters_suite(void) {
    Suite *suite = suite_create("letters");
    TCase *files = tcase_create("word lists");
    tcase_add_checked_fixture(files, folder_make, folder_remove);
    tcase_add_test(files, unusable_lists_are_refused);
    tcase_add_test(files, a_long_path_leaves_room_for_the_reason);
    suite_add_tcase(suite, files);

    TCase *examples = tcase_create("examples");
    tcase_add_checked_fixture(examples, folder_make, folder_remove);
    tcase_add_test(examples, first_tenth_of_the_permutation_is_held_out);
    tcase_add_test(examples, training_draws_every_other_word);
    tcase_add_test(examples, labels_are_letters);
    tcase_add_test(examples, compare_prints_ngrams_beside_the_layer);
    tcase_add_test(examples, unusable_settings_are_refused);
    suite_add_tcase(suite, examples);
    return suite;
}
