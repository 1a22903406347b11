/* Which trainings there are. */
#include "bits.h"

#include <stdlib.h>

/* Finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * 2014). */
uint64_t bits_random(uint64_t seed, uint64_t n) {
    uint64_t z = (seed << 32) + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

enum { EDGES = 24, FIXED = 10, LARGE_EVERY = 12 };

/* Around the edges of register tiles, panels and lanes. */
static const size_t lengths[EDGES] = {
    1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 64, 65};
static const size_t head_widths[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 64};

/* The examples of the lessons, and what random choice would rarely hit. */
static const mha_shape fixed[FIXED] = {{2, 4, 6, 8, 2}, {1, 6, 6, 64, 4}, {1, 1, 2500, 16, 2},
    {1, 3, 1100, 64, 1}, {1, 200, 5, 128, 1}, {5, 64, 64, 32, 4}, {1, 130, 150, 128, 2},
    {2, 97, 97, 64, 4}, {3, 150, 131, 96, 4}, {2, 260, 260, 128, 4}};

/* Worth several threads in every part, with odd edges. */
static const mha_shape large[] = {{3, 97, 193, 130, 2}, {7, 65, 65, 96, 3}, {1, 513, 47, 128, 2},
    {1, 47, 1030, 96, 4}, {12, 49, 33, 160, 5}, {2, 129, 1100, 48, 3}, {4, 120, 121, 144, 6}};

#define PICK(table, n) ((table)[(n) % (sizeof(table) / sizeof *(table))])

static unsigned char *random_bytes(const struct training *training, size_t count) {
    unsigned char *bytes = malloc(count);
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        bytes[i] = bits_random(training->seed, 1000000 + i) % 4 != 0;
    }
    return bytes;
}

/* Rows without a key are among them, by lengths of 0 and by chance. */
static void choose_mask(struct training *training, uint64_t choice) {
    const mha_shape *shape = &training->shape;
    mha_mask *mask = &training->mask;
    if (choice % 3 == 0) {
        const bool square = shape->target_length == shape->source_length;
        mask->causal = square                ? MHA_CAUSAL_SQUARE
                       : choice / 3 % 2 == 0 ? MHA_CAUSAL_TOP_LEFT
                                             : MHA_CAUSAL_BOTTOM_RIGHT;
    }
    if (choice / 6 % 3 == 0) {
        int64_t *limits = malloc(shape->batch * sizeof *limits);
        for (size_t b = 0; limits != NULL && b < shape->batch; b++) {
            limits[b] =
                (int64_t)(bits_random(training->seed, 500 + b) % (shape->source_length + 1));
        }
        mask->lengths = limits;
    }
    if (choice / 18 % 4 == 0) {
        mask->rank = 2;
        mask->dims[0] = shape->target_length;
        mask->dims[1] = shape->source_length;
        mask->allowed = random_bytes(training, shape->target_length * shape->source_length);
    } else if (choice / 18 % 4 == 1) {
        mask->rank = 4;
        mask->dims[0] = shape->batch;
        mask->dims[1] = choice / 72 % 2 == 0 ? 1 : shape->heads;
        mask->dims[2] = choice / 144 % 2 == 0 ? 1 : shape->target_length;
        mask->dims[3] = shape->source_length;
        mask->allowed =
            random_bytes(training, mask->dims[0] * mask->dims[1] * mask->dims[2] * mask->dims[3]);
    }
}

void training_make(struct training *training, size_t i) {
    const uint64_t seed = 40 + i;
    *training = (struct training){.seed = seed, .steps = 2};
    const uint64_t choice = bits_random(seed, 0);
    if (i < FIXED) {
        training->shape = fixed[i];
    } else if (i >= 2 * LARGE_EVERY && i % LARGE_EVERY == 0) {
        training->shape = PICK(large, i / LARGE_EVERY);
        training->steps = 1;
    } else {
        const size_t heads = 1 + choice % 4;
        training->shape = (mha_shape){1 + choice / 4 % 3, PICK(lengths, choice / 12),
            PICK(lengths, choice / 500), heads * PICK(head_widths, choice / 20000), heads};
    }
    const mha_shape *shape = &training->shape;
    training->self = shape->target_length == shape->source_length && choice / 1000000 % 3 != 0;
    choose_mask(training, i < FIXED ? (uint64_t)i * 7 + 1 : bits_random(seed, 1) >> 8);
}

void training_free(struct training *training) {
    free((void *)(uintptr_t)training->mask.lengths);
    free((void *)(uintptr_t)training->mask.allowed);
}
