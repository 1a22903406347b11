/* settings as the JSON object of run.json. */
#ifndef TRAIN_RUN_JSON_H
#define TRAIN_RUN_JSON_H

#include <jansson.h>

#include "settings.h"

/* NULL when there is no memory. */
json_t *settings_to_json(const struct settings *settings);

/* Reads every setting; *wrong names the first that is missing or has no usable value. words is a
 * copy of the caller's to free. */
bool settings_from_json(struct settings *settings, const json_t *object, const char **wrong);

/* Whether JSON can hold the text: it must be UTF-8. */
bool text_is_storable(const char *text);

const char *schedule_name(enum schedule schedule);
bool schedule_from_name(enum schedule *schedule, const char *name);

#endif
