#include "run/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "memory.h"

/* Every setting, once: its name in run.json, its kind, where it stands and its bounds. */
enum kind { SIZE, NUMBER, FLAG, SEED, CAUSAL, SCHEDULE, LOSS, KERNEL, MODE, TEXT };

#define MOST_SIZE   9007199254740992.0 /* 2^53 */
#define MOST_NUMBER 1e300

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
    double least, most; /* of SIZE and NUMBER */
    bool is_newer;      /* older runs lack it, and mean what settings_before says */
} fields[] = {
    {"batch", SIZE, offsetof(struct settings, shape.batch), 1, MOST_SIZE, false},
    {"target_length", SIZE, offsetof(struct settings, shape.target_length), 1, MOST_SIZE, false},
    {"source_length", SIZE, offsetof(struct settings, shape.source_length), 1, MOST_SIZE, false},
    {"width", SIZE, offsetof(struct settings, shape.width), 1, MOST_SIZE, false},
    {"heads", SIZE, offsetof(struct settings, shape.heads), 1, MOST_SIZE, false},
    {"causal", CAUSAL, offsetof(struct settings, causal), 0, 0, false},
    {"seed", SEED, offsetof(struct settings, seed), 0, 0, false},
    {"steps", SIZE, offsetof(struct settings, steps), 0, STEPS_MOST, false},
    {"schedule_steps", SIZE, offsetof(struct settings, schedule_steps), 0, STEPS_MOST, true},
    {"lr", NUMBER, offsetof(struct settings, sgd.learning_rate), 1e-300, MOST_NUMBER, false},
    {"momentum", NUMBER, offsetof(struct settings, sgd.momentum), 0, MOMENTUM_MOST, false},
    {"nesterov", FLAG, offsetof(struct settings, sgd.nesterov), 0, 0, false},
    {"weight_decay", NUMBER, offsetof(struct settings, sgd.weight_decay), 0, MOST_NUMBER, false},
    {"clip", NUMBER, offsetof(struct settings, sgd.clip), 0, MOST_NUMBER, false},
    {"schedule", SCHEDULE, offsetof(struct settings, schedule), 0, 0, false},
    {"warmup", SIZE, offsetof(struct settings, warmup), 0, STEPS_MOST, false},
    {"eval_every", SIZE, offsetof(struct settings, eval_every), 1, STEPS_MOST, false},
    {"loss", LOSS, offsetof(struct settings, loss), 0, 0, true},
    {"words", TEXT, offsetof(struct settings, words), 0, 0, false},
    {"data", TEXT, offsetof(struct settings, data), 0, 0, true},
    {"eval_data", TEXT, offsetof(struct settings, eval_data), 0, 0, true},
    {"validation", NUMBER, offsetof(struct settings, validation), 0, VALIDATION_MOST, true},
    {"max_bytes", SIZE, offsetof(struct settings, max_bytes), 0, MOST_SIZE, true},
    {"weights", TEXT, offsetof(struct settings, weights), 0, 0, true},
    {"fingerprint", SEED, offsetof(struct settings, fingerprint), 0, 0, false},
    {"eval_fingerprint", SEED, offsetof(struct settings, eval_fingerprint), 0, 0, true},
    {"kernel", KERNEL, offsetof(struct settings, kernel), 0, 0, true},
    {"mode", MODE, offsetof(struct settings, mode), 0, 0, true},
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
    case LOSS:
        return json_string(task_loss_name(*(const enum task_loss *)at));
    case KERNEL:
        return json_string(kernel_name(*(const mha_kernel *)at));
    case MODE:
        return json_string(mode_name(*(const mha_mode *)at));
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
        return json_is_number(value);
    case FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case SEED:
        return seed_from_json(at, value);
    case CAUSAL:
        return json_is_string(value) && causal_from_name(at, json_string_value(value));
    case SCHEDULE:
        return json_is_string(value) && schedule_from_name(at, json_string_value(value));
    case LOSS:
        return json_is_string(value) && task_loss_from_name(at, json_string_value(value));
    case KERNEL:
        return json_is_string(value) && kernel_from_name(at, json_string_value(value));
    case MODE:
        return json_is_string(value) && mode_from_name(at, json_string_value(value));
    default:
        *(char **)at = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
        return json_is_null(value) || *(char **)at != NULL;
    }
}

