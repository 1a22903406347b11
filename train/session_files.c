#include "session_files.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "run/checkpoint.h"
#include "stop.h"

double session_seconds(const struct session *session) {
    return session->seconds_before + (seconds_now() - session->started);
}

static void note_best(struct run_state *state) {
    if (!isnan(state->score.loss) && !(state->best_loss <= state->score.loss)) {
        state->best_loss = state->score.loss;
        state->best_step = state->step;
    }
}

/* The best row of a run that is done may be its last, wherever that stands. */
static mha_status write_json(const struct session *session, const char *status, mha_error *error) {
    const struct trainer *trainer = session->trainer;
    struct run_result record = {
        .status = status, .weights_step = session->weights_step, .state = session->result->state};
    if (record.state.step == trainer->settings.steps) {
        note_best(&record.state);
    }
    return run_write_json(session->folder, trainer->task, &trainer->settings, &record, error);
}

mha_status session_write_json(struct session *session, const char *status, mha_error *error) {
    session->result->state.seconds = session_seconds(session);
    return write_json(session, status, error);
}

/* What is made from the checkpoint: weights.npz, and run.json which says how many updates they have
 * seen. */
static mha_status write_rest(struct session *session, const char *status, mha_error *error) {
    const mha_status result = run_write_weights(
        session->folder, &session->trainer->settings, session->trainer->weights, error);
    if (result != MHA_OK) {
        return result;
    }
    session->weights_step = session->result->state.step;
    return write_json(session, status, error);
}

/* The rows that a checkpoint counts on are on the disk before it. */
static mha_status write_checkpoint(struct session *session, mha_error *error) {
    struct run_state *state = &session->result->state;
    mha_status status = MHA_OK;
    if (session->log >= 0) {
        status = run_flush_log(session->log, session->folder, error);
    }
    if (status == MHA_OK) {
        status = checkpoint_write(session->folder, session->trainer, state, error);
    }
    if (status == MHA_OK) {
        session->result->saved_step = state->step;
    }
    return status;
}

static void note_saved(struct session *session, double begin) {
    session->saved = seconds_now();
    session->save_cost = session->saved - begin;
}

mha_status session_save(struct session *session, const char *status, mha_error *error) {
    sigset_t before;
    stop_hold(&before);
    const double begin = seconds_now();
    session->result->state.seconds = session_seconds(session);
    mha_status result = write_checkpoint(session, error);
    if (result == MHA_OK) {
        result = write_rest(session, status, error);
    }
    note_saved(session, begin);
    stop_resume(&before);
    return result;
}

mha_status session_evaluate(
    struct session *session, const struct step_result *update, mha_error *error) {
    struct run_state *state = &session->result->state;
    mha_status status = trainer_evaluate(&state->score, session->trainer, STREAM_HELD_OUT, error);
    if (status != MHA_OK) {
        return status;
    }
    if (state->step % session->trainer->settings.eval_every == 0) {
        note_best(state);
    }
    const struct log_row row = {.step = state->step,
        .loss = update == NULL ? (double)NAN : update->loss,
        .eval_loss = state->score.loss,
        .eval_accuracy = state->score.accuracy,
        .learning_rate = update == NULL ? (double)NAN : update->learning_rate,
        .gradient_norm = update == NULL ? (double)NAN : update->gradient_norm,
        .seconds = session_seconds(session)};
    return run_write_row(session->log, &row, session->folder, error);
}

mha_status session_log_refused(
    const struct session *session, const struct step_result *update, mha_error *error) {
    const struct log_row row = {.step = session->result->state.step + 1,
        .loss = update->loss,
        .eval_loss = (double)NAN,
        .eval_accuracy = (double)NAN,
        .learning_rate = update->learning_rate,
        .gradient_norm = update->gradient_norm,
        .seconds = session_seconds(session)};
    return run_write_row(session->log, &row, session->folder, error);
}

mha_status session_close_log(struct session *session, mha_error *error) {
    const mha_status status =
        session->log < 0 ? MHA_OK : run_close_log(session->log, session->folder, error);
    session->log = -1;
    return status;
}

mha_status session_stage(struct session *session, mha_error *error) {
    char *staging = run_path(session->options->folder, RUN_STAGING);
    if (staging == NULL) {
        return no_memory(error);
    }
    session->folder = staging;
    mha_status status = run_create_log(&session->log, staging, error);
    if (status == MHA_OK) {
        status = session_evaluate(session, NULL, error);
    }
    const double begin = seconds_now();
    session->result->state.seconds = session_seconds(session);
    if (status == MHA_OK) {
        status = write_rest(session, "running", error);
    }
    if (status == MHA_OK) {
        status = write_checkpoint(session, error);
    }
    note_saved(session, begin);
    session->folder = session->options->folder;
    free(staging);
    return status;
}

/* Cuts the log back and opens it. The checkpoint, whose settings may have changed, is first: the old
 * ones may need a row that goes. */
mha_status session_restart(struct session *session, mha_error *error) {
    const struct run_state *state = &session->result->state;
    const double begin = seconds_now();
    struct kept_log kept;
    mha_status status = run_keep_log(
        &kept, session->folder, state->step, session->trainer->settings.eval_every, false, error);
    if (status != MHA_OK) {
        return status;
    }
    status = write_checkpoint(session, error);
    if (status == MHA_OK) {
        status = run_cut_log(&kept, session->folder, error);
    }
    run_kept_log_free(&kept);
    if (status == MHA_OK) {
        status = run_open_log(&session->log, session->folder, error);
    }
    if (status == MHA_OK) {
        status = write_rest(session, "running", error);
    }
    if (status != MHA_OK) {
        session_close_log(session, NULL);
    }
    note_saved(session, begin);
    return status;
}

mha_status session_remake(struct session *session, bool shortened, mha_error *error) {
    const struct run_state *state = &session->result->state;
    struct kept_log kept;
    mha_status status = run_keep_log(
        &kept, session->folder, state->step, session->trainer->settings.eval_every, true, error);
    if (status == MHA_OK) {
        status = shortened ? write_checkpoint(session, error) : MHA_OK;
        if (status == MHA_OK) {
            status = run_cut_log(&kept, session->folder, error);
        }
        run_kept_log_free(&kept);
    }
    return status == MHA_OK ? write_rest(session, "done", error) : status;
}
