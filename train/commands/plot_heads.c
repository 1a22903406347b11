/* mha plot heads: the attention weights of one held-out example. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "plot.h"
#include "plot_maps.h"
#include "memory.h"
#include "run/run.h"
#include "trainer.h"

struct heads_request {
    struct picture_options picture;
    const char *folder;
    size_t example;
    bool average;
};

enum { KEY_EXAMPLE = 0x300, KEY_AVERAGE };

static const struct argp_option options_table[] = {
    {"example", KEY_EXAMPLE, "N", 0, "Held-out example, counted from 0 (default 0)", 0},
    {"average", KEY_AVERAGE, NULL, 0, "Draw one map, the mean of all heads", 0}, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct heads_request *request = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->picture;
        return 0;
    case KEY_EXAMPLE:
        request->example = parse_size(state, "example", argument, 0, SIZE_MAX);
        return 0;
    case KEY_AVERAGE:
        request->average = true;
        return 0;
    case ARGP_KEY_ARG:
        if (request->folder != NULL) {
            usage_error(state, "one RUN is drawn at a time, not also '%s'", argument);
        }
        request->folder = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        usage_error(state, "no RUN given: the folder that `mha train` wrote");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Everything a drawing needs, for one example. */
struct drawing {
    struct run run;
    struct trainer trainer; /* of one sample */
    struct attention_maps maps;
    mha_real *weights;
    mha_real *mean;
    unsigned char *blocked;
    char title[256];
};

/* Held-out examples come one after the other, as during training. */
static mha_status fill_example(struct trainer *trainer, size_t example, mha_error *error) {
    const size_t count = held_out_count(trainer);
    if (count == 0) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "the run has no held-out example to draw: it was trained without --validation and "
            "--eval-data");
    }
    if (example >= count) {
        return mha_fail(error, MHA_ERROR_ARGUMENT,
            "there is no held-out example %zu: task %s has %zu, counted from 0", example,
            trainer->task->name, count);
    }
    mha_rng rng = held_out_begin(trainer, STREAM_HELD_OUT);
    for (size_t i = 0; i <= example; i++) {
        held_out_next(trainer, &rng, i, 1);
    }
    return MHA_OK;
}

static mha_status compute(struct drawing *drawing, size_t example, mha_error *error) {
    struct trainer *trainer = &drawing->trainer;
    struct settings chosen = drawing->run.settings;
    chosen.shape.batch = 1;
    chosen.mode = MHA_MODE_STORED; /* the same bits, and the weights are on the tape */
    mha_status status = trainer_create(trainer, drawing->run.task, &chosen, error);
    if (status != MHA_OK) {
        return status;
    }
    memcpy(
        trainer->weights, drawing->run.weights, trainer->weight_count * sizeof *trainer->weights);
    status = fill_example(trainer, example, error);
    return status == MHA_OK ? trainer_forward(trainer, 1, error) : status;
}

static mha_status mark_blocked(struct drawing *drawing, mha_error *error) {
    const mha_mask *mask = trainer_mask(&drawing->trainer);
    struct attention_maps *maps = &drawing->maps;
    if (mask == NULL) {
        return MHA_OK;
    }
    drawing->blocked = calloc(maps->heads * maps->queries * maps->keys, 1);
    if (drawing->blocked == NULL) {
        return no_memory(error);
    }
    unsigned char *cell = drawing->blocked;
    for (size_t head = 0; head < maps->heads; head++) {
        for (size_t t = 0; t < maps->queries; t++) {
            mha_mask_row row = mha_mask_row_at(mask, &drawing->trainer.settings.shape, 0, head, t);
            for (size_t s = 0; s < maps->keys; s++) {
                *cell++ = !mha_mask_row_allows(&row, s);
            }
        }
    }
    maps->blocked = drawing->blocked;
    return MHA_OK;
}

static mha_status label_positions(struct drawing *drawing, mha_error *error) {
    struct attention_maps *maps = &drawing->maps;
    const struct task *origin = drawing->trainer.task;
    maps->query_labels = calloc(maps->queries, sizeof *maps->query_labels);
    maps->key_labels = calloc(maps->keys, sizeof *maps->key_labels);
    if (maps->query_labels == NULL || maps->key_labels == NULL) {
        return no_memory(error);
    }
    for (size_t side = 0; side < 2; side++) {
        char(*labels)[MAP_LABEL_SIZE] = side == 0 ? maps->query_labels : maps->key_labels;
        for (size_t i = 0; i < (side == 0 ? maps->queries : maps->keys); i++) {
            if (origin->label != NULL) {
                origin->label(labels[i], MAP_LABEL_SIZE, &drawing->trainer.batch, 0, i, side == 1);
            } else {
                snprintf(labels[i], MAP_LABEL_SIZE, "%zu", i);
            }
        }
    }
    return MHA_OK;
}

/* How many positions an example has: those behind the end of a word have an empty label. */
static size_t labelled_count(char (*labels)[MAP_LABEL_SIZE], size_t count) {
    while (count > 1 && labels[count - 1][0] == '\0') {
        count--;
    }
    return count;
}

