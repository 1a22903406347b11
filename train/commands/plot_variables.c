#include "plot_variables.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

mha_status script_open(struct script *made, mha_error *error) {
    made->text = NULL;
    made->size = 0;
    made->stream = open_memstream(&made->text, &made->size);
    if (made->stream == NULL) {
        return no_memory(error);
    }
    return MHA_OK;
}

mha_status script_close(struct script *made, mha_error *error) {
    int failed = ferror(made->stream);
    failed |= fclose(made->stream);
    made->stream = NULL;
    if (failed != 0) {
        return no_memory(error);
    }
    return MHA_OK;
}

void script_free(struct script *made) {
    if (made->stream != NULL) {
        fclose(made->stream);
    }
    free(made->text);
    *made = (struct script){0};
}

size_t character_size(const char *bytes) {
    const unsigned char *text = (const unsigned char *)bytes;
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {
        {0x80, 0x00, 0x20}, {0xe0, 0xc0, 0xa0}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t extra = 0; extra < sizeof forms / sizeof *forms; extra++) {
        if ((text[0] & forms[extra].mask) != forms[extra].lead) {
            continue;
        }
        uint32_t code = text[0] & (unsigned char)~forms[extra].mask;
        for (size_t i = 1; i <= extra; i++) {
            if ((text[i] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (text[i] & 0x3fU);
        }
        int hidden = code == 0x7f || (code >= 0xd800 && code <= 0xdfff) ||
                     (code & 0xfffeU) == 0xfffe || code > 0x10ffff || code == 0x2028 ||
                     code == 0x2029;
        return code < forms[extra].least || hidden ? 0 : extra + 1;
    }
    return 0;
}

size_t text_length(const char *text) {
    size_t length = 0;
    for (; *text != '\0'; length++) {
        size_t size = character_size(text);
        text += size > 0 ? size : 1;
    }
    return length;
}

/* In single quotes gnuplot expands nothing. A quote itself stands apart, since gnuplot 5.4 misreads
 * doubled quotes at the beginning of a string and next to each other. */
static void write_quoted(FILE *stream, const char *text) {
    fputc('\'', stream);
    while (*text != '\0') {
        size_t size = character_size(text);
        if (*text == '\'') {
            fputs("' . \"'\" . '", stream);
        } else if (size == 0) {
            fputc('?', stream);
        } else {
            fwrite(text, 1, size, stream);
        }
        text += size > 0 ? size : 1;
    }
    fputs("'\n", stream);
}

void script_text(FILE *stream, const char *name, const char *text) {
    fprintf(stream, "%s = ", name);
    write_quoted(stream, text);
}

void script_array(FILE *stream, const char *name, size_t count) {
    fprintf(stream, "array %s[%zu]\n", name, count);
}

void script_element(FILE *stream, const char *name, size_t index, const char *text) {
    fprintf(stream, "%s[%zu] = ", name, index);
    write_quoted(stream, text);
}

static void write_number(FILE *stream, double value, int digits) {
    if (!isfinite(value)) {
        fputs("NaN", stream);
        return;
    }
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, value);
    const char *sign = localeconv()->decimal_point;
    char *found = *sign == '\0' ? NULL : strstr(text, sign);
    if (found == NULL) {
        fputs(text, stream);
    } else {
        fprintf(stream, "%.*s.%s", (int)(found - text), text, found + strlen(sign));
    }
}

void script_value(FILE *stream, double value) {
    write_number(stream, value, 9);
}

void script_number(FILE *stream, const char *name, double value) {
    fprintf(stream, "%s = ", name);
    write_number(stream, value, 15);
    fputc('\n', stream);
}

void script_data_begin(FILE *stream, const char *name, size_t index) {
    fprintf(stream, "$%s%zu << EOD\n", name, index);
}

void script_data_end(FILE *stream) {
    fputs("EOD\n", stream);
}
