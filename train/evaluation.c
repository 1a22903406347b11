/* The score of the weights on held-out examples. */
#include "trainer.h"

#include <math.h>

/* Sums over the chunks of an evaluation. */
struct sums {
    double loss;    /* sum over answers, or over target entries */
    double counted; /* answers, or target entries */
    double correct;
};

/* Sums over target entries, for their variance. */
struct target_sums {
    double counted;
    double origin; /* the first entry, from which the others are measured: */
    double target, squared;
};

static bool row_counts(const struct task_batch *batch, size_t row) {
    return batch->counted == NULL || batch->counted[row] != 0;
}

static void add_targets(struct target_sums *sums, const struct trainer *trainer, size_t count) {
    const mha_shape *shape = &trainer->settings.shape;
    const struct task_batch *batch = &trainer->batch;
    for (size_t row = 0; row < count * shape->target_length; row++) {
        for (size_t i = 0; i < shape->width && row_counts(batch, row); i++) {
            const double number = (double)batch->target[row * shape->width + i];
            sums->origin = sums->counted > 0.0 ? sums->origin : number;
            const double target = number - sums->origin;
            sums->target += target;
            sums->squared += target * target;
            sums->counted += 1.0;
        }
    }
}

static double variance_of(const struct target_sums *sums) {
    const double mean = sums->target / sums->counted;
    return sums->squared / sums->counted - mean * mean;
}

static void add_chunk(struct sums *sums, const struct trainer *trainer, size_t count) {
    const mha_shape *shape = &trainer->settings.shape;
    mha_class_score classes;
    const double loss = trainer_loss(&classes, NULL, trainer, count);
    size_t counted = classes.counted;
    if (trainer->form.loss == TASK_CROSS_ENTROPY) {
        sums->correct += (double)classes.correct;
    } else {
        counted = 0;
        for (size_t row = 0; row < count * shape->target_length; row++) {
            counted += row_counts(&trainer->batch, row) ? shape->width : 0;
        }
    }
    sums->loss += loss * (double)counted;
    sums->counted += (double)counted;
}

static struct score score_of(const struct sums *sums, enum task_loss loss, double variance) {
    struct score result = {(double)NAN, (double)NAN, (double)NAN};
    if (!(sums->counted > 0.0)) {
        return result;
    }
    result.loss = sums->loss / sums->counted;
    if (loss == TASK_CROSS_ENTROPY) {
        result.accuracy = sums->correct / sums->counted;
    } else {
        result.relative_error = variance > 0.0 ? result.loss / variance : (double)NAN;
    }
    return result;
}

mha_status trainer_evaluate(
    struct score *result, struct trainer *trainer, uint64_t stream, mha_error *error) {
    const size_t examples = held_out_count(trainer), batch = trainer->settings.shape.batch;
    const struct task_batch own = trainer->batch;
    struct held_out *held_out = &trainer->held_out;
    const bool kept = held_out_keep(trainer, stream);
    const bool measure = trainer->form.loss == TASK_MSE && !held_out->measured;
    mha_rng rng = held_out_begin(trainer, stream);
    struct sums sums = {0};
    struct target_sums targets = {0};
    mha_status status = MHA_OK;
    for (size_t first = 0, count; first < examples && status == MHA_OK; first += count) {
        count = examples - first < batch ? examples - first : batch;
        if (kept) {
            held_out_show(trainer, first);
        } else {
            held_out_next(trainer, &rng, first, count);
        }
        if (measure) {
            add_targets(&targets, trainer, count);
        }
        status = trainer_forward(trainer, count, error);
        if (status == MHA_OK) {
            add_chunk(&sums, trainer, count);
        }
    }
    if (kept) {
        trainer->batch = own;
    }
    if (status != MHA_OK) {
        return status;
    }
    if (measure) {
        held_out->target_variance = variance_of(&targets);
        held_out->measured = true;
    }
    *result = score_of(&sums, trainer->form.loss, held_out->target_variance);
    return MHA_OK;
}
