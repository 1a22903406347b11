#include "bench_shape.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mask.h>

enum { LARGEST_SIZE = 1 << 30, SIZES = 5 };

static const char *const what_names[BENCH_WHATS] = {
    "forward", "step", "core-forward", "core-backward"};

const char *bench_what_name(enum bench_what what) {
    return what_names[what];
}

bool bench_what_from_name(enum bench_what *what, const char *name) {
    for (int i = 0; i < BENCH_WHATS; i++) {
        if (strcmp(name, what_names[i]) == 0) {
            *what = (enum bench_what)i;
            return true;
        }
    }
    return false;
}

/* Digits up to a comma or the end, a number from 1 to LARGEST_SIZE. */
static bool read_size(size_t *size, const char *text) {
    size_t value = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at) && value <= LARGEST_SIZE; at++) {
        value = 10 * value + (size_t)(*at - '0');
    }
    *size = value;
    return at != text && (*at == ',' || *at == '\0') && value >= 1 && value <= LARGEST_SIZE;
}

static mha_status read_sizes(struct bench_shape *shape, const char *text, mha_error *error) {
    static const char letters[SIZES] = {'B', 'T', 'S', 'D', 'h'};
    size_t *const sizes[SIZES] = {&shape->sizes.batch, &shape->sizes.target_length,
        &shape->sizes.source_length, &shape->sizes.width, &shape->sizes.heads};
    const char *at = text;
    for (int i = 0; i < SIZES; i++) {
        if (!read_size(sizes[i], at)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "shape '%.200s': %c '%.*s' is not a whole number from 1 to %d", text, letters[i],
                (int)strcspn(at, ","), at, (int)LARGEST_SIZE);
        }
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return MHA_OK;
}

mha_status bench_shape_parse(struct bench_shape *shape, const char *text, mha_error *error) {
    size_t parts = 1;
    const char *last = text;
    for (const char *at = text; (at = strchr(at, ',')) != NULL; parts++) {
        last = ++at;
    }
    *shape = (struct bench_shape){.causal = parts == SIZES + 1 && strcmp(last, "causal") == 0};
    if (parts != SIZES + (shape->causal ? 1 : 0)) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "shape '%.200s' is neither B,T,S,D,h, five numbers, nor B,T,S,D,h,causal", text);
    }
    mha_error reason;
    mha_status status = read_sizes(shape, text, error);
    if (status != MHA_OK) {
        return status;
    }
    status = mha_shape_check(&shape->sizes, &reason);
    if (status == MHA_OK && shape->causal &&
        shape->sizes.target_length != shape->sizes.source_length) {
        status =
            mha_fail(&reason, MHA_ERROR_MASK, "causal needs equal lengths, and T is %zu, S is %zu",
                shape->sizes.target_length, shape->sizes.source_length);
    }
    return status == MHA_OK ? MHA_OK
                            : mha_fail(error, status, "shape '%.200s': %.4000s", text, reason.text);
}

void bench_shape_format(char text[BENCH_SHAPE_SIZE], const struct bench_shape *shape) {
    const mha_shape *sizes = &shape->sizes;
    snprintf(text, BENCH_SHAPE_SIZE, "%zu,%zu,%zu,%zu,%zu%s", sizes->batch, sizes->target_length,
        sizes->source_length, sizes->width, sizes->heads, shape->causal ? ",causal" : "");
}

double bench_operations(const struct bench_shape *shape, enum bench_what what, mha_mode mode) {
    const double B = (double)shape->sizes.batch, T = (double)shape->sizes.target_length;
    const double S = (double)shape->sizes.source_length, D = (double)shape->sizes.width;
    const double P = shape->causal ? B * T * (T + 1) / 2 : B * T * S;
    switch (what) {
    case BENCH_FORWARD:
        return 4 * B * T * D * D + 4 * B * S * D * D + 4 * P * D;
    case BENCH_STEP:
        return 10 * B * T * D * D + 8 * B * S * D * D + 12 * P * D;
    case BENCH_CORE_FORWARD:
        return 4 * P * D;
    default:
        return (mode == MHA_MODE_STORED ? 8 : 10) * P * D;
    }
}
