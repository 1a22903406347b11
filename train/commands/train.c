/* mha train TASK: trains and saves a run. */
#include "command.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "memory.h"
#include "run.h"
#include "run_json.h"
#include "score.h"
#include "session.h"

enum {
    KEY_STEPS = 0x200,
    KEY_LR,
    KEY_MOMENTUM,
    KEY_NESTEROV,
    KEY_WEIGHT_DECAY,
    KEY_CLIP,
    KEY_SCHEDULE,
    KEY_WARMUP,
    KEY_EVAL_EVERY,
    KEY_WORDS,
    KEY_FORCE,
    KEY_QUIET
};

static const struct argp_option train_options[] = {
    {"output", 'o', "RUN", 0, "Folder of the run (default runs/TASK); must not exist", 2},
    {"force", KEY_FORCE, NULL, 0, "Replace RUN if it holds a run of mha", 2},
    {"steps", KEY_STEPS, "N", 0, "Updates of the weights; 0 only writes the initial ones", 3},
    {"lr", KEY_LR, "X", 0, "Highest learning rate", 3},
    {"momentum", KEY_MOMENTUM, "X", 0, "Momentum of SGD, below 1", 3},
    {"nesterov", KEY_NESTEROV, NULL, 0, "Nesterov's form of momentum", 3},
    {"weight-decay", KEY_WEIGHT_DECAY, "X", 0, "Adds X times the weights to their gradient", 3},
    {"clip", KEY_CLIP, "X", 0, "Largest gradient norm; 0 for no limit", 3},
    {"schedule", KEY_SCHEDULE, "NAME", 0, "constant, linear or cosine, over all steps", 3},
    {"warmup", KEY_WARMUP, "N", 0, "Steps over which the learning rate rises to its height", 3},
    {"eval-every", KEY_EVAL_EVERY, "N", 0, "Steps between held-out evaluations and log rows", 3},
    {"words", KEY_WORDS, "FILE", 0, "Word list of the task letters, one word a line", 3},
    {"quiet", KEY_QUIET, NULL, 0, "No progress", 4}, {0}};

/* What was given. Settings start as the task's defaults, and the task may stand behind the options,
 * so values are kept beside a bit that says which were given. */
struct arguments {
    const char *task_name;
    struct shape_options shape;
    struct settings values;
    unsigned long given; /* bit (key - KEY_STEPS) */
    struct session_options session;
};

static bool is_given(const struct arguments *arguments, int key) {
    return (arguments->given >> (key - KEY_STEPS) & 1) != 0;
}

static void parse_sgd(struct argp_state *state, mha_sgd_options *sgd, int key, const char *text) {
    const double most = 1e300;
    switch (key) {
    case KEY_LR:
        sgd->learning_rate = parse_number(state, "lr", text, 1e-300, most);
        break;
    case KEY_MOMENTUM:
        sgd->momentum = parse_number(state, "momentum", text, 0.0, 1.0);
        if (!(sgd->momentum < 1.0)) {
            usage_error(state, "--momentum '%s' is not below 1", text);
        }
        break;
    case KEY_WEIGHT_DECAY:
        sgd->weight_decay = parse_number(state, "weight-decay", text, 0.0, most);
        break;
    case KEY_CLIP:
        sgd->clip = parse_number(state, "clip", text, 0.0, most);
        break;
    case KEY_NESTEROV:
        sgd->nesterov = true;
        break;
    default:
        break;
    }
}

static void parse_setting(struct argp_state *state, struct settings *values, int key, char *text) {
    const size_t most_steps = 1000000000;
    switch (key) {
    case KEY_STEPS:
        values->steps = parse_size(state, "steps", text, 0, most_steps);
        break;
    case KEY_WARMUP:
        values->warmup = parse_size(state, "warmup", text, 0, most_steps);
        break;
    case KEY_EVAL_EVERY:
        values->eval_every = parse_size(state, "eval-every", text, 1, most_steps);
        break;
    case KEY_SCHEDULE:
        if (!schedule_from_name(&values->schedule, text)) {
            usage_error(state, "--schedule '%s' is none of constant, linear, cosine", text);
        }
        break;
    case KEY_WORDS:
        values->words = text;
        break;
    default:
        parse_sgd(state, &values->sgd, key, text);
        break;
    }
}

/* `--causal top-left TASK` is meant as `--causal=top-left TASK`. */
static void refuse_alignment(const struct argp_state *state, const char *word) {
    mha_causal alignment;
    if (causal_from_name(&alignment, word)) {
        usage_error(state, "a value of --causal needs '=': --causal=%s", word);
    }
}

static void trim_slashes(char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->shape;
        state->child_inputs[1] = &arguments->shape;
        return 0;
    case 'o':
        trim_slashes(text);
        arguments->session.folder = text;
        return 0;
    case KEY_FORCE:
        arguments->session.force = true;
        return 0;
    case KEY_QUIET:
        arguments->session.quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->task_name != NULL) {
            refuse_alignment(state, arguments->task_name);
            refuse_alignment(state, text);
            usage_error(
                state, "one TASK is expected, '%s' and '%s' are given", arguments->task_name, text);
        }
        arguments->task_name = text;
        return 0;
    case ARGP_KEY_END:
        if (arguments->task_name != NULL) {
            refuse_alignment(state, arguments->task_name);
        }
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "a TASK is missing; `mha tasks` lists them");
        return 0;
    default:
        if (key < KEY_STEPS || key > KEY_WORDS) {
            return ARGP_ERR_UNKNOWN;
        }
        arguments->given |= 1ul << (key - KEY_STEPS);
        parse_setting(state, &arguments->values, key, text);
        return 0;
    }
}

