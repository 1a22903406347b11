/* One training in one precision. */
#include "base/real.h"

#include <stdio.h>
#include <stdlib.h>

#include "bits.h"

#define bits_of MHA_NAME(bits_of)

/* All arrays stand in one block. */
struct run {
    mha_real *block;
    mha_real *query, *source, *target, *output, *doutput, *dquery, *dsource;
    mha_real *weights, *dweights, *velocity;
    size_t queries, sources, matrices; /* numbers in (B,T,D), (B,S,D), (4,D,D) */
};

static void fail(const char *text) {
    fprintf(stderr, "bits: %s\n", text);
    exit(1);
}

/* FNV-1a by bytes, from the numbers' bits; both kinds of processors are little-endian. */
static void hash_add(uint64_t *hash, const void *numbers, size_t bytes) {
    const unsigned char *at = numbers;
    for (size_t i = 0; i < bytes; i++) {
        *hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

/* Multiples of 2^-20 between -scale and scale, which is a power of two: exact in both precisions. */
static void fill(mha_real *numbers, size_t count, uint64_t seed, uint64_t stream, mha_real scale) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t random = bits_random(seed, (stream << 40) + i) >> 43;
        const int64_t centred = (int64_t)random - (INT64_C(1) << 20);
        numbers[i] = (mha_real)centred / (mha_real)(1 << 20) * scale;
    }
}

static mha_real *take(mha_real **at, size_t count) {
    mha_real *taken = *at;
    *at += count;
    return taken;
}

static void run_make(struct run *run, const struct training *training) {
    const mha_shape *shape = &training->shape;
    run->queries = shape->batch * shape->target_length * shape->width;
    run->sources = shape->batch * shape->source_length * shape->width;
    run->matrices = MHA_WEIGHT_COUNT * shape->width * shape->width;
    run->block = calloc(5 * run->queries + 2 * run->sources + 3 * run->matrices, sizeof(mha_real));
    if (run->block == NULL) {
        fail("not enough memory");
    }
    mha_real *at = run->block;
    run->query = take(&at, run->queries);
    run->target = take(&at, run->queries);
    run->output = take(&at, run->queries);
    run->doutput = take(&at, run->queries);
    run->dquery = take(&at, run->queries);
    run->source = take(&at, run->sources);
    run->dsource = take(&at, run->sources);
    run->weights = take(&at, run->matrices);
    run->dweights = take(&at, run->matrices);
    run->velocity = take(&at, run->matrices);
    fill(run->query, run->queries, training->seed, 1, REAL(2.0));
    fill(run->source, run->sources, training->seed, 2, REAL(2.0));
    fill(run->target, run->queries, training->seed, 3, REAL(2.0));
    fill(run->weights, run->matrices, training->seed, 4, REAL(0.25));
}

static void zero(mha_real *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = REAL(0.0);
    }
}

static void hash_tape(uint64_t *hash, const mha_tape *tape, mha_mode mode, const mha_shape *shape) {
    const size_t rows = shape->batch * shape->heads * shape->target_length;
    if (mode == MHA_MODE_STORED) {
        hash_add(hash, mha_tape_value(tape, MHA_ATTENTION_WEIGHTS),
            rows * shape->source_length * sizeof(mha_real));
    } else {
        hash_add(hash, mha_tape_value(tape, MHA_ROW_MAXIMUM), rows * sizeof(mha_real));
        hash_add(hash, mha_tape_value(tape, MHA_ROW_INVERSE_SUM), rows * sizeof(mha_real));
    }
}

/* Forward, loss, backward for everything, update. */
static mha_status step(struct bits *bits, const struct run *run, mha_layer *layer, mha_tape *tape,
    const struct training *training, mha_error *error) {
    const mha_shape *shape = &training->shape;
    const mha_weights weights = mha_weights_view(run->weights, shape->width);
    const mha_weights dweights = mha_weights_view(run->dweights, shape->width);
    mha_status status = mha_forward(run->output, tape, run->query,
        training->self ? NULL : run->source, &training->mask, &weights, layer, shape, error);
    if (status != MHA_OK) {
        return status;
    }
    zero(run->doutput, run->queries);
    zero(run->dquery, run->queries);
    zero(run->dsource, run->sources);
    zero(run->dweights, run->matrices);
    const double loss = mha_mse_loss(run->doutput, run->output, run->target, NULL,
        shape->batch * shape->target_length, shape->width);
    status = mha_backward(run->dquery, training->self ? NULL : run->dsource, &dweights,
        run->doutput, tape, layer, shape, error);
    if (status != MHA_OK) {
        return status;
    }
    const double norm = mha_gradient_norm(run->dweights, run->matrices);
    status = mha_sgd_step(run->weights, run->velocity, run->dweights, run->matrices, norm,
        &(mha_sgd_options){.learning_rate = 0.25, .momentum = 0.5, .clip = 1.0}, error);
    hash_add(&bits->results, &loss, sizeof loss);
    hash_add(&bits->results, &norm, sizeof norm);
    hash_add(&bits->results, run->output, run->queries * sizeof(mha_real));
    hash_add(&bits->results, run->dquery, run->queries * sizeof(mha_real));
    hash_add(&bits->results, run->dsource, run->sources * sizeof(mha_real));
    hash_add(&bits->results, run->dweights, run->matrices * sizeof(mha_real));
    hash_add(&bits->results, run->weights, run->matrices * sizeof(mha_real));
    return status;
}

struct bits bits_of(const struct training *training, mha_mode mode, size_t threads) {
    const uint64_t empty = UINT64_C(0xcbf29ce484222325);
    struct bits bits = {empty, empty};
    struct run run;
    run_make(&run, training);
    const mha_layer_options options = {.mode = mode, .threads = threads};
    mha_layer *layer = NULL;
    mha_tape *tape = NULL;
    mha_error error = {MHA_OK, ""};
    mha_status status = mha_layer_create(&layer, &training->shape, &options, &error);
    if (status == MHA_OK) {
        status = mha_tape_create(&tape, &training->shape, &options, &error);
    }
    for (size_t i = 0; status == MHA_OK && i < training->steps; i++) {
        status = step(&bits, &run, layer, tape, training, &error);
        if (status == MHA_OK) {
            hash_tape(&bits.saved, tape, mode, &training->shape);
        }
    }
    if (status != MHA_OK) {
        fail(error.text);
    }
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
    free(run.block);
    return bits;
}
