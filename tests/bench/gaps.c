/* Whether speed depends on values: attention whose best key leads by score gaps of 80 to 110, where
 * weights underflow, against a gap of 20; and a training step with weights of 1e-40, which are
 * subnormal, against ordinary ones. In float, one thread, in turn; the shortest of many rounds by
 * processor time, since disturbances only lengthen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mha/mha32.h>

#include "commands/bench_machine.h"
#include "commands/bench_time.h"

enum { LENGTH = 256, WIDTH = 64, COUNT = LENGTH * WIDTH, ROUNDS = 25, REPEATS = 8 };
static const double gaps[] = {20, 60, 80, 85, 87, 90, 95, 100, 103, 105, 110};
enum { GAPS = sizeof gaps / sizeof *gaps };
enum { FORWARD, BACKWARD_STORED, BACKWARD_TILED, PASSES };

static mha_error error;

static void require(mha_status status) {
    if (status != MHA_OK) {
        fprintf(stderr, "gaps: %s\n", error.text);
        exit(2);
    }
}

static mha_real *numbers(size_t count, double scale, mha_rng *rng) {
    mha_real *made = calloc(count, sizeof *made);
    if (made == NULL) {
        fprintf(stderr, "gaps: no memory for %zu numbers\n", count);
        exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        made[i] = (mha_real)(scale * mha_rng_normal(rng));
    }
    return made;
}

/* One head of 256 queries and keys. */
struct attention_case {
    mha_shape shape;
    mha_fused *fused;
    mha_fused_weights stored, tiled;
    mha_real *q, *k, *v, *context, *dcontext, *dq, *dk, *dv;
};

static void create(struct attention_case *made) {
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){0}, 1);
    made->shape = (mha_shape){1, LENGTH, LENGTH, WIDTH, 1};
    require(mha_fused_create(&made->fused, &made->shape, 1, &error));
    mha_real **const arrays[] = {&made->q, &made->k, &made->v, &made->context, &made->dcontext,
        &made->dq, &made->dk, &made->dv};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = numbers(COUNT, arrays[i] == &made->k ? 0.1 : 1.0, &rng);
    }
    made->stored.weights = numbers((size_t)LENGTH * LENGTH, 0, &rng);
    made->tiled.row_maximum = numbers(LENGTH, 0, &rng);
    made->tiled.row_inverse_sum = numbers(LENGTH, 0, &rng);
}

