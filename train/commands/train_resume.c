/* mha train --resume: goes on with a run. */
#include "train_run.h"

#include <math.h>
#include <string.h>

#include "command.h"
#include "run/checkpoint.h"
#include "run/json.h"

static mha_status check_task(
    const struct train_arguments *arguments, const struct checkpoint *from, mha_error *error) {
    const char *name = arguments->task_name;
    if (name != NULL && strcmp(name, from->task->name) != 0) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "%s is a run of the task %s, not of %s",
            arguments->session.folder, from->task->name, name);
    }
    return MHA_OK;
}

/* The schedule of a run stays: it falls over the steps that were known at the start. */
static mha_status check_steps(
    struct settings *asked, const struct checkpoint *from, const char *folder, mha_error *error) {
    const struct settings *run = &from->settings;
    if (asked->steps < from->state.step) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "--steps %zu: %s has made %zu steps already",
            asked->steps, folder, from->state.step);
    }
    if (run->schedule == SCHEDULE_CONSTANT || asked->steps == run->steps) {
        return MHA_OK;
    }
    const size_t end = run->schedule_steps > 0 ? run->schedule_steps : run->steps;
    if (asked->steps > end) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "--steps %zu: the %s schedule of the run ends at step %zu; a longer one had to be "
            "given "
            "at the start, with --schedule-steps",
            asked->steps, schedule_name(run->schedule), end);
    }
    asked->schedule_steps = end;
    return MHA_OK;
}

/* Held-out examples that are named now may be others, also under the same name; a run that makes no
 * more steps would not look at them. The share of the data that is trained on stays. */
static mha_status check_eval_data(
    struct settings *asked, const struct checkpoint *from, const char *named, mha_error *error) {
    const char *before = from->settings.eval_data, *now = asked->eval_data;
    if (named == NULL) {
        return MHA_OK;
    }
    const bool other = before == NULL || strcmp(before, now) != 0;
    if (other && asked->steps == from->state.step) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "--eval-data '%s': the run has made its %zu steps; give more --steps, or use mha eval",
            now, asked->steps);
    }
    asked->eval_fingerprint = 0;
    return MHA_OK;
}

/* What was asked for against what the run has. */
static mha_status check_changes(struct settings *asked, const struct checkpoint *from,
    const struct train_arguments *arguments, mha_error *error) {
    static const char *const may_differ[] = {"steps", "eval_data", NULL};
    mha_status status = settings_check_kept(&from->settings, asked, may_differ, error);
    if (status == MHA_OK) {
        status = check_steps(asked, from, arguments->session.folder, error);
    }
    return status == MHA_OK ? check_eval_data(asked, from, arguments->values.eval_data, error)
                            : status;
}

/* Trains from the checkpoint on; returns the exit status. */
static int go_on(const struct checkpoint *from, const struct settings *settings,
    const struct session_options *options) {
    struct trainer trainer;
    struct session_result result;
    mha_error error;
    if (trainer_create(&trainer, from->task, settings, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    int status = STATUS_USAGE;
    struct run_state state = from->state;
    if (trainer.settings.eval_fingerprint != from->settings.eval_fingerprint) {
        state.best_loss = (double)NAN; /* losses of other examples do not compare */
        state.best_step = 0;
    }
    if (checkpoint_restore(&trainer, from, &error) != MHA_OK ||
        session_resume(&result, &trainer, &state, options, &error) != MHA_OK) {
        complain("%s", error.text);
    } else {
        status = print_result(&result, &trainer, options->folder, error.text);
    }
    trainer_destroy(&trainer);
    return finish_output(status);
}

static int resume_from(struct checkpoint *from, struct train_arguments *arguments) {
    mha_error error;
    if (check_task(arguments, from, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    struct settings settings = from->settings;
    apply_train_options(&settings, arguments, !from->task->form.cross);
    struct resolved_paths paths;
    if (!check_files(from->task, &settings) || !resolve_paths(&paths, &arguments->values, true)) {
        return STATUS_USAGE;
    }
    apply_train_options(&settings, arguments, !from->task->form.cross);
    if (check_changes(&settings, from, arguments, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    if (!check_schedule(&settings)) {
        return STATUS_USAGE;
    }
    struct session_options options = arguments->session;
    options.shortened =
        settings.steps == from->state.step && settings.steps != from->settings.steps;
    return go_on(from, &settings, &options);
}

int resume_run(struct train_arguments *arguments) {
    struct run_folder folder;
    mha_error error;
    if (run_folder_open(&folder, arguments->session.folder, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    struct checkpoint from;
    int status = STATUS_USAGE;
    if (checkpoint_read(&from, folder.path, &error) != MHA_OK) {
        complain("%s", error.text);
    } else {
        status = resume_from(&from, arguments);
        checkpoint_free(&from);
    }
    run_folder_close(&folder);
    return status;
}
