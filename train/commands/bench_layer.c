#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench_arrays.h"
#include "bench_run.h"
#include "bench_time.h"

/* A layer in training. */
struct layer_case {
    mha_shape shape;
    mha_mask mask;
    mha_layer_options options;
    mha_layer *layer;
    mha_tape *tape;
    void *block;
    mha_real *query, *source, *target;        /* (B,T,D), (B,S,D) or NULL, (B,T,D) */
    mha_real *output, *doutput;               /* (B,T,D) */
    mha_real *weights, *gradients, *velocity; /* (4,D,D) */
    size_t outputs, weight_count;
    mha_status status; /* of the first pass that failed */
    mha_error error;
};

static void note(struct layer_case *made, mha_status status) {
    made->status = made->status == MHA_OK ? status : made->status;
}

static mha_status create_arrays(struct layer_case *made, mha_error *error) {
    const mha_shape *shape = &made->shape;
    const bool cross = shape->target_length != shape->source_length;
    made->outputs = mha_value_count(MHA_OUTPUT, shape);
    made->weight_count = MHA_WEIGHT_COUNT * mha_value_count(MHA_WQ, shape);
    const struct bench_array arrays[] = {
        {&made->query, made->outputs, true},
        {&made->source, cross ? mha_value_count(MHA_SOURCE, shape) : 0, true},
        {&made->target, made->outputs, true},
        {&made->output, made->outputs, false},
        {&made->doutput, made->outputs, false},
        {&made->weights, made->weight_count, false},
        {&made->gradients, made->weight_count, false},
        {&made->velocity, made->weight_count, false},
    };
    size_t tape_bytes;
    mha_status status = mha_tape_bytes(&tape_bytes, shape, &made->options, error);
    return status != MHA_OK ? status
                            : bench_arrays_create(&made->block, arrays,
                                  sizeof arrays / sizeof *arrays, tape_bytes, error);
}

static mha_status create(struct layer_case *made, const struct bench_plan *plan, mha_error *error) {
    *made = (struct layer_case){.shape = plan->shape.sizes,
        .mask = {.causal = plan->shape.causal ? MHA_CAUSAL_SQUARE : MHA_CAUSAL_OFF},
        .options = {.mode = plan->mode, .threads = plan->threads}};
    mha_status status = create_arrays(made, error);
    if (status == MHA_OK) {
        status = mha_layer_create(&made->layer, &made->shape, &made->options, error);
    }
    if (status == MHA_OK) {
        status = mha_tape_create(&made->tape, &made->shape, &made->options, error);
    }
    if (status == MHA_OK) {
        mha_rng rng;
        mha_rng_seed(&rng, &(uint64_t){0}, 1);
        const mha_weights weights = mha_weights_view(made->weights, made->shape.width);
        mha_weights_draw(&weights, &rng, made->shape.width);
    }
    return status;
}

static void destroy(struct layer_case *made) {
    mha_tape_destroy(made->tape);
    mha_layer_destroy(made->layer);
    free(made->block);
}

static void forward_pass(void *context) {
    struct layer_case *made = context;
    const mha_weights weights = mha_weights_view(made->weights, made->shape.width);
    const bool masked = made->mask.causal != MHA_CAUSAL_OFF;
    note(made, mha_forward(made->output, made->tape, made->query, made->source,
                   masked ? &made->mask : NULL, &weights, made->layer, &made->shape, &made->error));
}

static void training_step(void *context) {
    static const mha_sgd_options sgd = {.learning_rate = 1e-3};
    struct layer_case *made = context;
    const mha_shape *shape = &made->shape;
    const mha_weights gradients = mha_weights_view(made->gradients, shape->width);
    forward_pass(made);
    memset(made->doutput, 0, made->outputs * sizeof *made->doutput);
    memset(made->gradients, 0, made->weight_count * sizeof *made->gradients);
    mha_mse_loss(made->doutput, made->output, made->target, NULL,
        shape->batch * shape->target_length, shape->width);
    note(made, mha_backward(NULL, NULL, &gradients, made->doutput, made->tape, made->layer, shape,
                   &made->error));
    const double norm = mha_gradient_norm(made->gradients, made->weight_count);
    note(made, mha_sgd_step(made->weights, made->velocity, made->gradients, made->weight_count,
                   norm, &sgd, &made->error));
}

mha_status bench_layer(
    double *forward, double *step, const struct bench_plan *plan, mha_error *error) {
    struct layer_case made;
    mha_status status = create(&made, plan, error);
    if (status == MHA_OK) {
        *forward = median_seconds(forward_pass, &made);
        *step = median_seconds(training_step, &made);
        status = made.status;
        if (status != MHA_OK) {
            mha_fail(error, status, "%s", made.error.text);
        }
    }
    destroy(&made);
    return status;
}
