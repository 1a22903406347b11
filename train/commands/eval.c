/* mha eval RUN: scores a run on fresh examples. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "compute.h"
#include "options.h"
#include "run/run.h"
#include "score.h"

struct eval_request {
    const char *folder;
    const char *eval_data;          /* NULL: the held-out examples of the run */
    struct compute_options compute; /* its threads alone */
};

enum { KEY_EVAL_DATA = 0x400 };

static const struct argp_option options_table[] = {
    {"eval-data", KEY_EVAL_DATA, "FILE", 0,
        "Score a run of the task arrays on the examples of FILE, .npz or .safetensors; the run's "
        "own "
        "--data is read too",
        0},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
    struct eval_request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->compute;
        return 0;
    case KEY_EVAL_DATA:
        request->eval_data = text;
        return 0;
    case ARGP_KEY_ARG:
        if (request->folder != NULL) {
            usage_error(
                state, "one RUN is expected, '%s' and '%s' are given", request->folder, text);
        }
        request->folder = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "a RUN is missing: the folder of a training run");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static mha_status score_weights(
    struct score *score, struct trainer *trainer, const struct run *run, mha_error *error) {
    if (held_out_count(trainer) == 0) {
        return mha_fail(
            error, MHA_ERROR_ARGUMENT, "trained without held-out examples; give --eval-data FILE");
    }
    memcpy(trainer->weights, run->weights, trainer->weight_count * sizeof *trainer->weights);
    return trainer_evaluate(score, trainer, STREAM_EVAL, error);
}

static int evaluate(const struct run *run, const struct eval_request *request) {
    struct settings settings = run->settings;
    settings.threads = request->compute.threads;
    if (request->eval_data != NULL) {
        settings.eval_data = request->eval_data;
        settings.eval_fingerprint = 0;
    }
    struct trainer trainer;
    mha_error error;
    if (trainer_create(&trainer, run->task, &settings, &error) != MHA_OK) {
        complain("%s: %s", run->folder, error.text);
        return STATUS_USAGE;
    }
    struct score score;
    int status = STATUS_DONE;
    if (score_weights(&score, &trainer, run, &error) != MHA_OK) {
        complain("%s: %s", run->folder, error.text);
        status = STATUS_USAGE;
    } else {
        char what[64];
        snprintf(what, sizeof what, "%s after %zu steps", run->task->name, run->weights_step);
        print_score(what, &score, &trainer);
    }
    trainer_destroy(&trainer);
    return finish_output(status);
}

static int run_command(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&threads_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = options_table,
        .parser = parse,
        .args_doc = "RUN",
        .doc = "Score the weights of a training run on examples that it has not seen: 512 fresh "
               "ones, every held-out word of the task letters, or the held-out examples of the "
               "task arrays.",
        .children = children};
    struct eval_request request = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    struct run run;
    mha_error error;
    if (run_read(&run, request.folder, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    int status = STATUS_USAGE;
    if (request.eval_data != NULL && run.task->adapt == NULL) {
        complain("--eval-data '%s': the task %s makes its own examples", request.eval_data,
            run.task->name);
    } else {
        status = evaluate(&run, &request);
    }
    run_free(&run);
    return status;
}

const struct command command_eval = {
    "eval", "score a run on fresh, held-out examples", run_command};
