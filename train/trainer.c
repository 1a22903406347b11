#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void draw_weights(struct trainer *trainer) {
    const size_t width = trainer->settings.shape.width;
    const mha_weights view = mha_weights_view(trainer->weights, width);
    mha_rng rng;
    mha_rng_seed(&rng, &trainer->settings.seed, 1);
    mha_weights_draw(&view, &rng, width);
}

static mha_status check_shape(const struct trainer *trainer, mha_error *error) {
    const mha_shape *shape = &trainer->settings.shape;
    mha_status status = mha_shape_check(shape, error);
    if (status == MHA_OK &&
        (shape->batch == 0 || shape->target_length == 0 || shape->source_length == 0)) {
        status = mha_fail(error, MHA_ERROR_SHAPE,
            "batch %zu, target length %zu and source length %zu must all be at least 1",
            shape->batch, shape->target_length, shape->source_length);
    }
    const mha_mask mask = {.causal = trainer->settings.causal};
    return status == MHA_OK ? mha_mask_check(&mask, shape, error) : status;
}

/* Opens the task's data, with the sizes that are known before or after that. */
static mha_status open_data(struct trainer *trainer, mha_error *error) {
    const struct task *task = trainer->task;
    mha_status status = task->adapt == NULL ? check_shape(trainer, error) : MHA_OK;
    if (status == MHA_OK) {
        status = task->open(&trainer->data, &trainer->settings, error);
    }
    if (status == MHA_OK && task->adapt != NULL) {
        task->adapt(&trainer->settings, &trainer->form, trainer->data);
        status = check_shape(trainer, error);
    }
    trainer->settings.loss = trainer->form.loss;
    return status;
}

static mha_status create_layer(struct trainer *trainer, mha_error *error) {
    const mha_shape *shape = &trainer->settings.shape;
    const mha_layer_options options = settings_layer_options(&trainer->settings);
    mha_status status = mha_layer_create(&trainer->layer, shape, &options, error);
    if (status == MHA_OK) {
        status = mha_tape_create(&trainer->tape, shape, &options, error);
    }
    return status;
}

static mha_status create_arrays(struct trainer *trainer, mha_error *error) {
    const struct task_form *form = &trainer->form;
    const mha_shape *shape = &trainer->settings.shape;
    const size_t targets = shape->batch * shape->target_length;
    const size_t sources = shape->batch * shape->source_length;
    trainer->weight_count = MHA_WEIGHT_COUNT * shape->width * shape->width;
    trainer->batch.shape = *shape;
    const bool regression = form->loss == TASK_MSE;
    struct {
        mha_real **at;
        size_t count;
    } arrays[] = {
        {&trainer->weights, trainer->weight_count},
        {&trainer->gradients, trainer->weight_count},
        {&trainer->velocity, trainer->weight_count},
        {&trainer->output, targets * shape->width},
        {&trainer->doutput, targets * shape->width},
        {&trainer->batch.query, targets * shape->width},
        {&trainer->batch.source, form->cross ? sources * shape->width : 0},
        {&trainer->batch.target, regression ? targets * shape->width : 0},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (arrays[i].count > 0) {
            *arrays[i].at = allocate_zeroed(arrays[i].count, sizeof **arrays[i].at);
            if (*arrays[i].at == NULL) {
                return mha_fail(error, MHA_ERROR_MEMORY,
                    "no memory for %zu numbers of width %zu, batch %zu", arrays[i].count,
                    shape->width, shape->batch);
            }
        }
    }
    if (!regression) {
        trainer->batch.labels = allocate_zeroed(targets * form->answers, sizeof(int32_t));
        if (trainer->batch.labels == NULL) {
            return no_memory(error);
        }
    }
    return MHA_OK;
}

/* A run that knows what a file of its data held is not continued or scored when that has changed;
 * *known becomes what was found where it is 0. */
static mha_status check_fingerprint(
    uint64_t *known, uint64_t found, const char *path, mha_error *error) {
    if (*known != 0 && *known != found) {
        return mha_fail(error, MHA_ERROR_FORMAT,
            "%s has changed: its fingerprint is %016" PRIx64 ", the run's is %016" PRIx64, path,
            found, *known);
    }
    *known = found;
    return MHA_OK;
}

static mha_status check_fingerprints(struct trainer *trainer, mha_error *error) {
    const struct task *task = trainer->task;
    struct settings *settings = &trainer->settings;
    mha_status status = MHA_OK;
    if (task->fingerprint != NULL) {
        status = check_fingerprint(&settings->fingerprint, task->fingerprint(trainer->data),
            settings->words != NULL ? settings->words : settings->data, error);
    }
    if (status == MHA_OK && task->eval_fingerprint != NULL && settings->eval_data != NULL) {
        status = check_fingerprint(&settings->eval_fingerprint,
            task->eval_fingerprint(trainer->data), settings->eval_data, error);
    }
    return status;
}

mha_status trainer_create(struct trainer *trainer, const struct task *task,
    const struct settings *settings, mha_error *error) {
    memset(trainer, 0, sizeof *trainer);
    trainer->task = task;
    trainer->form = task->form;
    trainer->settings = *settings;
    trainer->batch.mask.causal = settings->causal;
    mha_status status = open_data(trainer, error);
    if (status == MHA_OK) {
        status = check_fingerprints(trainer, error);
    }
    if (status == MHA_OK) {
        status = create_layer(trainer, error);
    }
    if (status == MHA_OK) {
        status = create_arrays(trainer, error);
    }
    if (status != MHA_OK) {
        trainer_destroy(trainer);
        return status;
    }
    draw_weights(trainer);
    return MHA_OK;
}