static struct settings settings_of(const struct arguments *arguments, const struct task *task) {
    struct settings result = task->defaults;
    const struct settings *values = &arguments->values;
    const struct {
        int key;
        void *to;
        const void *from;
        size_t size;
    } changes[] = {
        {KEY_STEPS, &result.steps, &values->steps, sizeof result.steps},
        {KEY_LR, &result.sgd.learning_rate, &values->sgd.learning_rate, sizeof(double)},
        {KEY_MOMENTUM, &result.sgd.momentum, &values->sgd.momentum, sizeof(double)},
        {KEY_NESTEROV, &result.sgd.nesterov, &values->sgd.nesterov, sizeof(bool)},
        {KEY_WEIGHT_DECAY, &result.sgd.weight_decay, &values->sgd.weight_decay, sizeof(double)},
        {KEY_CLIP, &result.sgd.clip, &values->sgd.clip, sizeof(double)},
        {KEY_SCHEDULE, &result.schedule, &values->schedule, sizeof result.schedule},
        {KEY_WARMUP, &result.warmup, &values->warmup, sizeof result.warmup},
        {KEY_EVAL_EVERY, &result.eval_every, &values->eval_every, sizeof result.eval_every},
        {KEY_WORDS, &result.words, &values->words, sizeof result.words},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (is_given(arguments, changes[i].key)) {
            memcpy(changes[i].to, changes[i].from, changes[i].size);
        }
    }
    apply_sizes(&result.shape, &arguments->shape, !task->cross);
    if (arguments->shape.has_causal) {
        result.causal = arguments->shape.causal;
    }
    if (arguments->shape.has_seed) {
        result.seed = arguments->shape.seed;
    }
    return result;
}

/* Makes the path of the word list absolute, so that the run can be scored from anywhere. */
static bool resolve_words(struct settings *settings) {
    static char path[PATH_MAX];
    if (realpath(settings->words, path) == NULL) {
        return true; /* the task says what is wrong with it */
    }
    if (!text_is_storable(path)) {
        complain("--words '%s': run.json cannot hold a path that is not UTF-8", path);
        return false;
    }
    settings->words = path;
    return true;
}

/* Finds the task and its settings; false after a complaint. */
static bool choose(
    const struct task **task, struct settings *settings, const struct arguments *arguments) {
    *task = task_find(arguments->task_name);
    if (*task == NULL) {
        mha_causal alignment;
        if (causal_from_name(&alignment, arguments->task_name)) {
            complain("unknown task '%s'; a value of --causal needs '=': --causal=%s",
                arguments->task_name, arguments->task_name);
        } else {
            complain("unknown task '%s'; `mha tasks` lists them", arguments->task_name);
        }
        return false;
    }
    *settings = settings_of(arguments, *task);
    if ((*task)->defaults.words == NULL && settings->words != NULL) {
        complain("--words '%s': the task %s reads no words", settings->words, (*task)->name);
        return false;
    }
    if (settings->words != NULL && !resolve_words(settings)) {
        return false;
    }
    if (settings->sgd.nesterov && !(settings->sgd.momentum > 0.0)) {
        complain("--nesterov needs a momentum above 0, it is %g", settings->sgd.momentum);
        return false;
    }
    return true;
}

static int print_result(const struct session_result *result, const struct trainer *trainer,
    const char *folder, const char *why) {
    if (result->diverged) {
        complain("training diverged at step %zu: %s; %s keeps the log and the weights of step %zu",
            result->step + 1, why, folder, result->saved_step);
        return STATUS_FAILED;
    }
    printf("%s: %zu steps in %.1f s%s\n", trainer->task->name, result->step, result->seconds,
        result->stopped_by != 0 ? ", interrupted" : "");
    print_score("held-out", &result->score, trainer);
    char shown[SHOWN_SIZE];
    printf("saved in %s: weights.npz, log.tsv, run.json\n", printable(shown, folder));
    return result->stopped_by == 0 ? STATUS_DONE : 128 + result->stopped_by;
}

static int train(const struct task *task, const struct settings *settings,
    const struct session_options *options) {
    struct trainer trainer;
    mha_error error;
    if (trainer_create(&trainer, task, settings, &error) != MHA_OK) {
        complain("%s", error.text);
        return STATUS_USAGE;
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

static int run(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&shape_argp, 0, "Sizes (defaults: `mha tasks`):", 1}, {&pass_argp, 0, NULL, 2},
        {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = train_options,
        .parser = parse,
        .args_doc = "TASK",
        .doc = "Train the layer on a task and save the run.\v"
               "Every option has a default that solves the task; `mha tasks` lists the tasks.",
        .children = children};
    struct arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    const struct task *task;
    struct settings settings;
    if (!choose(&task, &settings, &arguments)) {
        return STATUS_USAGE;
    }
    char folder[64];
    if (arguments.session.folder == NULL) {
        snprintf(folder, sizeof folder, "runs/%s", task->name);
        arguments.session.folder = folder;
    }
    return train(task, &settings, &arguments.session);
}

const struct command command_train = {"train", "train on a built-in task and save the run", run};