static void destroy(struct attention_case *made) {
    mha_fused_destroy(made->fused);
    mha_real *const arrays[] = {made->q, made->k, made->v, made->context, made->dcontext, made->dq,
        made->dk, made->dv, made->stored.weights, made->tiled.row_maximum,
        made->tiled.row_inverse_sum};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

/* Key 0 leads every other by about the gap: its score is q[0] k[0] / sqrt(d) = gap, theirs are small
 * since the keys are. */
static void set_gap(struct attention_case *made, double gap) {
    for (size_t row = 0; row < LENGTH; row++) {
        made->q[row * WIDTH] = 8.0F; /* sqrt(d) */
        made->k[row * WIDTH] = row == 0 ? (mha_real)gap : 0.0F;
    }
}

static double pass_seconds(struct attention_case *made, int pass) {
    const mha_fused_weights *saved = pass == BACKWARD_TILED ? &made->tiled : &made->stored;
    mha_fused_forward(
        made->context, saved, made->q, made->k, made->v, NULL, &made->shape, made->fused);
    const double begin = processor_seconds();
    for (int i = 0; i < REPEATS; i++) {
        if (pass == FORWARD) {
            mha_fused_forward(
                made->context, saved, made->q, made->k, made->v, NULL, &made->shape, made->fused);
        } else {
            mha_fused_backward(made->dq, made->dk, made->dv, made->dcontext, made->context, saved,
                made->q, made->k, made->v, NULL, &made->shape, made->fused);
        }
    }
    return (processor_seconds() - begin) / REPEATS;
}

static void measure_gaps(void) {
    double seconds[PASSES][GAPS];
    struct attention_case made = {0};
    create(&made);
    for (int round = 0; round < ROUNDS; round++) {
        for (int g = 0; g < GAPS; g++) {
            set_gap(&made, gaps[g]);
            for (int pass = 0; pass < PASSES; pass++) {
                const double taken = pass_seconds(&made, pass);
                seconds[pass][g] = round == 0 ? taken : fmin(seconds[pass][g], taken);
            }
        }
    }
    destroy(&made);
    printf(
        "attention, T = S = %d, d = %d: time relative to a score gap of %.0f\n%4s %10s %16s %15s\n",
        (int)LENGTH, (int)WIDTH, gaps[0], "gap", "forward", "backward stored", "backward tiled");
    double worst = 0.0;
    for (int g = 0; g < GAPS; g++) {
        double ratio[PASSES];
        for (int pass = 0; pass < PASSES; pass++) {
            ratio[pass] = seconds[pass][g] / seconds[pass][0];
            worst = fmax(worst, ratio[pass]);
        }
        printf("%4.0f %10.2f %16.2f %15.2f\n", gaps[g], ratio[FORWARD], ratio[BACKWARD_STORED],
            ratio[BACKWARD_TILED]);
    }
    printf("largest ratio: %.2f\n\n", worst);
}

/* A layer and its step with a learning rate of 0, so that the weights stay what they are. */
struct step_case {
    mha_shape shape;
    mha_layer *layer;
    mha_tape *tape;
    mha_real *query, *target, *output, *doutput, *weights, *gradients, *velocity;
};

static double step_seconds(struct step_case *made) {
    static const mha_sgd_options sgd = {.learning_rate = 0.0};
    const size_t rows = made->shape.batch * made->shape.target_length, width = made->shape.width;
    const size_t count = MHA_WEIGHT_COUNT * width * width;
    const mha_weights weights = mha_weights_view(made->weights, width);
    const mha_weights gradients = mha_weights_view(made->gradients, width);
    const double begin = processor_seconds();
    for (int i = 0; i < REPEATS; i++) {
        require(mha_forward(made->output, made->tape, made->query, NULL, NULL, &weights,
            made->layer, &made->shape, &error));
        memset(made->doutput, 0, rows * width * sizeof *made->doutput);
        memset(made->gradients, 0, count * sizeof *made->gradients);
        mha_mse_loss(made->doutput, made->output, made->target, NULL, rows, width);
        require(mha_backward(
            NULL, NULL, &gradients, made->doutput, made->tape, made->layer, &made->shape, &error));
        require(mha_sgd_step(made->weights, made->velocity, made->gradients, count,
            mha_gradient_norm(made->gradients, count), &sgd, &error));
    }
    return (processor_seconds() - begin) / REPEATS;
}

static void measure_small_weights(void) {
    struct step_case made = {.shape = {8, 64, 64, 128, 8}};
    const mha_layer_options options = {.threads = 1};
    const size_t outputs = 8 * 64 * 128, count = MHA_WEIGHT_COUNT * 128 * 128;
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){1}, 1);
    require(mha_layer_create(&made.layer, &made.shape, &options, &error));
    require(mha_tape_create(&made.tape, &made.shape, &options, &error));
    made.query = numbers(outputs, 1, &rng);
    made.target = numbers(outputs, 1, &rng);
    made.output = numbers(outputs, 0, &rng);
    made.doutput = numbers(outputs, 0, &rng);
    made.gradients = numbers(count, 0, &rng);
    made.velocity = numbers(count, 0, &rng);
    mha_real *ordinary = numbers(count, 1 / sqrt(128.0), &rng);
    mha_real *small = numbers(count, 1e-40, &rng);
    double base = (double)INFINITY, taken = (double)INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        made.weights = ordinary;
        base = fmin(base, step_seconds(&made));
        made.weights = small;
        taken = fmin(taken, step_seconds(&made));
    }
    printf("training step at 8,64,64,128,8: weights of 1e-40 take %.2f times as long as ordinary "
           "ones\n",
        taken / base);
    mha_layer_destroy(made.layer);
    mha_tape_destroy(made.tape);
    mha_real *const arrays[] = {made.query, made.target, made.output, made.doutput, made.gradients,
        made.velocity, ordinary, small};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
}

int main(void) {
    char processor[PROCESSOR_NAME_SIZE];
    const char *isa;
    require(mha_isa(&isa, &error));
    processor_name(processor);
    printf("speed by values; processor: %s, instruction set %s\n\n", processor, isa);
    measure_gaps();
    measure_small_weights();
    return 0;
}
