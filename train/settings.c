#include "settings.h"

#include <string.h>

static const char *const schedule_names[] = {
    [SCHEDULE_CONSTANT] = "constant", [SCHEDULE_LINEAR] = "linear", [SCHEDULE_COSINE] = "cosine"};

static const char *const loss_names[] = {
    [TASK_MSE] = "mse", [TASK_CROSS_ENTROPY] = "cross-entropy"};

static const char *const causal_names[] = {[MHA_CAUSAL_OFF] = "off",
    [MHA_CAUSAL_SQUARE] = "square",
    [MHA_CAUSAL_TOP_LEFT] = "top-left",
    [MHA_CAUSAL_BOTTOM_RIGHT] = "bottom-right"};

#define COUNT(names) (sizeof(names) / sizeof *(names))

/* The index of a name, or count. */
static size_t find_name(const char *const *names, size_t count, const char *name) {
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

const char *schedule_name(enum schedule schedule) {
    return schedule_names[schedule];
}

bool schedule_from_name(enum schedule *schedule, const char *name) {
    const size_t found = find_name(schedule_names, COUNT(schedule_names), name);
    *schedule = found < COUNT(schedule_names) ? (enum schedule)found : *schedule;
    return found < COUNT(schedule_names);
}

const char *task_loss_name(enum task_loss loss) {
    return loss_names[loss];
}

bool task_loss_from_name(enum task_loss *loss, const char *name) {
    const size_t found = find_name(loss_names, COUNT(loss_names), name);
    *loss = found < COUNT(loss_names) ? (enum task_loss)found : *loss;
    return found < COUNT(loss_names);
}

const char *causal_name(mha_causal causal) {
    return causal_names[causal];
}

bool causal_from_name(mha_causal *causal, const char *name) {
    const size_t found = find_name(causal_names, COUNT(causal_names), name);
    *causal = found < COUNT(causal_names) ? (mha_causal)found : *causal;
    return found < COUNT(causal_names);
}

mha_layer_options settings_layer_options(const struct settings *settings) {
    return (mha_layer_options){
        .kernel = settings->kernel, .mode = settings->mode, .threads = settings->threads};
}