/* Whether a number lies in its field's bounds; NaN does not. */
static bool field_in_bounds(const void *at, size_t field) {
    double number = 0.0;
    if (fields[field].kind == SIZE) {
        number = (double)*(const size_t *)at;
    } else if (fields[field].kind == NUMBER) {
        number = *(const double *)at;
    } else {
        return true;
    }
    return number >= fields[field].least && number <= fields[field].most;
}

void settings_free(struct settings *settings) {
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].kind == TEXT) {
            char **at = (char **)((char *)settings + fields[i].offset);
            free(*at);
            *at = NULL;
        }
    }
}

/* What settings are where a run does not name them. */
static struct settings settings_before(const struct task *task) {
    return (struct settings){.loss = task->form.loss, .kernel = MHA_KERNEL_REFERENCE};
}

static bool settings_from_json(
    struct settings *settings, const struct task *task, const json_t *object, const char **wrong) {
    *settings = settings_before(task);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        void *at = (char *)settings + fields[i].offset;
        const json_t *value = json_object_get(object, fields[i].name);
        if (value == NULL && fields[i].is_newer) {
            continue;
        }
        if (!field_from_json(at, fields[i].kind, value) || !field_in_bounds(at, i)) {
            *wrong = fields[i].name;
            settings_free(settings);
            return false;
        }
    }
    return true;
}

mha_status run_from_json(const struct task **task, struct settings *settings, const json_t *root,
    const char *path, mha_error *error) {
    const char *name = json_string_value(json_object_get(root, "task"));
    const char *wrong = NULL;
    if (name == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s names no task", path);
    }
    *task = task_find(name);
    if (*task == NULL) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s: unknown task '%s'", path, name);
    }
    if (!settings_from_json(settings, *task, json_object_get(root, "settings"), &wrong)) {
        return mha_fail(
            error, MHA_ERROR_FORMAT, "%s: setting '%s' is missing or unusable", path, wrong);
    }
    mha_error reason;
    const mha_status status = mha_shape_check(&settings->shape, &reason);
    if (status != MHA_OK) {
        settings_free(settings);
        return mha_fail(error, status, "%s: %s", path, reason.text);
    }
    return MHA_OK;
}

/* A value as its option takes it, in memory of the caller's; NULL when there is none left. */
static char *value_text(const json_t *value, size_t digits) {
    if (json_is_string(value)) {
        return strdup(json_string_value(value));
    }
    return json_is_null(value) ? strdup("none")
                               : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
}

static mha_status refuse_difference(
    size_t field, const json_t *kept, const json_t *asked, mha_error *error) {
    char option[64];
    snprintf(option, sizeof option, "%s", fields[field].name);
    for (char *at = option; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    char *texts[2] = {value_text(kept, 15), value_text(asked, 15)};
    if (texts[0] != NULL && texts[1] != NULL && strcmp(texts[0], texts[1]) == 0) {
        free(texts[0]);
        free(texts[1]);
        texts[0] = value_text(kept, 17);
        texts[1] = value_text(asked, 17);
    }
    mha_status status = MHA_ERROR_MEMORY;
    if (texts[0] != NULL && texts[1] != NULL) {
        status = mha_fail(error, MHA_ERROR_ARGUMENT,
            "--%s %s: the run has %s, which --resume keeps", option, texts[1], texts[0]);
    } else {
        no_memory(error);
    }
    free(texts[0]);
    free(texts[1]);
    return status;
}

static bool is_named(const char *name, const char *const *names) {
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

mha_status settings_check_kept(const struct settings *run, const struct settings *asked,
    const char *const *may_differ, mha_error *error) {
    mha_status status = MHA_OK;
    for (size_t i = 0; i < FIELD_COUNT && status == MHA_OK; i++) {
        const size_t offset = fields[i].offset;
        json_t *kept = field_to_json(fields[i].kind, (const char *)run + offset);
        json_t *wanted = field_to_json(fields[i].kind, (const char *)asked + offset);
        if (!is_named(fields[i].name, may_differ) && json_equal(kept, wanted) == 0) {
            status = refuse_difference(i, kept, wanted, error);
        }
        json_decref(kept);
        json_decref(wanted);
    }
    return status;
}
