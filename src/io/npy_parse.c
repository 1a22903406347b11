#include "io/npy.h"

#include <stdint.h>
#include <string.h>

#include "base/size.h"
#include <mha/status.h>

enum { KEY_DESCR, KEY_ORDER, KEY_SHAPE, KEY_COUNT };

static const char *const keys[KEY_COUNT] = {"descr", "fortran_order", "shape"};

enum { DTYPE_QUOTE = 40 }; /* characters of a refused dtype that are shown */

/* The header text, and how far it has been read. */
typedef struct reader {
    const char *text;
    size_t at, length;
    mha_error *error;
} reader;

static mha_status malformed(const reader *r) {
    return mha_fail(r->error, MHA_ERROR_FORMAT,
        "the .npy header is malformed at character %zu of %zu", r->at + 1, r->length);
}

static void skip_spaces(reader *r) {
    while (r->at < r->length && r->text[r->at] == ' ') {
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

/* Control characters and all beyond ASCII are shown as '?'. */
static mha_status refuse_dtype(const char *descr, size_t length, const reader *r) {
    char quote[DTYPE_QUOTE + 1];
    size_t shown = length < DTYPE_QUOTE ? length : DTYPE_QUOTE;
    for (size_t i = 0; i < shown; i++) {
        quote[i] = '?';
        if (descr[i] >= ' ' && descr[i] <= '~') {
            quote[i] = descr[i];
        }
    }
    quote[shown] = '\0';
    return mha_fail(r->error, MHA_ERROR_FORMAT,
        "dtype '%s%s' is not '<f4', '<f8' or '<i8' (little-endian float32, float64, int64)", quote,
        shown < length ? "..." : "");
}

static mha_status parse_dtype(mha_array *array, reader *r) {
    const char *descr = NULL;
    size_t length = 0;
    if (take(r, "[")) { /* a structured dtype */
        return refuse_dtype(r->text + r->at - 1, r->length - r->at + 1, r);
    }
    if (!take_string(&descr, &length, r)) {
        return malformed(r);
    }
    for (mha_dtype dtype = MHA_FLOAT32; dtype <= MHA_INT64; dtype++) {
        if (is(descr, length, npy_descr(dtype))) {
            array->dtype = dtype;
            return MHA_OK;
        }
    }
    return refuse_dtype(descr, length, r);
}

static mha_status parse_order(reader *r) {
    if (take(r, "False")) {
        return MHA_OK;
    }
    if (take(r, "True")) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "the array is in Fortran order; only C order is read (numpy.ascontiguousarray)");
    }
    return malformed(r);
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

/* The index of the key that comes next and its colon; KEY_COUNT when there is none. */
static size_t take_key(reader *r) {
    const char *key = NULL;
    size_t length = 0;
    size_t index = KEY_COUNT;
    if (take_string(&key, &length, r) && take(r, ":")) {
        for (index = 0; index < KEY_COUNT && !is(key, length, keys[index]); index++) {
        }
    }
    return index;
}

static mha_status parse_value(mha_array *array, size_t key, reader *r) {
    switch (key) {
    case KEY_DESCR:
        return parse_dtype(array, r);
    case KEY_ORDER:
        return parse_order(r);
    case KEY_SHAPE:
        return parse_shape(array, r);
    default:
        return malformed(r);
    }
}

/* {KEY: VALUE, ...} with each of the three keys once, in any order. */
static mha_status parse_dictionary(mha_array *array, reader *r) {
    bool found[KEY_COUNT] = {false};
    bool comma = true;
    if (!take(r, "{")) {
        return malformed(r);
    }
    while (!take(r, "}")) {
        size_t key = comma ? take_key(r) : KEY_COUNT;
        if (key == KEY_COUNT || found[key]) {
            return malformed(r);
        }
        found[key] = true;
        mha_status status = parse_value(array, key, r);
        if (status != MHA_OK) {
            return status;
        }
        comma = take(r, ",");
    }
    for (size_t key = 0; key < KEY_COUNT; key++) {
        if (!found[key]) {
            return mha_fail(r->error, MHA_ERROR_FORMAT, "the .npy header has no '%s'", keys[key]);
        }
    }
    return take(r, "\n") && r->at == r->length ? MHA_OK : malformed(r);
}

static mha_status too_few(const reader *r, size_t size, size_t needed) {
    return mha_fail(r->error, MHA_ERROR_FORMAT,
        "%zu bytes are too few for a .npy header of at least %zu", size, needed);
}

/* Finds the header text behind magic, version and length. */
static mha_status find_text(reader *r, size_t *offset, const unsigned char *bytes, size_t size) {
    if (size < NPY_MAGIC_SIZE + 2) {
        return too_few(r, size, NPY_MAGIC_SIZE + 2);
    }
    if (memcmp(bytes, npy_magic, NPY_MAGIC_SIZE) != 0) {
        return mha_fail(r->error, MHA_ERROR_FORMAT, "this is not a .npy file");
    }
    unsigned major = bytes[NPY_MAGIC_SIZE];
    unsigned minor = bytes[NPY_MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            ".npy format version %u.%u is not 1.0, 2.0 or 3.0", major, minor);
    }
    const size_t digits = major == 1 ? 2 : 4;
    const size_t prefix = NPY_MAGIC_SIZE + 2 + digits;
    if (size < prefix) {
        return too_few(r, size, prefix);
    }
    uint32_t length = 0;
    for (size_t i = 0; i < digits; i++) {
        length |= (uint32_t)bytes[NPY_MAGIC_SIZE + 2 + i] << 8 * i;
    }
    if (length > NPY_TEXT_MOST) {
        return mha_fail(r->error, MHA_ERROR_FORMAT,
            "a .npy header of %lu characters is longer than %d", (unsigned long)length,
            (int)NPY_TEXT_MOST);
    }
    if (size - prefix < length) {
        return too_few(r, size, prefix + length);
    }
    r->text = (const char *)bytes + prefix;
    r->length = length;
    *offset = prefix + length;
    return MHA_OK;
}

mha_status npy_parse(
    mha_array *array, size_t *offset, const unsigned char *bytes, size_t size, mha_error *error) {
    reader r = {.error = error};
    mha_status status = find_text(&r, offset, bytes, size);
    if (status == MHA_OK) {
        status = parse_dictionary(array, &r);
    }
    if (status != MHA_OK) {
        return status;
    }
    char shape[NPY_SHAPE_MOST];
    npy_print_shape(shape, array);
    size_t needed = 0;
    if (!npy_data_bytes(&needed, array)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "shape %s of %s needs more bytes than the %zu that are there", shape,
            npy_descr(array->dtype), size - *offset);
    }
    if (needed != size - *offset) {
        return mha_fail(error, MHA_ERROR_FORMAT, "shape %s of %s needs %zu bytes of data, not %zu",
            shape, npy_descr(array->dtype), needed, size - *offset);
    }
    return MHA_OK;
}