/* The weights on the tape, without positions behind the example's end. */
static mha_status take_weights(struct drawing *drawing, mha_error *error) {
    struct attention_maps *maps = &drawing->maps;
    const mha_real *saved = mha_tape_value(drawing->trainer.tape, MHA_ATTENTION_WEIGHTS);
    if (saved == NULL) {
        return mha_fail(error, MHA_ERROR_STATE, "the tape holds no attention weights");
    }
    const size_t T = maps->queries, S = maps->keys;
    maps->queries = labelled_count(maps->query_labels, T);
    maps->keys = labelled_count(maps->key_labels, S);
    drawing->weights = calloc(maps->heads * maps->queries * maps->keys, sizeof *drawing->weights);
    if (drawing->weights == NULL) {
        return no_memory(error);
    }
    for (size_t row = 0; row < maps->heads * maps->queries; row++) {
        const size_t head = row / maps->queries, t = row % maps->queries;
        memcpy(drawing->weights + row * maps->keys, saved + (head * T + t) * S,
            maps->keys * sizeof *saved);
    }
    maps->weights = drawing->weights;
    return MHA_OK;
}

static mha_status take_average(struct drawing *drawing, mha_error *error) {
    struct attention_maps *maps = &drawing->maps;
    drawing->mean = calloc(maps->queries * maps->keys, sizeof *drawing->mean);
    if (drawing->mean == NULL) {
        return no_memory(error);
    }
    maps_average(drawing->mean, maps->weights, maps->heads, maps->queries, maps->keys);
    maps->weights = drawing->mean;
    maps->averaged = maps->heads;
    maps->heads = 1;
    return MHA_OK;
}

static mha_status prepare(
    struct drawing *drawing, const struct heads_request *request, mha_error *error) {
    mha_status status = run_read(&drawing->run, request->folder, error);
    if (status != MHA_OK) {
        return status;
    }
    const mha_shape *shape = &drawing->run.settings.shape;
    struct attention_maps *maps = &drawing->maps;
    *maps = (struct attention_maps){.title = drawing->title,
        .heads = shape->heads,
        .queries = shape->target_length,
        .keys = shape->source_length};
    snprintf(drawing->title, sizeof drawing->title, "%.180s: task %s, held-out example %zu",
        request->folder, drawing->run.task->name, request->example);
    if ((status = maps_check(maps, error)) != MHA_OK ||
        (status = compute(drawing, request->example, error)) != MHA_OK) {
        return status;
    }
    if ((status = label_positions(drawing, error)) != MHA_OK ||
        (status = take_weights(drawing, error)) != MHA_OK ||
        (status = mark_blocked(drawing, error)) != MHA_OK) {
        return status;
    }
    return request->average ? take_average(drawing, error) : MHA_OK;
}

static mha_status draw(
    struct drawing *drawing, const struct heads_request *request, mha_error *error) {
    enum picture_kind kind;
    mha_status status = picture_kind_of(&kind, &request->picture, error);
    if (status == MHA_OK && kind == PICTURE_TEXT && request->picture.kept_script != NULL) {
        status = mha_fail(error, MHA_ERROR_ARGUMENT,
            "--keep-script needs -o PIC: in the terminal heads are drawn without gnuplot");
    }
    if (status != MHA_OK || (status = prepare(drawing, request, error)) != MHA_OK) {
        return status;
    }
    if (kind == PICTURE_TEXT) {
        const size_t width = terminal_width();
        const bool utf8 = terminal_is_utf8();
        status = width > 0 ? maps_check_width(&drawing->maps, width, utf8, error) : MHA_OK;
        if (status == MHA_OK) {
            maps_print(stdout, &drawing->maps, terminal_size().width, utf8);
        }
        return status;
    }
    struct script variables;
    if ((status = script_open(&variables, error)) != MHA_OK) {
        return status;
    }
    tell_missing_fonts(kind);
    struct picture_size size;
    maps_variables(variables.stream, &size, &drawing->maps);
    status = script_close(&variables, error);
    if (status == MHA_OK) {
        status = picture_draw(&request->picture, &size, "heads.gp", &variables, error);
    }
    script_free(&variables);
    return status;
}

int plot_heads(int argc, char **argv) {
    static const struct argp_child children[] = {
        {&picture_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options_table, parse, "RUN",
        "Draw the attention weights of one held-out example, a panel for each head: rows are "
        "queries, columns are keys. The colours run from 0 to 1, whatever the weights, by their "
        "square root.",
        children, NULL, NULL};
    struct heads_request request = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    mha_error error;
    struct drawing drawing = {0};
    mha_status status = draw(&drawing, &request, &error);
    free(drawing.blocked);
    free(drawing.weights);
    free(drawing.mean);
    free(drawing.maps.query_labels);
    free(drawing.maps.key_labels);
    trainer_destroy(&drawing.trainer);
    run_free(&drawing.run);
    if (status != MHA_OK) {
        complain("%s", error.text);
    }
    return finish_output(status == MHA_OK ? STATUS_DONE : STATUS_USAGE);
}
