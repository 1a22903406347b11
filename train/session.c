#include "session.h"

#include <math.h>
#include <stdio.h>

#include "session_files.h"
#include "stop.h"

/* A run is saved when it starts, ends or is stopped, and between so often that a process which is killed
 * loses at most a twentieth of what it has trained and never more than ten seconds, unless saving itself
 * would then take more than a twentieth of the time. */
static const double SAVE_SHARE = 0.05;
static const double SAVE_SECONDS = 10.0;

static struct session session_make(struct session_result *result, struct trainer *trainer,
    const struct run_state *state, const struct session_options *options) {
    *result = (struct session_result){.state = *state, .saved_step = state->step};
    return (struct session){.trainer = trainer,
        .options = options,
        .result = result,
        .log = -1,
        .folder = options->folder,
        .weights_step = state->step,
        .started = seconds_now(),
        .seconds_before = state->seconds};
}

static bool save_is_due(const struct session *session) {
    const double now = seconds_now(), unsaved = now - session->saved;
    return unsaved >= fmin(SAVE_SECONDS, SAVE_SHARE * (now - session->started)) &&
           unsaved * SAVE_SHARE >= session->save_cost;
}

/* One update with what follows it; *last says that it ended the run. */
static mha_status advance(struct session *session, bool *last, mha_error *error) {
    struct run_state *state = &session->result->state;
    const struct settings *settings = &session->trainer->settings;
    struct step_result update;
    mha_status status = trainer_step(&update, session->trainer, state->step + 1, error);
    if (status == MHA_ERROR_NOT_FINITE) {
        session->result->diverged = true;
        return session_log_refused(session, &update, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    state->step++;
    *last = state->step == settings->steps || stop_requested() != 0;
    if (*last || state->step % settings->eval_every == 0) {
        status = session_evaluate(session, &update, error);
    }
    if (status == MHA_OK && !*last && save_is_due(session)) {
        status = session_save(session, "running", error);
    }
    progress_show(&session->progress, state->step, session_seconds(session), state->score.loss,
        state->score.accuracy);
    return status;
}

static mha_status train(struct session *session, mha_error *error) {
    struct session_result *result = session->result;
    const size_t steps = session->trainer->settings.steps;
    mha_status status = MHA_OK;
    bool last = result->state.step == steps || stop_requested() != 0;
    progress_start(&session->progress, session->options->quiet, steps);
    while (status == MHA_OK && !last && !result->diverged) {
        status = advance(session, &last, error);
    }
    progress_end(&session->progress);
    result->stopped_by = result->state.step < steps && !result->diverged ? stop_requested() : 0;
    return status;
}

/* What there is at the end. A run that diverged keeps the checkpoint that was saved last. */
static mha_status finish_files(struct session *session, mha_error *error) {
    struct session_result *result = session->result;
    if (result->diverged) {
        return session_write_json(session, "diverged", error);
    }
    return session_save(session, result->stopped_by != 0 ? "interrupted" : "done", error);
}

static void add_to_error(mha_error *error, const char *consequence) {
    if (error != NULL) {
        const mha_error reason = *error;
        mha_fail(error, reason.status, "%s; %s", reason.text, consequence);
    }
}

/* A run that failed keeps what it saved last, and says so. */
static void fail_files(struct session *session, mha_error *error) {
    char saved[96];
    session_write_json(session, "failed", NULL);
    snprintf(saved, sizeof saved, "the run is saved up to step %zu, --resume goes on from there",
        session->result->saved_step);
    add_to_error(error, saved);
}

/* Trains, and closes the files in whatever state the run ends. */
static mha_status run_to_end(struct session *session, mha_error *error) {
    mha_status status = train(session, error);
    const mha_status closed = session_close_log(session, status == MHA_OK ? error : NULL);
    status = status == MHA_OK ? closed : status;
    if (status == MHA_OK) {
        status = finish_files(session, error);
    }
    if (status != MHA_OK) {
        fail_files(session, error);
    }
    return status;
}

mha_status session_run(struct session_result *result, struct trainer *trainer,
    const struct session_options *options, mha_error *error) {
    const double nan = (double)NAN;
    const struct run_state start = {.score = {nan, nan, nan}, .best_loss = nan};
    struct session session = session_make(result, trainer, &start, options);
    struct run_folder folder;
    stop_catch();
    mha_status status = run_folder_create(&folder, options->folder, options->force, error);
    if (status != MHA_OK) {
        stop_release();
        return status;
    }
    status = session_stage(&session, error);
    if (status != MHA_OK) {
        session_close_log(&session, NULL);
        run_folder_abandon(&folder);
    } else if ((status = run_folder_publish(&folder, error)) != MHA_OK) {
        session_close_log(&session, NULL);
        add_to_error(error,
            "the new run is complete in the folder, --resume goes on with it once that is mended");
    } else {
        status = run_to_end(&session, error);
    }
    run_folder_close(&folder);
    stop_release();
    return status;
}

mha_status session_resume(struct session_result *result, struct trainer *trainer,
    const struct run_state *state, const struct session_options *options, mha_error *error) {
    struct session session = session_make(result, trainer, state, options);
    stop_catch();
    mha_status status;
    if (state->step == trainer->settings.steps) {
        status = session_remake(&session, options->shortened, error);
    } else {
        status = session_restart(&session, error);
        if (status == MHA_OK) {
            status = run_to_end(&session, error);
        }
    }
    stop_release();
    return status;
}
