/* Letters: predict the next letter of English words. Query 0 holds the start ^ and query t letter
 * t; the answer of query t is letter t+1, or the end after the last letter. Positions behind the
 * end hold zeros and do not count. The words are put in the order of default_rng([0,
 * 5]).permutation(count); the first tenth of them is held out, whatever the seed of the run. */
#include "symbols.h"
#include "ngrams.h"
#include "hash.h"
#include "memory.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WORDS "/usr/share/dict/american-english"

struct task_data {
    packed_word *words; /* (held_out + training), the held-out ones first */
    size_t held_out, training;
    double bits[NGRAM_LONGEST];
};

static struct token_encoding encoding_of(const mha_shape *shape) {
    return (struct token_encoding){LETTER_SYMBOLS, shape->target_length, "positions"};
}

static void close_task(struct task_data *data) {
    if (data != NULL) {
        free(data->words);
        free(data);
    }
}

static mha_status check_settings(const struct settings *settings, mha_error *error) {
    if (settings->causal == MHA_CAUSAL_OFF) {
        return mha_fail(error, MHA_ERROR_MASK,
            "task letters needs a causal mask: without it each position sees its own answer");
    }
    struct token_encoding encoding = encoding_of(&settings->shape);
    mha_status status = check_lengths(&task_letters, &settings->shape, LONGEST_WORD + 1, error);
    return status == MHA_OK ? check_width(&task_letters, &encoding, &settings->shape, error)
                            : status;
}

static mha_status read_list(struct word_list *list, const char *path, mha_error *error) {
    mha_error cause = {MHA_OK, ""};
    mha_status status = word_list_read(list, path != NULL ? path : DEFAULT_WORDS, &cause);
    if (status == MHA_OK) {
        return MHA_OK;
    }
    bool default_missing = path == NULL || strcmp(path, DEFAULT_WORDS) == 0;
    return mha_fail(error, status, "%s%s", cause.text,
        status == MHA_ERROR_FILE && default_missing
            ? " (it comes with the package wamerican; --words FILE names another)"
            : "");
}

/* Words in the order of the fixed permutation. */
static mha_status shuffle_words(
    packed_word **shuffled, const struct word_list *list, mha_error *error) {
    uint32_t *order = malloc(list->count * sizeof *order);
    *shuffled = malloc(list->count * sizeof **shuffled);
    if (order == NULL || *shuffled == NULL) {
        free(order);
        free(*shuffled);
        *shuffled = NULL;
        return no_memory(error);
    }
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){0, 5}, 2);
    mha_rng_permutation(order, &rng, (uint32_t)list->count);
    for (size_t i = 0; i < list->count; i++) {
        (*shuffled)[i] = list->words[order[i]];
    }
    free(order);
    return MHA_OK;
}

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    mha_status status = check_settings(settings, error);
    struct word_list list;
    if (status == MHA_OK) {
        status = read_list(&list, settings->words, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    struct task_data *made = allocate_zeroed(1, sizeof *made);
    if (made == NULL) {
        word_list_free(&list);
        return no_memory(error);
    }
    made->held_out = list.count / 10;
    made->training = list.count - made->held_out;
    status = shuffle_words(&made->words, &list, error);
    word_list_free(&list);
    if (status == MHA_OK) {
        status = ngram_bits(made->bits, made->words, made->held_out, made->words + made->held_out,
            made->training, error);
    }
    if (status != MHA_OK) {
        close_task(made);
        return status;
    }
    *data = made;
    return MHA_OK;
}

static void encode_word(struct task_batch *batch, size_t b, packed_word word) {
    const mha_shape *shape = &batch->shape;
    struct token_encoding encoding = encoding_of(shape);
    bool ended = false;
    int32_t symbol = 0;
    for (size_t t = 0; t < shape->target_length; t++) {
        mha_real *row = batch->query + (b * shape->target_length + t) * shape->width;
        int32_t *answer = &batch->labels[b * shape->target_length + t];
        if (ended) {
            for (size_t i = 0; i < shape->width; i++) {
                row[i] = 0.0f;
            }
            *answer = -1;
            continue;
        }
        encode_token(row, shape->width, &encoding, symbol, (int32_t)t);
        symbol = word_letter(word, t);
        *answer = symbol;
        ended = symbol == 0;
    }
}

static void fill(
    struct task_batch *batch, size_t count, mha_rng *rng, const struct task_data *data) {
    for (size_t b = 0; b < count; b++) {
        uint32_t drawn = mha_rng_integers(rng, (uint32_t)data->training);
        encode_word(batch, b, data->words[data->held_out + drawn]);
    }
}

/* Of the words in their shuffled order. */
static uint64_t fingerprint(const struct task_data *data) {
    const size_t count = data->held_out + data->training;
    const uint64_t hash = hash_bytes(HASH_START, data->words, count * sizeof *data->words);
    return hash == 0 ? 1 : hash;
}

static size_t held_out_count(const struct task_data *data) {
    return data->held_out;
}

static void fill_held_out(
    struct task_batch *batch, size_t first, size_t count, struct task_data *data) {
    for (size_t b = 0; b < count; b++) {
        encode_word(batch, b, data->words[first + b]);
    }
}

static void label(
    char *text, size_t size, const struct task_batch *batch, size_t b, size_t t, bool source) {
    struct token_encoding encoding = encoding_of(&batch->shape);
    int32_t symbol = decode_symbol(token_row(batch, b, t, source), &encoding);
    const char name = (char)(symbol == 0 ? '^' : 'a' + symbol - 1);
    snprintf(text, size, "%.*s", symbol == NONE ? 0 : 1, &name);
}

static void compare(FILE *out, double loss, const struct task_data *data) {
    fprintf(out, "bits a letter on %zu held-out words (%zu for training)\n", data->held_out,
        data->training);
    for (int n = 1; n <= NGRAM_LONGEST; n++) {
        fprintf(out, "  %d-gram     %6.3f\n", n, data->bits[n - 1]);
    }
    fprintf(out, "  this layer %6.3f\n", loss / log(2.0));
    fprintf(out, "n-grams are interpolated with Witten-Bell weights\n");
}

const struct task task_letters = {
    .name = "letters",
    .summary = "predict the next letter of English words",
    .form = {.loss = TASK_CROSS_ENTROPY, .answers = 1, .classes = LETTER_SYMBOLS},
    .defaults = {.shape = {64, 12, 12, 64, 8},
        .causal = MHA_CAUSAL_SQUARE,
        .steps = 2000,
        .sgd = {.learning_rate = 1.0, .momentum = 0.9, .clip = 1.0},
        .schedule = SCHEDULE_COSINE,
        .warmup = 100,
        .eval_every = 100,
        .words = DEFAULT_WORDS},
    .goal_text =
        "no known floor; the defaults reach 3.03, a 3-gram 3.12, a 4-gram 2.77 (bits a letter)",
    .goal = 3.10,
    .open = open_task,
    .close = close_task,
    .fingerprint = fingerprint,
    .fill = fill,
    .held_out_count = held_out_count,
    .fill_held_out = fill_held_out,
    .label = label,
    .compare = compare,
};
