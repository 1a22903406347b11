#include "io/npy.h"

#include <stdint.h>
#include <string.h>

#include "base/size.h"

enum { KEY_DESCR, KEY_ORDER, KEY_SHAPE, KEY_COUNT };

static const char *const keys[KEY_COUNT] = {"descr", "fortran_order", "shape"};

enum { QUOTE_MOST = 40 }; /* characters of a refused word that are shown */

/* The header text, and how far it has been read. */
typedef struct reader {
    const char *text;
    size_t at, length;
    mha_error *error;
} reader;

static mha_status malformed(const reader *r) {
    if (r->at == r->length) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "the .npy header is malformed: it ends too early, after %zu characters", r->length);
    }
    return mha_fail(r->error, MHA_ERROR_FORMAT,
        "the .npy header is malformed at character %zu of %zu", r->at + 1, r->length);
}

static bool is_space(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r' && character != '\v');
}

static void skip_spaces(reader *r) {
    while (r->at < r->length && is_space(r->text[r->at])) {
        ++r->at;
    }
}

/* Whether word comes next, which is then stepped over. */
static bool take(reader *r, const char *word) {
    skip_spaces(r);
    size_t length = strlen(word);
    if (r->length - r->at < length || memcmp(r->text + r->at, word, length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

/* A string in single or double quotes, without escapes. */
static bool take_string(const char **string, size_t *length, reader *r) {
    bool single = take(r, "'");
    if (!single && !take(r, "\"")) {
        return false;
    }
    const char *start = r->text + r->at;
    const char *end = memchr(start, single ? '\'' : '"', r->length - r->at);
    if (end == NULL) {
        return false;
    }
    *string = start;
    *length = (size_t)(end - start);
    r->at += *length + 1;
    return true;
}

static bool is(const char *string, size_t length, const char *word) {
    return length == strlen(word) && memcmp(string, word, length) == 0;
}

/* A word of the header for a message: cut, and characters beyond printable ASCII shown as '?'. */
typedef struct quotation {
    char text[QUOTE_MOST + 4];
} quotation;

static quotation quote(const char *word, size_t length) {
    quotation result;
    const size_t shown = length < QUOTE_MOST ? length : QUOTE_MOST;
    for (size_t i = 0; i < shown; i++) {
        result.text[i] = '?';
        if (word[i] >= ' ' && word[i] <= '~') {
            result.text[i] = word[i];
        }
    }
    memcpy(result.text + shown, shown < length ? "..." : "\0\0\0", 4);
    return result;
}

static mha_status refuse_dtype(const char *descr, size_t length, const reader *r) {
    return mha_fail(r->error, MHA_ERROR_FORMAT,
        "dtype '%s' is not a bool, an integer or a float of at most 64 bits",
        quote(descr, length).text);
}

static bool is_order(char mark) {
    return mark == '<' || mark == '>' || mark == '=' || mark == '|';
}

/* '=', '|' or no mark is the order of the machine that reads, as numpy.load takes it; this one is
 * little-endian. '?' is another name of b1. */
static mha_status parse_descr(
    stored_layout *layout, const char *descr, size_t length, const reader *r) {
    const bool marked = length > 0 && is_order(descr[0]);
    const char *kind = descr + (marked ? 1 : 0);
    size_t kind_length = length - (marked ? 1 : 0);
    if (is(kind, kind_length, "?")) {
        kind = "b1";
        kind_length = 2;
    }
    layout->type = NULL;
    for (size_t i = 0; i < STORED_COUNT; i++) {
        const char *npy = stored_dtypes[i].npy;
        if (npy != NULL && is(kind, kind_length, npy)) {
            layout->type = &stored_dtypes[i];
        }
    }
    if (layout->type == NULL) {
        return refuse_dtype(descr, length, r);
    }
    layout->big_endian = descr[0] == '>';
    return MHA_OK;
}

static mha_status parse_dtype(stored_layout *layout, reader *r) {
    const char *descr = NULL;
    size_t length = 0;
    if (take(r, "[")) { /* a record */
        return refuse_dtype(r->text + r->at - 1, r->length - r->at + 1, r);
    }
    return take_string(&descr, &length, r) ? parse_descr(layout, descr, length, r) : malformed(r);
}

static mha_status parse_order(stored_layout *layout, reader *r) {
    layout->fortran_order = take(r, "True");
    return layout->fortran_order || take(r, "False") ? MHA_OK : malformed(r);
}

static mha_status parse_axis(size_t *axis, reader *r) {
    if (take(r, "-")) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "the shape has a negative axis");
    }
    skip_spaces(r);
    size_t first = r->at;
    size_t value = 0;
    for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; ++r->at) {
        size_t digit = (size_t)(r->text[r->at] - '0');
        if (!size_multiply(&value, value, 10) || !size_add(&value, value, digit)) {
            return mha_fail(r->error, MHA_ERROR_FORMAT, "the shape has an axis longer than %zu",
                (size_t)SIZE_MAX);
        }
    }
    if (r->at == first) {
        return malformed(r);
    }
    if (r->at < r->length && r->text[r->at] == 'L') { /* a long of Python 2 */
        ++r->at;
    }
    *axis = value;
    return MHA_OK;
}

