/* Word lists for tests. */
#ifndef TESTS_WORD_LISTS_H
#define TESTS_WORD_LISTS_H

#include "tasks/words.h"

enum { LISTED_WORDS = 200 };

packed_word packed(const char *letters);

/* Word i, below LISTED_WORDS, of a list of distinct words of three letters; the first letter counts
 * i % 26 and the second i / 26. */
void name_word(char word[4], size_t i);

/* Writes the first `count` words of that list and then `extra`, at most 256 bytes, into the file
 * "words" of the temporary folder; returns its path. */
const char *write_list(size_t count, const char *extra);

#endif
