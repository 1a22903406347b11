/* mha eval RUN: scores a run on fresh examples. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "options.h"
#include "run.h"
#include "score.h"

static error_t parse(int key, char *text, struct argp_state *state) {
    const char **folder = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*folder != NULL) {
            usage_error(state, "one RUN is expected, '%s' and '%s' are given", *folder, text);
        }
        *folder = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "a RUN is missing: the folder of a training run");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int evaluate(const struct run *run) {
    struct trainer trainer;
    mha_error error;
    if (trainer_create(&trainer, run->task, &run->settings, &error) != MHA_OK) {
        complain("%s: %s", run->folder, error.text);
        return STATUS_USAGE;
    }
    memcpy(trainer.weights, run->weights, trainer.weight_count * sizeof *trainer.weights);
    struct score score;
    int status = STATUS_DONE;
    if (trainer_evaluate(&score, &trainer, STREAM_EVAL, &error) != MHA_OK) {
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
    static const struct argp_child children[] = {{&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.parser = parse,
        .args_doc = "RUN",
        .doc = "Score the weights of a training run on examples that it has not seen: 512 fresh "
               "ones, or every held-out word of the task letters.",
        .children = children};
    const char *folder = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &folder);
    struct run run;
    mha_error error;
    if (run_read(&run, folder, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
    }
    const int status = evaluate(&run);
    run_free(&run);
    return status;
}

const struct command command_eval = {
    "eval", "score a run on fresh, held-out examples", run_command};
