#include "session.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "progress.h"
#include "run.h"

/* Weights are saved when training starts, ends or is stopped, and between as often as this. */
static const double SECONDS_BETWEEN_SAVES = 10.0;

static volatile sig_atomic_t stop_signal;

static void note_signal(int number) {
    stop_signal = number;
}

/* SA_RESETHAND: the second signal finds the system's default, which ends the program. */
static void catch_signals(void) {
    stop_signal = 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void release_signals(void) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

struct session {
    struct trainer *trainer;
    const struct session_options *options;
    struct session_result *result;
    FILE *log;
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
        .loss = result->score.loss,
        .accuracy = result->score.accuracy,
        .relative_error = result->score.relative_error,
        .seconds = elapsed(session)};
    return run_write_json(session->options->folder, session->trainer->task,
        &session->trainer->settings, &record, error);
}

static mha_status save_weights(struct session *session, mha_error *error) {
    session->saved = elapsed(session);
    return run_write_weights(
        session->options->folder, &session->trainer->settings, session->trainer->weights, error);
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
    status = run_write_row(session->log, &row, session->options->folder, error);
    if (status == MHA_OK && row.seconds - session->saved >= SECONDS_BETWEEN_SAVES) {
        status = save_weights(session, error);
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
    return run_write_row(session->log, &row, session->options->folder, error);
}

static mha_status train(struct session *session, mha_error *error) {
    struct session_result *result = session->result;
    const struct settings *settings = &session->trainer->settings;
    mha_status status = evaluate(session, NULL, error);
    while (status == MHA_OK && result->step < settings->steps && stop_signal == 0) {
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
        const bool last = result->step == settings->steps || stop_signal != 0;
        if (last || result->step % settings->eval_every == 0) {
            status = evaluate(session, &update, error);
        }
        progress_show(&session->progress, result->step, elapsed(session), result->score.loss,
            result->score.accuracy);
    }
    result->stopped_by = result->step < settings->steps ? (int)stop_signal : 0;
    return status;
}

/* The files a run has from its first moment on. */
static mha_status start_files(struct session *session, mha_error *error) {
    const char *folder = session->options->folder;
    mha_status status = run_open_log(&session->log, folder, error);
    if (status == MHA_OK) {
        status = save_weights(session, error);
    }
    if (status == MHA_OK) {
        status = write_json(session, "running", error);
    }
    return status;
}

static mha_status finish_files(struct session *session, mha_error *error) {
    const struct session_result *result = session->result;
    mha_status status = MHA_OK;
    if (!result->diverged) {
        status = save_weights(session, error);
    }
    if (status == MHA_OK) {
        status = write_json(session,
            result->diverged          ? "diverged"
            : result->stopped_by != 0 ? "interrupted"
                                      : "done",
            result->diverged ? NULL : error);
    }
    return status;
}

mha_status session_run(struct session_result *result, struct trainer *trainer,
    const struct session_options *options, mha_error *error) {
    *result = (struct session_result){.score = {(double)NAN, (double)NAN, (double)NAN}};
    struct session session = {.trainer = trainer, .options = options, .result = result};
    size_t made_from;
    mha_status status = run_create_folder(&made_from, options->folder, options->force, error);
    if (status != MHA_OK) {
        return status;
    }
    session.started = seconds_now();
    progress_start(&session.progress, options->quiet, trainer->settings.steps);
    status = start_files(&session, error);
    if (status != MHA_OK) {
        if (session.log != NULL) {
            run_close_log(session.log, options->folder, NULL);
        }
        run_remove(options->folder, made_from);
        return status;
    }
    catch_signals();
    status = train(&session, error);
    progress_end(&session.progress);
    result->seconds = elapsed(&session);
    const mha_status closed =
        run_close_log(session.log, options->folder, status == MHA_OK ? error : NULL);
    status = status == MHA_OK ? closed : status;
    if (status == MHA_OK) {
        status = finish_files(&session, error);
    }
    release_signals();
    return status;
}
