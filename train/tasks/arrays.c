/* Arrays: examples from a user's file. With --validation X, the first round(X N) examples of
 * default_rng([0, 5]).permutation(N) are held out, whatever the seed of the run, and the others, in
 * that order, are for training (half an example rounds to the even number). Without it all N are, in
 * the order of the file. --eval-data names held-out examples of their own, in place of that share, which
 * stays out of training even then: a run goes on as it began when it is scored on another file.
 *
 * Training sees its examples in an endless row of epochs: epoch e, from 0, is
 * default_rng([seed, 7, e]).permutation of them, and batch n, from 1, of B samples takes places
 * (n-1) B to n B - 1 of that row, across the end of an epoch where it falls. */
#include "arrays_batch.h"
#include "arrays_data.h"
#include "memory.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>

enum { DEFAULT_BATCH = 32 };

/* The order of one epoch. */
struct epoch {
    uint64_t number;
    bool known;
    uint32_t *order; /* (training) */
};

struct task_data {
    struct examples examples; /* of settings.data */
    struct examples held;     /* of settings.eval_data, when has_held */
    bool has_held;
    size_t training;    /* examples that are trained on */
    size_t held_out;    /* examples held out of settings.data */
    uint32_t *split;    /* (held_out + training): the held-out ones, then those for training */
    size_t batch;       /* B */
    uint64_t seed;      /* of the epochs */
    struct epoch at[2]; /* a batch may cross from one epoch to the next; e stands at e mod 2 */
    struct gathered gathered;
};

static void close_task(struct task_data *data) {
    if (data != NULL) {
        examples_free(&data->examples);
        examples_free(&data->held);
        gathered_free(&data->gathered);
        free(data->split);
        free(data->at[0].order);
        free(data->at[1].order);
        free(data);
    }
}

static mha_status count_held_out(
    struct task_data *data, const struct settings *settings, mha_error *error) {
    const size_t all = data->examples.shape.batch;
    if (settings->validation > 0.0) {
        const double held_out = rint(settings->validation * (double)all);
        if (all < 2) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "%s: validation needs at least 2 examples, there is %zu", settings->data, all);
        }
        if (!(held_out >= 1.0 && held_out < (double)all)) {
            return mha_fail(error, MHA_ERROR_ARGUMENT,
                "%s: validation %g holds out %.0f of %zu examples, at least 1 and at most %zu are "
                "needed",
                settings->data, settings->validation, held_out, all, all - 1);
        }
        data->held_out = (size_t)held_out;
    }
    data->training = all - data->held_out;
    return MHA_OK;
}

static mha_status split_examples(
    struct task_data *data, const struct settings *settings, mha_error *error) {
    const mha_status status = count_held_out(data, settings, error);
    if (status != MHA_OK) {
        return status;
    }
    const uint32_t all = (uint32_t)data->examples.shape.batch;
    data->split = allocate_zeroed(all, sizeof *data->split);
    data->at[0].order = allocate_zeroed(data->training, sizeof *data->at[0].order);
    data->at[1].order = allocate_zeroed(data->training, sizeof *data->at[1].order);
    if (data->split == NULL || data->at[0].order == NULL || data->at[1].order == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < all; i++) {
        data->split[i] = i;
    }
    if (data->held_out > 0) {
        mha_rng rng;
        mha_rng_seed(&rng, (const uint64_t[]){0, 5}, 2);
        mha_rng_permutation(data->split, &rng, all);
    }
    return MHA_OK;
}

/* Whether any position counts in `count` of the examples, listed or, with NULL, from the first. */
static bool any_counts(const struct examples *examples, const uint32_t *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (example_counts(examples, list == NULL ? i : list[i])) {
            return true;
        }
    }
    return false;
}

static mha_status check_counted(
    const struct task_data *data, const struct settings *settings, mha_error *error) {
    if (!any_counts(&data->examples, data->split + data->held_out, data->training)) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: no position of the %zu training examples counts", settings->data, data->training);
    }
    const size_t held_out = data->has_held ? data->held.shape.batch : data->held_out;
    const bool scored = data->has_held ? any_counts(&data->held, NULL, held_out)
                                       : any_counts(&data->examples, data->split, held_out);
    if (held_out > 0 && !scored) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s: no position of the %zu held-out examples counts",
            data->has_held ? settings->eval_data : settings->data, held_out);
    }
    return MHA_OK;
}

