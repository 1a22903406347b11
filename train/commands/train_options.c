#include "train_options.h"

#include <string.h>

#include "run/json.h"

enum {
    KEY_STEPS = 0x200,
    KEY_SCHEDULE_STEPS,
    KEY_LR,
    KEY_MOMENTUM,
    KEY_NESTEROV,
    KEY_WEIGHT_DECAY,
    KEY_CLIP,
    KEY_SCHEDULE,
    KEY_WARMUP,
    KEY_EVAL_EVERY,
    KEY_WORDS,
    KEY_DATA,
    KEY_EVAL_DATA,
    KEY_VALIDATION,
    KEY_MAX_BYTES,
    KEY_WEIGHTS,
    KEY_LAST_SETTING = KEY_WEIGHTS,
    KEY_FORCE,
    KEY_RESUME,
    KEY_QUIET
};

static const struct argp_option option_table[] = {
    {"output", 'o', "RUN", 0, "Folder of the run (default runs/TASK); must not exist", 2},
    {"force", KEY_FORCE, NULL, 0, "Replace RUN if it holds a run of mha", 2},
    {"resume", KEY_RESUME, NULL, 0,
        "Go on with RUN as if it had never stopped; task and settings are the run's, and only "
        "--steps, --eval-data, --threads and --quiet may differ",
        2},
    {"steps", KEY_STEPS, "N", 0, "Updates of the weights; 0 only writes the initial ones", 3},
    {"lr", KEY_LR, "X", 0, "Highest learning rate", 3},
    {"momentum", KEY_MOMENTUM, "X", 0, "Momentum of SGD, below 1", 3},
    {"nesterov", KEY_NESTEROV, NULL, 0, "Nesterov's form of momentum", 3},
    {"weight-decay", KEY_WEIGHT_DECAY, "X", 0, "Adds X times the weights to their gradient", 3},
    {"clip", KEY_CLIP, "X", 0, "Largest gradient norm; 0 for no limit", 3},
    {"schedule", KEY_SCHEDULE, "NAME", 0, "constant, linear or cosine, over all steps", 3},
    {"schedule-steps", KEY_SCHEDULE_STEPS, "N", 0,
        "The steps over which the schedule falls, where --steps stops earlier", 3},
    {"warmup", KEY_WARMUP, "N", 0, "Steps over which the learning rate rises to its height", 3},
    {"eval-every", KEY_EVAL_EVERY, "N", 0, "Steps between held-out evaluations and log rows", 3},
    {"weights", KEY_WEIGHTS, "FILE", 0,
        "Start from the weights of a .npz or .safetensors file, in any layout of `mha convert`", 3},
    {"words", KEY_WORDS, "FILE", 0, "Word list of the task letters, one word a line", 5},
    {"data", KEY_DATA, "FILE", 0, "Examples of the task arrays, .npz or .safetensors", 5},
    {"eval-data", KEY_EVAL_DATA, "FILE", 0, "Held-out examples of the task arrays", 5},
    {"validation", KEY_VALIDATION, "X", 0,
        "Share of the examples of the task arrays that is held out, such as 0.1", 5},
    {"max-bytes", KEY_MAX_BYTES, "N", 0,
        "Refuse arrays that need more than N bytes of memory; K, M or G behind N stand for powers "
        "of "
        "1024 (a quarter of the memory)",
        5},
    {"quiet", KEY_QUIET, NULL, 0, "No progress", 6}, {0}};

/* The options that are settings, by key: their names, and where they stand. */
static const struct {
    const char *name;
    size_t offset, size;
} setting_options[KEY_LAST_SETTING - KEY_STEPS + 1] = {
#define SETTING(key, name, member)                                                                 \
    [(key)-KEY_STEPS] = {                                                                          \
        name, offsetof(struct settings, member), sizeof(((struct settings *)NULL)->member)}
    SETTING(KEY_STEPS, "steps", steps),
    SETTING(KEY_SCHEDULE_STEPS, "schedule-steps", schedule_steps),
    SETTING(KEY_LR, "lr", sgd.learning_rate),
    SETTING(KEY_MOMENTUM, "momentum", sgd.momentum),
    SETTING(KEY_NESTEROV, "nesterov", sgd.nesterov),
    SETTING(KEY_WEIGHT_DECAY, "weight-decay", sgd.weight_decay),
    SETTING(KEY_CLIP, "clip", sgd.clip),
    SETTING(KEY_SCHEDULE, "schedule", schedule),
    SETTING(KEY_WARMUP, "warmup", warmup),
    SETTING(KEY_EVAL_EVERY, "eval-every", eval_every),
    SETTING(KEY_WORDS, "words", words),
    SETTING(KEY_DATA, "data", data),
    SETTING(KEY_EVAL_DATA, "eval-data", eval_data),
    SETTING(KEY_VALIDATION, "validation", validation),
    SETTING(KEY_MAX_BYTES, "max-bytes", max_bytes),
    SETTING(KEY_WEIGHTS, "weights", weights),
#undef SETTING
};
enum { SETTING_COUNT = sizeof setting_options / sizeof *setting_options };