void trainer_destroy(struct trainer *trainer) {
    if (trainer->data != NULL) {
        trainer->task->close(trainer->data);
    }
    held_out_forget(trainer);
    mha_layer_destroy(trainer->layer);
    mha_tape_destroy(trainer->tape);
    void *const blocks[] = {trainer->weights, trainer->gradients, trainer->velocity,
        trainer->output, trainer->doutput, trainer->batch.query, trainer->batch.source,
        trainer->batch.target, trainer->batch.labels};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        free(blocks[i]);
    }
    memset(trainer, 0, sizeof *trainer);
}

void trainer_set_weights(struct trainer *trainer, const mha_weight_set *set) {
    for (size_t i = 0; i < trainer->weight_count; i++) {
        trainer->weights[i] = set->dtype == MHA_FLOAT64
                                  ? (mha_real)((const double *)set->matrices)[i]
                                  : ((const float *)set->matrices)[i];
    }
}

const mha_mask *trainer_mask(const struct trainer *trainer) {
    const mha_mask *mask = &trainer->batch.mask;
    const bool any =
        mask->causal != MHA_CAUSAL_OFF || mask->lengths != NULL || mask->allowed != NULL;
    return any ? mask : NULL;
}

double learning_rate_at(const struct settings *settings, size_t n) {
    const double pi = 3.14159265358979323846;
    const size_t steps = settings->schedule_steps > 0 ? settings->schedule_steps : settings->steps;
    const double progress = (double)(n - 1) / (double)steps;
    double factor = 1.0;
    if (settings->schedule == SCHEDULE_LINEAR) {
        factor = 1.0 - progress;
    } else if (settings->schedule == SCHEDULE_COSINE) {
        factor = 0.5 * (1.0 + cos(pi * progress));
    }
    if (n < settings->warmup) {
        factor *= (double)n / (double)settings->warmup;
    }
    return settings->sgd.learning_rate * factor;
}

mha_status trainer_forward(struct trainer *trainer, size_t count, mha_error *error) {
    mha_shape shape = trainer->settings.shape;
    shape.batch = count;
    const mha_weights view = mha_weights_view(trainer->weights, shape.width);
    return mha_forward(trainer->output, trainer->tape, trainer->batch.query, trainer->batch.source,
        trainer_mask(trainer), &view, trainer->layer, &shape, error);
}

double trainer_loss(
    mha_class_score *classes, mha_real *doutput, const struct trainer *trainer, size_t count) {
    const mha_shape *shape = &trainer->settings.shape;
    const size_t rows = count * shape->target_length;
    if (trainer->form.loss == TASK_MSE) {
        *classes = (mha_class_score){.loss = (double)NAN};
        return mha_mse_loss(doutput, trainer->output, trainer->batch.target, trainer->batch.counted,
            rows, shape->width);
    }
    *classes = mha_cross_entropy_loss(doutput, trainer->output, trainer->batch.labels, rows,
        shape->width, trainer->form.answers, trainer->form.classes);
    return classes->loss;
}

static void fill_step(struct trainer *trainer, size_t n) {
    if (trainer->task->fill_step != NULL) {
        trainer->task->fill_step(&trainer->batch, n, trainer->data);
        return;
    }
    const uint64_t entropy[] = {trainer->settings.seed, 1, n};
    mha_rng rng;
    mha_rng_seed(&rng, entropy, 3);
    trainer->task->fill(&trainer->batch, trainer->settings.shape.batch, &rng, trainer->data);
}

/* Whether any position of the batch counts in the loss. */
static bool batch_counts(const struct trainer *trainer, const mha_class_score *classes) {
    const unsigned char *counted = trainer->batch.counted;
    if (trainer->form.loss == TASK_CROSS_ENTROPY) {
        return classes->counted > 0;
    }
    const mha_shape *shape = &trainer->settings.shape;
    return counted == NULL || memchr(counted, 1, shape->batch * shape->target_length) != NULL;
}

mha_status trainer_step(
    struct step_result *result, struct trainer *trainer, size_t n, mha_error *error) {
    const mha_shape *shape = &trainer->settings.shape;
    fill_step(trainer, n);
    mha_status status = trainer_forward(trainer, shape->batch, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_class_score classes;
    const size_t outputs = shape->batch * shape->target_length * shape->width;
    memset(trainer->doutput, 0, outputs * sizeof *trainer->doutput);
    result->loss = trainer_loss(&classes, trainer->doutput, trainer, shape->batch);

    memset(trainer->gradients, 0, trainer->weight_count * sizeof *trainer->gradients);
    const mha_weights dweights = mha_weights_view(trainer->gradients, shape->width);
    status = mha_backward(
        NULL, NULL, &dweights, trainer->doutput, trainer->tape, trainer->layer, shape, error);
    if (status != MHA_OK) {
        return status;
    }
    mha_sgd_options sgd = trainer->settings.sgd;
    sgd.learning_rate = learning_rate_at(&trainer->settings, n);
    result->learning_rate = sgd.learning_rate;
    result->gradient_norm = mha_gradient_norm(trainer->gradients, trainer->weight_count);
    if (!isfinite(result->loss)) {
        return mha_fail(error, MHA_ERROR_NOT_FINITE, "the loss is %s",
            isnan(result->loss) ? "nan" : "infinite");
    }
    if (!batch_counts(trainer, &classes)) {
        result->loss = (double)NAN;
    }
    return mha_sgd_step(trainer->weights, trainer->velocity, trainer->gradients,
        trainer->weight_count, result->gradient_norm, &sgd, error);
}
