/* mha train TASK: trains and saves a run. --resume is in train_resume.c. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include <mha/layouts.h>

#include "train_run.h"
#include "weights_file.h"

static bool check_held_out(const struct settings *settings) {
    if (settings->eval_data != NULL && settings->validation > 0.0) {
        complain("--validation %g and --eval-data '%s' both say what is held out: give one",
            settings->validation, settings->eval_data);
        return false;
    }
    return true;
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
    mha_error found;
    const mha_status status =
        load_weight_set(start, settings->weights, &hint, settings->max_bytes, &found);
    if (status != MHA_OK) {
        const bool asks = strstr(found.text, "name the ") != NULL;
        return mha_fail(
            error, status, "%s%s", found.text, asks ? "; mha convert makes a file that tells" : "");
    }
    if (start->heads == 0) {
        return mha_fail(error, MHA_ERROR_FORMAT, "%s does not say how many heads; give --heads",
            settings->weights);
    }
    if (given->width != 0 && given->width != start->width) {
        return mha_fail(error, MHA_ERROR_SHAPE, "%s has width %zu, --width is %zu",
            settings->weights, start->width, given->width);
    }
    const mha_status finite = weight_set_check(start, MHA_FLOAT32, settings->weights, error);
    if (finite != MHA_OK) {
        return finite;
    }
    settings->shape.heads = start->heads;
    settings->shape.width = start->width;
    return MHA_OK;
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
    struct resolved_paths paths;
    struct settings settings = task->defaults;
    apply_train_options(&settings, arguments, !task->form.cross);
    if (!check_files(task, &settings) || !check_held_out(&settings) || !check_schedule(&settings) ||
        !resolve_paths(&paths, &settings, false)) {
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
