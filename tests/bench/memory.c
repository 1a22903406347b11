/* The memory that one training step needs, all of the program included.
 *
 *   memory B,T,S,D,h[,causal] [stored|tiled]
 *
 * prints the peak resident memory of this process after one step (tiled by default): forward, mean
 * squared error, gradients of the four weights and the SGD update, in float. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <mha/mha32.h>

#include "commands/bench_machine.h"
#include "commands/bench_shape.h"
#include "commands/bench_time.h"

static mha_error error;

static void require(mha_status status) {
    if (status != MHA_OK) {
        fprintf(stderr, "memory: %s\n", error.text);
        exit(2);
    }
}

/* Megabytes; Linux counts in kilobytes of 1024. */
static double peak_megabytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1e-6 * 1024.0 * (double)usage.ru_maxrss;
}

static mha_real *numbers(size_t count, double scale, mha_rng *rng) {
    mha_real *made = calloc(count, sizeof *made);
    if (made == NULL) {
        fprintf(stderr, "memory: no memory for %zu numbers\n", count);
        exit(2);
    }
    for (size_t i = 0; scale > 0 && i < count; i++) {
        made[i] = (mha_real)(scale * mha_rng_normal(rng));
    }
    return made;
}

/* The process ends with what it allocates. */
static void run_step(const struct bench_shape *shape, const mha_layer_options *options) {
    const mha_shape *sizes = &shape->sizes;
    const mha_mask mask = {.causal = MHA_CAUSAL_SQUARE};
    const mha_sgd_options sgd = {.learning_rate = 1e-3};
    const size_t rows = sizes->batch * sizes->target_length, width = sizes->width;
    const size_t count = MHA_WEIGHT_COUNT * width * width;
    mha_layer *layer;
    mha_tape *tape;
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){0}, 1);
    require(mha_layer_create(&layer, sizes, options, &error));
    require(mha_tape_create(&tape, sizes, options, &error));
    mha_real *query = numbers(rows * width, 1, &rng), *target = numbers(rows * width, 1, &rng);
    mha_real *source = sizes->target_length == sizes->source_length
                           ? NULL
                           : numbers(sizes->batch * sizes->source_length * width, 1, &rng);
    mha_real *output = numbers(rows * width, 0, &rng), *doutput = numbers(rows * width, 0, &rng);
    mha_real *block = numbers(count, 0, &rng), *dblock = numbers(count, 0, &rng);
    mha_real *velocity = numbers(count, 0, &rng);
    const mha_weights weights = mha_weights_view(block, width);
    const mha_weights gradients = mha_weights_view(dblock, width);
    mha_weights_draw(&weights, &rng, width);
    require(mha_forward(
        output, tape, query, source, shape->causal ? &mask : NULL, &weights, layer, sizes, &error));
    mha_mse_loss(doutput, output, target, NULL, rows, width);
    require(mha_backward(NULL, NULL, &gradients, doutput, tape, layer, sizes, &error));
    require(mha_sgd_step(
        block, velocity, dblock, count, mha_gradient_norm(dblock, count), &sgd, &error));
}

int main(int argc, char **argv) {
    struct bench_shape shape;
    mha_layer_options options = {0};
    char processor[PROCESSOR_NAME_SIZE];
    const bool stored = argc == 3 && strcmp(argv[2], "stored") == 0;
    if (argc < 2 || argc > 3 || (argc == 3 && !stored && strcmp(argv[2], "tiled") != 0)) {
        fputs("memory: usage: memory B,T,S,D,h[,causal] [stored|tiled]\n", stderr);
        return 2;
    }
    options.mode = stored ? MHA_MODE_STORED : MHA_MODE_TILED;
    require(bench_shape_parse(&shape, argv[1], &error));
    size_t tape_bytes, stored_bytes;
    require(mha_tape_bytes(&tape_bytes, &shape.sizes, &options, &error));
    require(mha_tape_bytes(
        &stored_bytes, &shape.sizes, &(mha_layer_options){.mode = MHA_MODE_STORED}, &error));
    processor_name(processor);
    const double before = peak_megabytes(), begin = clock_seconds();
    run_step(&shape, &options);
    printf("peak memory of one %s step at %s: %.0f MB, of which %.0f MB before it; %.1f s on %s\n"
           "its tape: %.1f MB (stored: %.1f MB)\n",
        stored ? "stored" : "tiled", argv[1], peak_megabytes(), before, clock_seconds() - begin,
        processor, 1e-6 * (double)tape_bytes, 1e-6 * (double)stored_bytes);
    return 0;
}
