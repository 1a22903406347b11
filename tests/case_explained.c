#include "case_explained.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct case_file file, right;

void list_wrong(char *words, size_t size) {
    words[0] = '\0';
    for (int value = 0; value < MHA_VALUE_COUNT; value++) {
        double largest = 0.0, apart = 0.0;
        for (size_t i = 0; i < mha_value_count((mha_value)value, &file.shape); i++) {
            const double of = right.gradient[value][i];
            largest = fmax(largest, fabs(of));
            apart = fmax(apart, fabs(file.gradient[value][i] - of));
        }
        if ((file.claimed >> value & 1) != 0 && apart > 1e-4 * largest) {
            const size_t used = strlen(words);
            snprintf(words + used, size - used, "%s%s", used > 0 ? " " : "",
                case_file_name((mha_value)value));
        }
    }
}

void fill_both(const mha_shape *shape, bool self_attention, enum case_mask mask, int in_float) {
    case_file_fill(&right, shape, self_attention, mask, in_float ? MHA_FLOAT32 : MHA_FLOAT64);
    case_file_fill(&file, shape, self_attention, mask, in_float ? MHA_FLOAT32 : MHA_FLOAT64);
}

void assert_explained(const char *mistake, const char *stage) {
    char wrong[256], text[256], line[256];
    list_wrong(wrong, sizeof wrong);
    snprintf(text, sizeof text, "\nfirst wrong stage on the way back: %s\n", stage);
    snprintf(line, sizeof line, "\nall of it comes of one mistake: %s", mistake);
    assert_case_called(&file, mistake, wrong, WORDS(line, text));
}