static mha_status choose_batch(
    struct task_data *data, const struct settings *settings, mha_error *error) {
    data->batch = settings->shape.batch;
    if (data->batch == 0) {
        data->batch = data->training < DEFAULT_BATCH ? data->training : DEFAULT_BATCH;
    }
    if (data->batch > data->training) {
        return mha_fail(error, MHA_ERROR_SHAPE,
            "%s: batch %zu is more than the %zu training examples", settings->data, data->batch,
            data->training);
    }
    return gathered_create(
        &data->gathered, &data->examples, data->has_held ? &data->held : NULL, data->batch, error);
}

static mha_status fill_data(
    struct task_data *data, const struct settings *settings, mha_error *error) {
    mha_status status = examples_read(&data->examples, settings->data, settings, NULL, error);
    if (status == MHA_OK && settings->eval_data != NULL) {
        status = examples_read(&data->held, settings->eval_data, settings, &data->examples, error);
        data->has_held = status == MHA_OK;
    }
    if (status == MHA_OK) {
        status = split_examples(data, settings, error);
    }
    if (status == MHA_OK) {
        status = check_counted(data, settings, error);
    }
    return status == MHA_OK ? choose_batch(data, settings, error) : status;
}

static mha_status open_task(
    struct task_data **data, const struct settings *settings, mha_error *error) {
    *data = NULL;
    if (settings->data == NULL) {
        return mha_fail(error, MHA_ERROR_ARGUMENT, "the task arrays needs --data FILE");
    }
    struct task_data *made = allocate_zeroed(1, sizeof *made);
    if (made == NULL) {
        return no_memory(error);
    }
    made->seed = settings->seed;
    const mha_status status = fill_data(made, settings, error);
    if (status != MHA_OK) {
        close_task(made);
        return status;
    }
    *data = made;
    return MHA_OK;
}

/* Sizes that differ were refused when the file was read. */
static void adapt(struct settings *settings, struct task_form *form, const struct task_data *data) {
    const struct examples *examples = &data->examples;
    settings->shape = examples->shape;
    settings->shape.batch = data->batch;
    *form = (struct task_form){.loss = examples->loss, .cross = examples->cross};
    if (examples->loss == TASK_CROSS_ENTROPY) {
        form->answers = 1;
        form->classes = examples->classes;
    }
}

static uint64_t fingerprint(const struct task_data *data) {
    return data->examples.fingerprint;
}

static uint64_t eval_fingerprint(const struct task_data *data) {
    return data->held.fingerprint;
}

/* The training example at a place of the endless row. */
static size_t example_at(struct task_data *data, uint64_t place) {
    const uint64_t number = place / data->training;
    struct epoch *epoch = &data->at[number % 2];
    if (!epoch->known || epoch->number != number) {
        mha_rng rng;
        mha_rng_seed(&rng, (const uint64_t[]){data->seed, 7, number}, 3);
        mha_rng_permutation(epoch->order, &rng, (uint32_t)data->training);
        epoch->number = number;
        epoch->known = true;
    }
    return data->split[data->held_out + epoch->order[place % data->training]];
}

static void fill_step(struct task_batch *batch, size_t n, struct task_data *data) {
    const size_t count = batch->shape.batch;
    const uint64_t first = (uint64_t)(n - 1) * count;
    gather_begin(batch, &data->gathered, &data->examples, count);
    for (size_t b = 0; b < count; b++) {
        gather_example(batch, &data->gathered, &data->examples, b, example_at(data, first + b));
    }
}

static size_t held_out_count(const struct task_data *data) {
    return data->has_held ? data->held.shape.batch : data->held_out;
}

static void fill_held_out(
    struct task_batch *batch, size_t first, size_t count, struct task_data *data) {
    const struct examples *from = data->has_held ? &data->held : &data->examples;
    gather_begin(batch, &data->gathered, from, count);
    for (size_t b = 0; b < count; b++) {
        const size_t place = first + b;
        gather_example(
            batch, &data->gathered, from, b, data->has_held ? place : data->split[place]);
    }
}

const struct task task_arrays = {
    .name = "arrays",
    .summary = "learn from your own examples, a .npz or .safetensors file named with --data",
    .form = {.loss = TASK_MSE, .cross = true},
    .defaults = {.shape = {.heads = 1},
        .steps = 1000,
        .sgd = {.learning_rate = 0.3, .momentum = 0.9, .clip = 1.0},
        .eval_every = 50},
    .goal_text = "what the data allow",
    .goal = (double)NAN,
    .open = open_task,
    .close = close_task,
    .adapt = adapt,
    .fingerprint = fingerprint,
    .eval_fingerprint = eval_fingerprint,
    .fill_step = fill_step,
    .held_out_count = held_out_count,
    .fill_held_out = fill_held_out,
};
