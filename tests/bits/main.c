/* bits COUNT THREADS...: runs the first COUNT trainings in both precisions and modes, with each number
 * of threads, and prints a line for each: what was computed, and what the tapes kept. Lines of builds
 * and processors that must agree are compared by the caller.
 * Exit status 1 when threads or modes differ among themselves; 3, with nothing done, when the
 * processor lacks what MHA_ISA names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bits.h"

static const struct {
    const char *name;
    struct bits (*run)(const struct training *training, mha_mode mode, size_t threads);
} precisions[] = {{"f32", mha_f32_bits_of}, {"f64", mha_f64_bits_of}};

/* The bits of one mode, which are those of every number of threads. */
static struct bits of_all_threads(size_t precision, const struct training *training, mha_mode mode,
    int count, char **threads, int *status) {
    struct bits first = {0, 0};
    for (int i = 0; i < count; i++) {
        const size_t number = strtoul(threads[i], NULL, 10);
        const struct bits bits = precisions[precision].run(training, mode, number);
        if (i == 0) {
            first = bits;
        } else if (bits.results != first.results || bits.saved != first.saved) {
            fprintf(stderr, "bits: %s training %" PRIu64 ", mode %d: %s threads differ from %s\n",
                precisions[precision].name, training->seed, (int)mode, threads[i], threads[0]);
            *status = 1;
        }
    }
    return first;
}

static void print_training(
    size_t precision, const struct training *training, int count, char **threads, int *status) {
    const mha_shape *shape = &training->shape;
    const struct bits stored =
        of_all_threads(precision, training, MHA_MODE_STORED, count, threads, status);
    const struct bits tiled =
        of_all_threads(precision, training, MHA_MODE_TILED, count, threads, status);
    if (stored.results != tiled.results) {
        fprintf(stderr, "bits: %s training %" PRIu64 ": stored and tiled differ\n",
            precisions[precision].name, training->seed);
        *status = 1;
    }
    printf("%s %zu,%zu,%zu,%zu,%zu self %d causal %d lengths %d rank %zu: %016" PRIx64
           " %016" PRIx64 " %016" PRIx64 "\n",
        precisions[precision].name, shape->batch, shape->target_length, shape->source_length,
        shape->width, shape->heads, training->self, (int)training->mask.causal,
        training->mask.lengths != NULL, training->mask.rank, stored.results, stored.saved,
        tiled.saved);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bits COUNT THREADS...\n");
        return 2;
    }
    const char *isa;
    mha_error error;
    if (mha_isa(&isa, &error) != MHA_OK) {
        fprintf(stderr, "bits: %s\n", error.text);
        return 3;
    }
    int status = 0;
    const size_t count = strtoul(argv[1], NULL, 10);
    for (size_t i = 0; i < count; i++) {
        struct training training;
        training_make(&training, i);
        for (size_t precision = 0; precision < 2; precision++) {
            print_training(precision, &training, argc - 2, argv + 2, &status);
        }
        training_free(&training);
    }
    return status;
}
