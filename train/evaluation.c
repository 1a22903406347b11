/* Held-out examples, and the score of the weights on them. */
#include "trainer.h"

#include <math.h>

/* Sums over the chunks of an evaluation. */
struct sums {
    double loss;    /* sum over answers, or over target entries */
    double counted; /* answers, or target entries */
    double correct;
    double origin; /* the first target, from which the others are measured: */
    double target, target_squared;
};

static void add_chunk(struct sums *sums, const struct trainer *trainer, size_t count) {
    mha_class_score classes;
    const double loss = trainer_loss(&classes, NULL, trainer, count);
    if (trainer->form.loss == TASK_CROSS_ENTROPY) {
        sums->loss += loss * (double)classes.counted;
        sums->counted += (double)classes.counted;
        sums->correct += (double)classes.correct;
        return;
    }
    const mha_shape *shape = &trainer->settings.shape;
    const struct task_batch *batch = &trainer->batch;
    size_t entries = 0;
    for (size_t row = 0; row < count * shape->target_length; row++) {
        if (batch->counted != NULL && batch->counted[row] == 0) {
            continue;
        }
        for (size_t i = 0; i < shape->width; i++, entries++) {
            const double number = (double)batch->target[row * shape->width + i];
            sums->origin = sums->counted + (double)entries > 0.0 ? sums->origin : number;
            const double target = number - sums->origin;
            sums->target += target;
            sums->target_squared += target * target;
        }
    }
    sums->loss += loss * (double)entries;
    sums->counted += (double)entries;
}

static struct score score_of(const struct sums *sums, enum task_loss loss) {
    struct score result = {(double)NAN, (double)NAN, (double)NAN};
    if (!(sums->counted > 0.0)) {
        return result;
    }
    result.loss = sums->loss / sums->counted;
    if (loss == TASK_CROSS_ENTROPY) {
        result.accuracy = sums->correct / sums->counted;
    } else {
        const double mean = sums->target / sums->counted;
        const double variance = sums->target_squared / sums->counted - mean * mean;
        result.relative_error = variance > 0.0 ? result.loss / variance : (double)NAN;
    }
    return result;
}

size_t held_out_count(const struct trainer *trainer) {
    const struct task *task = trainer->task;
    return task->held_out_count == NULL ? HELD_OUT_EXAMPLES : task->held_out_count(trainer->data);
}

mha_rng held_out_begin(const struct trainer *trainer, uint64_t stream) {
    const uint64_t entropy[] = {trainer->settings.seed, stream};
    mha_rng rng;
    mha_rng_seed(&rng, entropy, 2);
    return rng;
}

void held_out_next(struct trainer *trainer, mha_rng *rng, size_t first, size_t count) {
    if (trainer->task->held_out_count != NULL) {
        trainer->task->fill_held_out(&trainer->batch, first, count, trainer->data);
    } else {
        trainer->task->fill(&trainer->batch, count, rng, trainer->data);
    }
}

mha_status trainer_evaluate(
    struct score *result, struct trainer *trainer, uint64_t stream, mha_error *error) {
    const size_t examples = held_out_count(trainer), batch = trainer->settings.shape.batch;
    mha_rng rng = held_out_begin(trainer, stream);
    struct sums sums = {0};
    for (size_t first = 0, count; first < examples; first += count) {
        count = examples - first < batch ? examples - first : batch;
        held_out_next(trainer, &rng, first, count);
        const mha_status status = trainer_forward(trainer, count, error);
        if (status != MHA_OK) {
            return status;
        }
        add_chunk(&sums, trainer, count);
    }
    *result = score_of(&sums, trainer->form.loss);
    return MHA_OK;
}
