/* Letter n-grams, the yardstick beside `letters`: how well counts of the last n letters predict.
 *
 * Interpolated with Witten-Bell weights (Witten and Bell, "The zero-frequency problem", IEEE
 * Transactions on Information Theory 37, 1991, method C). With c(h) the times that history h was
 * seen in training and t(h) the number of different symbols seen after it,
 *   p(x | h) = (c(hx) + t(h) p(x | h without its first symbol)) / (c(h) + t(h)),
 * the shorter estimate alone after a history never seen, and 1/27 below the 1-gram. */
#ifndef TRAIN_TASKS_NGRAMS_H
#define TRAIN_TASKS_NGRAMS_H

#include "words.h"

enum { NGRAM_LONGEST = 4 };

/* bits[n-1] = mean of -log2 p over all letters and ends of the held-out words, for 1- to 4-grams
 * counted in the training words; starts are history only. MHA_ERROR_MEMORY. */
mha_status ngram_bits(double bits[NGRAM_LONGEST], const packed_word *held_out,
    size_t held_out_count, const packed_word *training, size_t training_count, mha_error *error);

#endif
