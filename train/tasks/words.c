#include "words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"

enum { MOST_BYTES = 1 << 26, CHUNK_BYTES = 1 << 16 };

#define PATH_FORMAT "word list %s"

/* What has been read so far. */
struct reader {
    struct word_list found;
    size_t capacity;
    size_t bytes;
    packed_word line; /* the letters of the unfinished line */
    size_t length;    /* how many */
    bool unusable;    /* the line holds another character or too many letters */
};

static bool keep(struct reader *reader, packed_word word) {
    if (reader->found.count == reader->capacity) {
        /* At most MOST_BYTES / 4 words fit in a file: no overflow. */
        size_t capacity = reader->capacity == 0 ? 1024 : 2 * reader->capacity;
        void *words = realloc(reader->found.words, capacity * sizeof word);
        if (words == NULL) {
            return false;
        }
        reader->found.words = words;
        reader->capacity = capacity;
    }
    reader->found.words[reader->found.count++] = word;
    return true;
}

static bool end_line(struct reader *reader) {
    bool usable = !reader->unusable && reader->length >= SHORTEST_WORD;
    packed_word line = reader->line;
    reader->line = 0;
    reader->length = 0;
    reader->unusable = false;
    return !usable || keep(reader, line);
}

/* False when there is not enough memory. */
static bool take_byte(struct reader *reader, unsigned char byte) {
    if (byte == '\n' || byte == '\r') {
        return end_line(reader);
    }
    if (byte < 'a' || byte > 'z' || reader->length == LONGEST_WORD) {
        reader->unusable = true;
        return true;
    }
    reader->line |= (packed_word)(byte - 'a' + 1) << (5 * reader->length);
    reader->length++;
    return true;
}

static mha_status take_chunk(struct reader *reader, const unsigned char *chunk, size_t count,
    const char *path, mha_error *error) {
    if (count > MOST_BYTES - reader->bytes) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, PATH_FORMAT " is larger than %d bytes", path, (int)MOST_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        if (chunk[i] == '\0') {
            return mha_fail(error, MHA_ERROR_FORMAT, PATH_FORMAT " is not text: byte %zu is zero",
                path, reader->bytes + i + 1);
        }
        if (!take_byte(reader, chunk[i])) {
            return no_memory(error);
        }
    }
    reader->bytes += count;
    return MHA_OK;
}

static mha_status read_words(struct reader *reader, int fd, const char *path, mha_error *error) {
    unsigned char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t count = read(fd, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return mha_fail(error, MHA_ERROR_FILE, PATH_FORMAT ": %s", path, strerror(errno));
        }
        if (count == 0) {
            return end_line(reader) ? MHA_OK : no_memory(error);
        }
        mha_status status = take_chunk(reader, chunk, (size_t)count, path, error);
        if (status != MHA_OK) {
            return status;
        }
    }
}

struct placed_word {
    packed_word word;
    size_t place;
};

static int by_word_then_place(const void *left, const void *right) {
    const struct placed_word *a = left, *b = right;
    if (a->word != b->word) {
        return a->word < b->word ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

/* Keeps the first of equal words and the order of the others. Sorting, not hashing: its time does
 * not depend on what the file holds. */
static bool remove_duplicates(struct word_list *list) {
    struct placed_word *sorted = malloc((list->count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        sorted[i] = (struct placed_word){list->words[i], i};
    }
    qsort(sorted, list->count, sizeof *sorted, by_word_then_place);
    for (size_t i = 1; i < list->count; i++) {
        if (sorted[i].word == sorted[i - 1].word) {
            list->words[sorted[i].place] = 0;
        }
    }
    free(sorted);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->words[i] != 0) {
            list->words[kept++] = list->words[i];
        }
    }
    list->count = kept;
    return true;
}

mha_status word_list_read(struct word_list *list, const char *path, mha_error *error) {
    *list = (struct word_list){NULL, 0};
    int fd;
    mha_status status = open_regular(&fd, "word list ", path, error);
    if (status != MHA_OK) {
        return status;
    }
    struct reader reader = {.found = {NULL, 0}};
    status = read_words(&reader, fd, path, error);
    close(fd);
    if (status == MHA_OK && !remove_duplicates(&reader.found)) {
        status = no_memory(error);
    }
    if (status == MHA_OK && reader.found.count < FEWEST_WORDS) {
        status = mha_fail(error, MHA_ERROR_FORMAT,
            PATH_FORMAT
            " has %zu usable words (%d to %d letters a to z, one a line), %d are needed",
            path, reader.found.count, SHORTEST_WORD, LONGEST_WORD, FEWEST_WORDS);
    }
    if (status != MHA_OK) {
        word_list_free(&reader.found);
        return status;
    }
    *list = reader.found;
    return MHA_OK;
}

void word_list_free(struct word_list *list) {
    free(list->words);
    *list = (struct word_list){NULL, 0};
}
