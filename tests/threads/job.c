#include "job.h"

#include <stdlib.h>
#include <string.h>

#include <mha/mha32.h>

const mha_shape wide_shape = {4, 100, 100, 192, 4};
const mha_shape large_shape = {3, 150, 131, 96, 4};
const mha_shape small_shape = {3, 17, 13, 12, 3};

/* written holds what a step writes, in this order: output, dquery, dsource, dweights, weights. */
struct job {
    mha_shape shape;
    mha_layer *layer;
    mha_tape *tape;
    size_t queries, sources, matrices, written;
    float *numbers; /* one block: written, then those below */
    float *query, *source, *target, *doutput, *first_weights, *velocity;
};

static void fill(float *numbers, size_t count, mha_rng *rng) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)mha_rng_normal(rng);
    }
}

static bool take_numbers(struct job *job) {
    const size_t queries = job->queries, sources = job->sources, matrices = job->matrices;
    job->numbers = calloc(job->written + 3 * queries + sources + 2 * matrices, sizeof(float));
    if (job->numbers == NULL) {
        return false;
    }
    job->query = job->numbers + job->written;
    job->target = job->query + queries;
    job->doutput = job->target + queries;
    job->source = job->doutput + queries;
    job->first_weights = job->source + sources;
    job->velocity = job->first_weights + matrices;
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){7}, 1);
    fill(job->query, queries, &rng);
    fill(job->target, queries, &rng);
    fill(job->source, sources, &rng);
    const mha_weights first = mha_weights_view(job->first_weights, job->shape.width);
    mha_weights_draw(&first, &rng, job->shape.width);
    return true;
}

struct job *job_make(const mha_shape *shape, mha_mode mode, size_t threads) {
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return NULL;
    }
    job->shape = *shape;
    job->queries = shape->batch * shape->target_length * shape->width;
    job->sources = shape->batch * shape->source_length * shape->width;
    job->matrices = MHA_WEIGHT_COUNT * shape->width * shape->width;
    job->written = 2 * job->queries + job->sources + 2 * job->matrices;
    const mha_layer_options options = {.mode = mode, .threads = threads};
    if (!take_numbers(job) || mha_layer_create(&job->layer, shape, &options, NULL) != MHA_OK ||
        mha_tape_create(&job->tape, shape, &options, NULL) != MHA_OK) {
        job_free(job);
        return NULL;
    }
    return job;
}

void job_free(struct job *job) {
    if (job != NULL) {
        mha_tape_destroy(job->tape);
        mha_layer_destroy(job->layer);
        free(job->numbers);
        free(job);
    }
}

size_t job_count(const struct job *job) {
    return job->written;
}

static bool step(struct job *job, float *weights) {
    const mha_shape *shape = &job->shape;
    float *output = job->numbers, *dquery = output + job->queries;
    float *dsource = dquery + job->queries, *dweights = dsource + job->sources;
    const mha_weights w = mha_weights_view(weights, shape->width);
    const mha_weights dw = mha_weights_view(dweights, shape->width);
    if (mha_forward(output, job->tape, job->query, job->source, NULL, &w, job->layer, shape,
            NULL) != MHA_OK) {
        return false;
    }
    memset(job->doutput, 0, job->queries * sizeof(float));
    memset(dquery, 0, (job->queries + job->sources + job->matrices) * sizeof(float));
    mha_mse_loss(
        job->doutput, output, job->target, NULL, shape->batch * shape->target_length, shape->width);
    const mha_sgd_options options = {.learning_rate = 0.5, .momentum = 0.9};
    return mha_backward(dquery, dsource, &dw, job->doutput, job->tape, job->layer, shape, NULL) ==
               MHA_OK &&
           mha_sgd_step(weights, job->velocity, dweights, job->matrices,
               mha_gradient_norm(dweights, job->matrices), &options, NULL) == MHA_OK;
}

const float *job_run(struct job *job, size_t steps) {
    float *weights = job->numbers + job->written - job->matrices;
    memcpy(weights, job->first_weights, job->matrices * sizeof(float));
    memset(job->velocity, 0, job->matrices * sizeof(float));
    for (size_t i = 0; i < steps; i++) {
        if (!step(job, weights)) {
            return NULL;
        }
    }
    return job->numbers;
}

bool job_agrees(const struct job *job, struct job *other, size_t steps) {
    const float *numbers = job_run(other, steps);
    return numbers != NULL && other->written == job->written &&
           memcmp(numbers, job->numbers, job->written * sizeof(float)) == 0;
}