void apply_train_options(
    struct settings *settings, const struct train_arguments *arguments, bool one_length) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if ((arguments->given >> i & 1) != 0) {
            memcpy((char *)settings + setting_options[i].offset,
                (const char *)&arguments->values + setting_options[i].offset,
                setting_options[i].size);
        }
    }
    apply_sizes(&settings->shape, &arguments->shape, one_length);
    if (arguments->shape.has_causal) {
        settings->causal = arguments->shape.causal;
    }
    if (arguments->shape.has_seed) {
        settings->seed = arguments->shape.seed;
    }
    const struct compute_options *compute = &arguments->compute;
    settings->kernel = compute->has_kernel ? compute->kernel : settings->kernel;
    settings->mode = compute->has_mode ? compute->mode : settings->mode;
    settings->threads = compute->threads;
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

static void parse_data(struct argp_state *state, struct settings *values, int key, char *text) {
    switch (key) {
    case KEY_WORDS:
        values->words = text;
        break;
    case KEY_DATA:
        values->data = text;
        break;
    case KEY_EVAL_DATA:
        values->eval_data = text;
        break;
    case KEY_WEIGHTS:
        values->weights = text;
        break;
    case KEY_MAX_BYTES:
        values->max_bytes = parse_bytes(state, "max-bytes", text);
        break;
    case KEY_VALIDATION:
        values->validation = parse_number(state, "validation", text, 0.0, 1.0);
        if (!(values->validation < 1.0)) {
            usage_error(state, "--validation '%s' is not below 1", text);
        }
        break;
    default:
        break;
    }
}

static void parse_setting(struct argp_state *state, struct settings *values, int key, char *text) {
    switch (key) {
    case KEY_STEPS:
        values->steps = parse_size(state, "steps", text, 0, STEPS_MOST);
        break;
    case KEY_SCHEDULE_STEPS:
        values->schedule_steps = parse_size(state, "schedule-steps", text, 1, STEPS_MOST);
        break;
    case KEY_WARMUP:
        values->warmup = parse_size(state, "warmup", text, 0, STEPS_MOST);
        break;
    case KEY_EVAL_EVERY:
        values->eval_every = parse_size(state, "eval-every", text, 1, STEPS_MOST);
        break;
    case KEY_SCHEDULE:
        if (!schedule_from_name(&values->schedule, text)) {
            usage_error(state, "--schedule '%s' is none of constant, linear, cosine", text);
        }
        break;
    default:
        parse_sgd(state, &values->sgd, key, text);
        parse_data(state, values, key, text);
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

static void take_task(
    struct argp_state *state, struct train_arguments *arguments, const char *name) {
    if (arguments->task_name != NULL) {
        refuse_alignment(state, arguments->task_name);
        refuse_alignment(state, name);
        usage_error(
            state, "one TASK is expected, '%s' and '%s' are given", arguments->task_name, name);
    }
    arguments->task_name = name;
}

/* What can only be seen when all options are known. */
static void check_together(const struct argp_state *state, const struct train_arguments *a) {
    if (a->task_name != NULL) {
        refuse_alignment(state, a->task_name);
    }
    if (a->resume && a->session.folder == NULL) {
        usage_error(state, "--resume needs -o RUN: the folder of the run to go on with");
    } else if (a->resume && a->session.force) {
        usage_error(state, "--resume goes on with a run and --force replaces it: give one of them");
    } else if (!a->resume && a->task_name == NULL) {
        usage_error(state, "a TASK is missing; `mha tasks` lists them");
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
    struct train_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->shape;
        state->child_inputs[1] = &arguments->shape;
        state->child_inputs[2] = &arguments->compute;
        return 0;
    case 'o':
        trim_slashes(text);
        arguments->session.folder = text;
        return 0;
    case KEY_FORCE:
        arguments->session.force = true;
        return 0;
    case KEY_RESUME:
        arguments->resume = true;
        return 0;
    case KEY_QUIET:
        arguments->session.quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        take_task(state, arguments, text);
        return 0;
    case ARGP_KEY_END:
        check_together(state, arguments);
        return 0;
    default:
        if (key < KEY_STEPS || key > KEY_LAST_SETTING) {
            return ARGP_ERR_UNKNOWN;
        }
        arguments->given |= 1ul << (key - KEY_STEPS);
        parse_setting(state, &arguments->values, key, text);
        return 0;
    }
}

static const struct argp_child children[] = {{&shape_argp, 0, "Sizes (defaults: `mha tasks`):", 1},
    {&pass_argp, 0, NULL, 2}, {&compute_argp, 0, NULL, 4}, {&help_argp, 0, NULL, 0}, {0}};

const struct argp train_argp = {.options = option_table,
    .parser = parse,
    .args_doc = "TASK\n--resume -o RUN",
    .doc = "Train the layer on a task and save the run.\v"
           "Every option has a default that solves the task; `mha tasks` lists the tasks.\n\n"
           "The task arrays learns from --data, which holds query (N,T,D), for cross-attention "
           "context "
           "(N,S,D), and target (N,T,D) or integer labels (N,T), of which -1 does not count; where "
           "wanted also mask, lengths (N) and count (N,T), the positions that count in the loss.",
    .children = children};
