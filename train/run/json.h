/* settings as the JSON object of run.json. */
#ifndef TRAIN_RUN_JSON_H
#define TRAIN_RUN_JSON_H

#include <jansson.h>

#include "settings.h"
#include "tasks/task.h"

/* NULL when there is no memory. */
json_t *settings_to_json(const struct settings *settings);

/* Releases the texts of settings that were read. */
void settings_free(struct settings *settings);

/* Reads "task" and "settings" of root, as run.json and checkpoints have them, and checks the sizes.
 * MHA_ERROR_FORMAT, _SHAPE or _SIZE with a text that names the file at path; nothing to release then. */
mha_status run_from_json(const struct task **task, struct settings *settings, const json_t *root,
    const char *path, mha_error *error);

/* Whether all settings of the run are kept in those asked for, but for those named in may_differ, which
 * ends with NULL. Else MHA_ERROR_ARGUMENT with a text that names the option and both values. */
mha_status settings_check_kept(const struct settings *run, const struct settings *asked,
    const char *const *may_differ, mha_error *error);

/* Whether JSON can hold the text: it must be UTF-8. */
bool text_is_storable(const char *text);

#endif
