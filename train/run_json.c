#include "run_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static const char *const schedule_names[] = {
    [SCHEDULE_CONSTANT] = "constant", [SCHEDULE_LINEAR] = "linear", [SCHEDULE_COSINE] = "cosine"};

const char *schedule_name(enum schedule schedule) {
    return schedule_names[schedule];
}

bool schedule_from_name(enum schedule *schedule, const char *name) {
    for (size_t i = 0; i < sizeof schedule_names / sizeof *schedule_names; i++) {
        if (strcmp(schedule_names[i], name) == 0) {
            *schedule = (enum schedule)i;
            return true;
        }
    }
    return false;
}

/* Every setting, once: its name in run.json, its kind and where it stands. */
enum kind { SIZE, NUMBER, FLAG, SEED, CAUSAL, SCHEDULE, TEXT };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} fields[] = {
    {"batch", SIZE, offsetof(struct settings, shape.batch)},
    {"target_length", SIZE, offsetof(struct settings, shape.target_length)},
    {"source_length", SIZE, offsetof(struct settings, shape.source_length)},
    {"width", SIZE, offsetof(struct settings, shape.width)},
    {"heads", SIZE, offsetof(struct settings, shape.heads)},
    {"causal", CAUSAL, offsetof(struct settings, causal)},
    {"seed", SEED, offsetof(struct settings, seed)},
    {"steps", SIZE, offsetof(struct settings, steps)},
    {"lr", NUMBER, offsetof(struct settings, sgd.learning_rate)},
    {"momentum", NUMBER, offsetof(struct settings, sgd.momentum)},
    {"nesterov", FLAG, offsetof(struct settings, sgd.nesterov)},
    {"weight_decay", NUMBER, offsetof(struct settings, sgd.weight_decay)},
    {"clip", NUMBER, offsetof(struct settings, sgd.clip)},
    {"schedule", SCHEDULE, offsetof(struct settings, schedule)},
    {"warmup", SIZE, offsetof(struct settings, warmup)},
    {"eval_every", SIZE, offsetof(struct settings, eval_every)},
    {"words", TEXT, offsetof(struct settings, words)},
    {"fingerprint", SEED, offsetof(struct settings, fingerprint)},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* A seed may be as large as 2^64 - 1, which JSON integers here are not: it is written as text. */
static json_t *seed_to_json(uint64_t seed) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    return json_string(text);
}

static json_t *field_to_json(enum kind kind, const void *at) {
    switch (kind) {
    case SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case NUMBER:
        return json_real(*(const double *)at);
    case FLAG:
        return json_boolean(*(const bool *)at);
    case SEED:
        return seed_to_json(*(const uint64_t *)at);
    case CAUSAL:
        return json_string(causal_name(*(const mha_causal *)at));
    case SCHEDULE:
        return json_string(schedule_name(*(const enum schedule *)at));
    default: {
        const char *text = *(const char *const *)at;
        return text == NULL ? json_null() : json_string(text);
    }
    }
}

json_t *settings_to_json(const struct settings *settings) {
    json_t *object = json_object();
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *at = (const char *)settings + fields[i].offset;
        if (json_object_set_new(object, fields[i].name, field_to_json(fields[i].kind, at)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

bool text_is_storable(const char *text) {
    json_t *value = json_string(text);
    json_decref(value);
    return value != NULL;
}

static bool seed_from_json(uint64_t *seed, const json_t *value) {
    const char *text = json_string_value(value);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool field_from_json(void *at, enum kind kind, const json_t *value) {
    switch (kind) {
    case SIZE:
        *(size_t *)at = (size_t)json_integer_value(value);
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case NUMBER:
        *(double *)at = json_number_value(value);
        return json_is_number(value) && isfinite(json_number_value(value));
    case FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case SEED:
        return seed_from_json(at, value);
    case CAUSAL:
        return json_is_string(value) && causal_from_name(at, json_string_value(value));
    case SCHEDULE:
        return json_is_string(value) && schedule_from_name(at, json_string_value(value));
    default:
        *(char **)at = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
        return json_is_null(value) || *(char **)at != NULL;
    }
}

bool settings_from_json(struct settings *settings, const json_t *object, const char **wrong) {
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        void *at = (char *)settings + fields[i].offset;
        if (!field_from_json(at, fields[i].kind, json_object_get(object, fields[i].name))) {
            *wrong = fields[i].name;
            return false;
        }
    }
    return true;
}