static mha_status parse_shape(mha_array *array, reader *r) {
    if (!take(r, "(")) {
        return malformed(r);
    }
    bool comma = true;
    array->rank = 0;
    while (!take(r, ")")) {
        if (!comma) {
            return malformed(r);
        }
        if (array->rank == MHA_ARRAY_RANK) {
            return mha_fail(
                r->error, MHA_ERROR_FORMAT, "the shape has more than %d axes", (int)MHA_ARRAY_RANK);
        }
        mha_status status = parse_axis(&array->dims[array->rank], r);
        if (status != MHA_OK) {
            return status;
        }
        ++array->rank;
        comma = take(r, ",");
    }
    return array->rank == 1 && !comma ? malformed(r) : MHA_OK;
}

/* Sets *key to the index of the key that comes next, and steps over its colon. */
static mha_status parse_key(size_t *key, reader *r) {
    const char *word = NULL;
    size_t length = 0;
    if (!take_string(&word, &length, r) || !take(r, ":")) {
        return malformed(r);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (is(word, length, keys[i])) {
            *key = i;
            return MHA_OK;
        }
    }
    return mha_fail(r->error, MHA_ERROR_FORMAT, "the .npy header has the unknown key '%s'",
        quote(word, length).text);
}

static mha_status parse_value(mha_array *array, stored_layout *layout, size_t key, reader *r) {
    switch (key) {
    case KEY_DESCR:
        return parse_dtype(layout, r);
    case KEY_ORDER:
        return parse_order(layout, r);
    default:
        return parse_shape(array, r);
    }
}

/* {KEY: VALUE, ...} with each of the three keys once, in any order. */
static mha_status parse_dictionary(mha_array *array, stored_layout *layout, reader *r) {
    bool found[KEY_COUNT] = {false};
    bool comma = true;
    if (!take(r, "{")) {
        return malformed(r);
    }
    while (!take(r, "}")) {
        size_t key = 0;
        mha_status status = comma ? parse_key(&key, r) : malformed(r);
        if (status == MHA_OK && found[key]) {
            status =
                mha_fail(r->error, MHA_ERROR_FORMAT, "the .npy header has '%s' twice", keys[key]);
        }
        if (status == MHA_OK) {
            status = parse_value(array, layout, key, r);
        }
        if (status != MHA_OK) {
            return status;
        }
        found[key] = true;
        comma = take(r, ",");
    }
    for (size_t key = 0; key < KEY_COUNT; key++) {
        if (!found[key]) {
            return mha_fail(r->error, MHA_ERROR_FORMAT, "the .npy header has no '%s'", keys[key]);
        }
    }
    skip_spaces(r);
    return r->at == r->length ? MHA_OK : malformed(r);
}

mha_status npy_parse(
    mha_array *array, stored_layout *layout, const char *text, size_t length, mha_error *error) {
    reader r = {.text = text, .length = length, .error = error};
    return parse_dictionary(array, layout, &r);
}
