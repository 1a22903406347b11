#include "word_lists.h"

#include <string.h>

#include "folder.h"

packed_word packed(const char *letters) {
    packed_word word = 0;
    for (size_t i = 0; letters[i] != '\0'; i++) {
        word |= (packed_word)(letters[i] - 'a' + 1) << (5 * i);
    }
    return word;
}

void name_word(char word[4], size_t i) {
    word[0] = (char)('a' + i % 26);
    word[1] = (char)('a' + i / 26);
    word[2] = (char)('a' + i % 7);
    word[3] = '\0';
}

const char *write_list(size_t count, const char *extra) {
    char text[8 * LISTED_WORDS + 256];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        name_word(text + length, i);
        length += 3;
        text[length++] = '\n';
    }
    size_t more = strlen(extra);
    memcpy(text + length, extra, more);
    folder_write("words", text, length + more);
    return folder_path("words");
}
