/* Writing run.json and weights.npz. */
#include "run/write.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mha/io.h>

#include "memory.h"
#include "run/matrices.h"
#include "run/json.h"

/* null for NaN and infinity, which JSON has not. */
static json_t *number_or_null(double number) {
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *result_to_json(const struct run_result *result) {
    const struct run_state *state = &result->state;
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "status", result->status,
        "step", (json_int_t)state->step, "weights_step", (json_int_t)result->weights_step,
        "eval_loss", number_or_null(state->score.loss), "eval_accuracy",
        number_or_null(state->score.accuracy), "eval_relative_error",
        number_or_null(state->score.relative_error), "best_loss", number_or_null(state->best_loss),
        "best_step",
        isfinite(state->best_loss) ? json_integer((json_int_t)state->best_step) : json_null(),
        "seconds", number_or_null(state->seconds));
}

static json_t *run_to_json(
    const struct task *task, const struct settings *settings, const struct run_result *result) {
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "program", "mha", "version", mha_version(),
        "task", task->name, "settings", settings_to_json(settings), "result",
        result_to_json(result));
}

mha_status run_write_json(const char *folder, const struct task *task,
    const struct settings *settings, const struct run_result *result, mha_error *error) {
    json_t *root = run_to_json(task, settings, result);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    char *path = run_path(folder, RUN_JSON);
    char *line = NULL;
    size_t length = text == NULL ? 0 : strlen(text);
    if (text != NULL && path != NULL) {
        line = realloc(text, length + 2);
    }
    if (line == NULL) {
        free(text);
        free(path);
        return no_memory(error);
    }
    line[length++] = '\n';
    const mha_status status = mha_file_replace(path, line, length, error);
    free(line);
    free(path);
    return status;
}

mha_status run_write_weights(const char *folder, const struct settings *settings,
    const mha_real *weights, mha_error *error) {
    const int64_t heads = (int64_t)settings->shape.heads;
    mha_array arrays[MHA_WEIGHT_COUNT + 1];
    run_describe_matrices(arrays, run_weight_names, weights, settings->shape.width);
    arrays[MHA_WEIGHT_COUNT] = (mha_array){.name = "heads", .dtype = MHA_INT64, .data = &heads};
    char *path = run_path(folder, RUN_WEIGHTS);
    if (path == NULL) {
        return no_memory(error);
    }
    const mha_status status = mha_npz_write(path, arrays, MHA_WEIGHT_COUNT + 1, error);
    free(path);
    return status;
}
