#include "session.h"

#include <math.h>
#include <stdlib.h>

#include "progress.h"
#include "run.h"
#include "stop.h"
#include "memory.h"

/* Weights are saved when training starts, ends or is stopped, and between as often as this. */
static const double SECONDS_BETWEEN_SAVES = 10.0;

struct session {
    struct trainer *trainer;
    const struct session_options *options;
    struct session_result *result;
    int log;            /* descriptor of log.tsv, -1 when it is not open */
    const char *folder; /* where files are written: the run's, or its staging folder */
    struct progress progress;
    double started, saved;
};

static double elapsed(const struct session *session) {
    return seconds_now() - session->started;
}

static mha_status write_json(const struct session *session, const char *status, mha_error *error) {
    const struct session_result *result = session->result;
    const struct run_result record = {.status = status,
        .step = result->step,
        .weights_step = result->saved_step,
        .loss = result->score.loss,
        .accuracy = result->score.accuracy,
        .relative_error = result->score.relative_error,
        .seconds = elapsed(session)};
    return run_write_json(
        session->folder, session->trainer->task, &session->trainer->settings, &record, error);
}

/* weights.npz, and run.json which says how many updates they have seen. */
static mha_status save(struct session *session, const char *status, mha_error *error) {
    sigset_t before;
    stop_hold(&before);
    mha_status result = run_write_weights(
        session->folder, &session->trainer->settings, session->trainer->weights, error);
    if (result == MHA_OK) {
        session->saved = elapsed(session);
        session->result->saved_step = session->result->step;
        result = write_json(session, status, error);
    }
    stop_resume(&before);
    return result;
}

/* Evaluates after `step` and writes the row; update is NULL before the first. */
static mha_status evaluate(
    struct session *session, const struct step_result *update, mha_error *error) {
    struct session_result *result = session->result;
    mha_status status = trainer_evaluate(&result->score, session->trainer, STREAM_HELD_OUT, error);
    if (status != MHA_OK) {
        return status;
    }
    const struct log_row row = {.step = result->step,
        .loss = update == NULL ? (double)NAN : update->loss,
        .eval_loss = result->score.loss,
        .eval_accuracy = result->score.accuracy,
        .learning_rate = update == NULL ? (double)NAN : update->learning_rate,
        .gradient_norm = update == NULL ? (double)NAN : update->gradient_norm,
        .seconds = elapsed(session)};
    status = run_write_row(session->log, &row, session->folder, error);
    if (status == MHA_OK && row.seconds - session->saved >= SECONDS_BETWEEN_SAVES) {
        status = save(session, "running", error);
    }
    return status;
}

/* The row of an update that was refused: what it was, and no evaluation. */
static mha_status log_refused(
    const struct session *session, const struct step_result *update, mha_error *error) {
    const struct log_row row = {.step = session->result->step + 1,
        .loss = update->loss,
        .eval_loss = (double)NAN,
        .eval_accuracy = (double)NAN,
        .learning_rate = update->learning_rate,
        .gradient_norm = update->gradient_norm,
        .seconds = elapsed(session)};
    return run_write_row(session->log, &row, session->folder, error);
}

static mha_status train(struct session *session, mha_error *error) {
    struct session_result *result = session->result;
    const struct settings *settings = &session->trainer->settings;
    mha_status status = evaluate(session, NULL, error);
    while (status == MHA_OK && result->step < settings->steps && stop_requested() == 0) {
        struct step_result update;
        status = trainer_step(&update, session->trainer, result->step + 1, error);
        if (status == MHA_ERROR_NOT_FINITE) {
            result->diverged = true;
            return log_refused(session, &update, NULL);
        }
        if (status != MHA_OK) {
            return status;
        }
        result->step++;
        const bool last = result->step == settings->steps || stop_requested() != 0;
        if (last || result->step % settings->eval_every == 0) {
            status = evaluate(session, &update, error);
        }
        progress_show(&session->progress, result->step, elapsed(session), result->score.loss,
            result->score.accuracy);
    }
    result->stopped_by = result->step < settings->steps ? stop_requested() : 0;
    return status;
}

/* The files a run has from its first moment on: all of them, or what was there before. */
static mha_status start_files(struct session *session, mha_error *error) {
    char *staging = run_path(session->options->folder, RUN_STAGING);
    if (staging == NULL) {
        return no_memory(error);
    }
    session->folder = staging;
    mha_status status = run_open_log(&session->log, staging, error);
    if (status == MHA_OK) {
        status = save(session, "running", error);
    }
    if (status == MHA_OK) {
        status = run_publish(session->options->folder, error);
    }
    session->folder = session->options->folder;
    free(staging);
    return status;
}

/* What there is at the end. A run that diverged keeps the weights that were saved last. */
static mha_status finish_files(struct session *session, mha_error *error) {
    const struct session_result *result = session->result;
    if (result->diverged) {
        return write_json(session, "diverged", NULL);
    }
    return save(session, result->stopped_by != 0 ? "interrupted" : "done", error);
}

/* Trains, and closes the files in whatever state the run ends. */
static mha_status run_to_end(struct session *session, mha_error *error) {
    mha_status status = train(session, error);
    progress_end(&session->progress);
    session->result->seconds = elapsed(session);
    const mha_status closed =
        run_close_log(session->log, session->folder, status == MHA_OK ? error : NULL);
    status = status == MHA_OK ? closed : status;
    if (status == MHA_OK) {
        return finish_files(session, error);
    }
    save(session, "failed", NULL); /* what can still be saved; the first error is the one to tell */
    return status;
}

mha_status session_run(struct session_result *result, struct trainer *trainer,
    const struct session_options *options, mha_error *error) {
    *result = (struct session_result){.score = {(double)NAN, (double)NAN, (double)NAN}};
    struct session session = {.trainer = trainer,
        .options = options,
        .result = result,
        .log = -1,
        .folder = options->folder,
        .started = seconds_now()};
    stop_catch();
    size_t made_from;
    mha_status status = run_create_folder(&made_from, options->folder, options->force, error);
    if (status == MHA_OK) {
        progress_start(&session.progress, options->quiet, trainer->settings.steps);
        status = start_files(&session, error);
        if (status == MHA_OK) {
            status = run_to_end(&session, error);
        } else {
            if (session.log >= 0) {
                run_close_log(session.log, options->folder, NULL);
            }
            run_abandon(options->folder, made_from);
        }
    }
    stop_release();
    return status;
}
