#include "train_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "run/json.h"
#include "score.h"

bool resolve_paths(struct resolved_paths *resolved, struct settings *settings, bool must_exist) {
    const struct {
        const char *option;
        const char **path;
    } paths[RESOLVED_PATHS] = {{"words", &settings->words}, {"data", &settings->data},
        {"eval-data", &settings->eval_data}, {"weights", &settings->weights}};
    for (size_t i = 0; i < RESOLVED_PATHS; i++) {
        if (*paths[i].path == NULL) {
            continue;
        }
        if (realpath(*paths[i].path, resolved->text[i]) == NULL) {
            if (must_exist) {
                complain("--%s '%s': %s", paths[i].option, *paths[i].path, strerror(errno));
                return false;
            }
            continue;
        }
        if (!text_is_storable(resolved->text[i])) {
            complain("--%s '%s': run.json cannot hold a path that is not UTF-8", paths[i].option,
                resolved->text[i]);
            return false;
        }
        *paths[i].path = resolved->text[i];
    }
    return true;
}

bool check_files(const struct task *task, const struct settings *settings) {
    const bool reads_data = task->adapt != NULL;
    if (task->defaults.words == NULL && settings->words != NULL) {
        complain("--words '%s': the task %s reads no words", settings->words, task->name);
    } else if (!reads_data && settings->data != NULL) {
        complain("--data '%s': the task %s makes its own examples", settings->data, task->name);
    } else if (!reads_data && settings->eval_data != NULL) {
        complain("--eval-data '%s': the task %s makes its own examples", settings->eval_data,
            task->name);
    } else if (!reads_data && settings->validation > 0.0) {
        complain("--validation %g: the task %s makes its own held-out examples",
            settings->validation, task->name);
    } else if (reads_data && settings->data == NULL) {
        complain("the task %s needs --data FILE", task->name);
    } else {
        return true;
    }
    return false;
}

bool check_schedule(const struct settings *settings) {
    if (settings->sgd.nesterov && !(settings->sgd.momentum > 0.0)) {
        complain("--nesterov needs a momentum above 0, it is %g", settings->sgd.momentum);
    } else if (settings->schedule_steps > 0 && settings->schedule == SCHEDULE_CONSTANT) {
        complain("--schedule-steps %zu: the schedule is constant", settings->schedule_steps);
    } else if (settings->schedule_steps > 0 && settings->steps > settings->schedule_steps) {
        complain("--steps %zu is more than --schedule-steps %zu", settings->steps,
            settings->schedule_steps);
    } else {
        return true;
    }
    return false;
}

int print_result(const struct session_result *result, const struct trainer *trainer,
    const char *folder, const char *why) {
    if (result->diverged) {
        complain("training diverged at step %zu: %s; %s keeps the log and the weights of step %zu",
            result->state.step + 1, why, folder, result->saved_step);
        return STATUS_FAILED;
    }
    printf("%s: %zu steps in %.1f s%s\n", trainer->task->name, result->state.step,
        result->state.seconds, result->stopped_by != 0 ? ", interrupted" : "");
    print_score("held-out", &result->state.score, trainer);
    char shown[SHOWN_SIZE];
    printf(
        "saved in %s: weights.npz, log.tsv, run.json, checkpoint.npz\n", printable(shown, folder));
    return result->stopped_by == 0 ? STATUS_DONE : 128 + result->stopped_by;
}
