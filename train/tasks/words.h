/* Word lists: one word a line, of which those of 3 to 11 letters a to z are kept. */
#ifndef TRAIN_TASKS_WORDS_H
#define TRAIN_TASKS_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include <mha/status.h>

enum {
    SHORTEST_WORD = 3,
    LONGEST_WORD = 11,
    FEWEST_WORDS = 100,
    /* A letter is 1 for a to 26 for z; 0 stands for the start and the end of a word. */
    LETTER_SYMBOLS = 27
};

/* The letters of a word, five bits each, the first in the lowest; the bits behind the last are 0. */
typedef uint64_t packed_word;

/* Letter i from 0, or 0 behind the last. i is at most LONGEST_WORD. */
static inline int32_t word_letter(packed_word word, size_t i) {
    return (int32_t)(word >> (5 * i) & 31);
}

struct word_list {
    packed_word *words; /* (count) in the order of the file, each once */
    size_t count;
};

/* Reads the usable words of a regular file; lines end with LF or CRLF, and other lines are passed
 * over. MHA_ERROR_FILE when it cannot be read, MHA_ERROR_FORMAT when it holds a zero byte, too many
 * bytes or fewer than FEWEST_WORDS words, MHA_ERROR_MEMORY. On failure *list is empty. */
mha_status word_list_read(struct word_list *list, const char *path, mha_error *error);
void word_list_free(struct word_list *list);

#endif
