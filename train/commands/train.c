/* mha train TASK: trains and saves a run. --resume is in train_resume.c. */
#include "command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/layouts.h>

#include "run/json.h"
#include "score.h"
#include "train_run.h"
#include "weights_file.h"

bool resolve_paths(struct settings *settings) {
    enum { PATHS = 4 };
    static char resolved[PATHS][PATH_MAX];
    const struct {
        const char *option;
        const char **path;
    } paths[PATHS] = {{"words", &settings->words}, {"data", &settings->data},
        {"eval-data", &settings->eval_data}, {"weights", &settings->weights}};
    for (size_t i = 0; i < PATHS; i++) {
        if (*paths[i].path == NULL || realpath(*paths[i].path, resolved[i]) == NULL) {
            continue;
        }
        if (!text_is_storable(resolved[i])) {
            complain("--%s '%s': run.json cannot hold a path that is not UTF-8", paths[i].option,
                resolved[i]);
            return false;
        }
        *paths[i].path = resolved[i];
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
    } else if (settings->eval_data != NULL && settings->validation > 0.0) {
        complain("--validation %g and --eval-data '%s' both say what is held out: give one",
            settings->validation, settings->eval_data);
    } else {
        return true;
    }
    return false;
}

static bool check_schedule(const struct settings *settings) {
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

/* Finds the task; NULL after a complaint. */
static const struct task *choose_task(const char *name) {
    const struct task *task = task_find(name);
    mha_causal alignment;
    if (task == NULL && causal_from_name(&alignment, name)) {
        complain("unknown task '%s'; a value of --causal needs '=': --causal=%s", name, name);
    } else if (task == NULL) {
        complain("unknown task '%s'; `mha tasks` lists them", name);
    }
    return task;
}

/* The weights to start from, and the sizes that they have where none were given. */
static mha_status load_start(mha_weight_set *start, struct settings *settings,
    const struct shape_options *given, mha_error *error) {
    const mha_layout_hint hint = {.heads = given->heads};
    const mha_status status =
        load_weight_set(start, settings->weights, &hint, settings->max_bytes, error);
    if (status != MHA_OK) {
        return status;
    }
    if (start->heads == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s does not say how many heads; give --heads",
            settings->weights);
    }
    if (given->width != 0 && given->width != start->width) {
        return mha_fail(error, MHA_ERROR_SHAPE, "%s has width %zu, --width is %zu",
            settings->weights, start->width, given->width);
    }
    settings->shape.heads = start->heads;
    settings->shape.width = start->width;
    return MHA_OK;
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
    printf("saved in %s: weights.npz, log.tsv, run.json\n", printable(shown, folder));
    return result->stopped_by == 0 ? STATUS_DONE : 128 + result->stopped_by;
}

static int train(const struct task *task, const struct settings *settings,
    const mha_weight_set *start, const struct session_options *options) {
    struct trainer trainer;
    mha_error error;
    if (trainer_create(&trainer, task, settings, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    if (start->matrices != NULL) {
        trainer_set_weights(&trainer, start);
    }
    struct session_result result;
    int status = STATUS_USAGE;
    if (session_run(&result, &trainer, options, &error) != MHA_OK) {
        complain("%s", error.text);
    } else {
        status = print_result(&result, &trainer, options->folder, error.text);
    }
    trainer_destroy(&trainer);
    return finish_output(status);
}

static int start_run(const struct train_arguments *arguments) {
    const struct task *task = choose_task(arguments->task_name);
    if (task == NULL) {
        return STATUS_USAGE;
    }
    struct settings settings = task->defaults;
    apply_train_options(&settings, arguments, !task->form.cross);
    if (!check_files(task, &settings) || !check_schedule(&settings) || !resolve_paths(&settings)) {
        return STATUS_USAGE;
    }
    mha_weight_set start = {0};
    mha_error error;
    if (settings.weights != NULL &&
        load_start(&start, &settings, &arguments->shape, &error) != MHA_OK) {
        complain("%s", error.text);
        mha_weight_set_free(&start);
        return STATUS_USAGE;
    }
    char folder[64];
    struct session_options session = arguments->session;
    if (session.folder == NULL) {
        snprintf(folder, sizeof folder, "runs/%s", task->name);
        session.folder = folder;
    }
    const int status = train(task, &settings, &start, &session);
    mha_weight_set_free(&start);
    return status;
}

static int run(int argc, char **argv) {
    struct train_arguments arguments = {0};
    argp_parse(&train_argp, argc, argv, 0, NULL, &arguments);
    return arguments.resume ? resume_run(&arguments) : start_run(&arguments);
}

const struct command command_train = {
    "train", "train on a task or on your own arrays, and save the run", run};
