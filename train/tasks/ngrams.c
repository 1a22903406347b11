#include "ngrams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

enum {
    S = LETTER_SYMBOLS,
    HISTORIES = S * S * S /* of NGRAM_LONGEST - 1 symbols */
};

/* How often a symbol followed a history, for each n: row r of counts[n-1] belongs to the history
 * whose n-1 symbols are the digits of r in base 27, the latest lowest. */
struct ngrams {
    uint32_t *counts[NGRAM_LONGEST];
    size_t histories[NGRAM_LONGEST]; /* rows: 1, 27, 729, 19683 */
};

static bool make(struct ngrams *grams) {
    bool made = true;
    size_t histories = 1;
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        grams->histories[n] = histories;
        grams->counts[n] = allocate_zeroed(histories * S, sizeof *grams->counts[n]);
        made = made && grams->counts[n] != NULL;
        histories *= S;
    }
    return made;
}

static void destroy(struct ngrams *grams) {
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        free(grams->counts[n]);
    }
}

static uint32_t *row_of(const struct ngrams *grams, size_t n, size_t history) {
    return grams->counts[n] + history % grams->histories[n] * S;
}

static size_t next_history(size_t history, size_t symbol) {
    return (history * S + symbol) % HISTORIES;
}

static void count_word(struct ngrams *grams, packed_word word) {
    size_t history = 0, symbol, i = 0;
    do {
        symbol = (size_t)word_letter(word, i++);
        for (size_t n = 0; n < NGRAM_LONGEST; n++) {
            row_of(grams, n, history)[symbol]++;
        }
        history = next_history(history, symbol);
    } while (symbol != 0);
}

/* p[n] = probability of symbol after history for the (n+1)-gram. */
static void probabilities(
    double p[NGRAM_LONGEST], const struct ngrams *grams, size_t history, size_t symbol) {
    double shorter = 1.0 / S;
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        const uint32_t *row = row_of(grams, n, history);
        double total = 0.0, kinds = 0.0;
        for (size_t x = 0; x < S; x++) {
            total += row[x];
            kinds += row[x] != 0;
        }
        if (total > 0.0) {
            shorter = (row[symbol] + kinds * shorter) / (total + kinds);
        }
        p[n] = shorter;
    }
}

/* Adds -log2 p of every symbol of the word; returns how many there are. */
static size_t score_word(double bits[NGRAM_LONGEST], const struct ngrams *grams, packed_word word) {
    size_t history = 0, symbol, i = 0;
    do {
        symbol = (size_t)word_letter(word, i++);
        double p[NGRAM_LONGEST];
        probabilities(p, grams, history, symbol);
        for (size_t n = 0; n < NGRAM_LONGEST; n++) {
            bits[n] -= log2(p[n]);
        }
        history = next_history(history, symbol);
    } while (symbol != 0);
    return i;
}

mha_status ngram_bits(double bits[NGRAM_LONGEST], const packed_word *held_out,
    size_t held_out_count, const packed_word *training, size_t training_count, mha_error *error) {
    struct ngrams grams;
    if (!make(&grams)) {
        destroy(&grams);
        return no_memory(error);
    }
    for (size_t i = 0; i < training_count; i++) {
        count_word(&grams, training[i]);
    }
    size_t symbols = 0;
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        bits[n] = 0.0;
    }
    for (size_t i = 0; i < held_out_count; i++) {
        symbols += score_word(bits, &grams, held_out[i]);
    }
    for (size_t n = 0; n < NGRAM_LONGEST; n++) {
        bits[n] /= (double)symbols;
    }
    destroy(&grams);
    return MHA_OK;
}
