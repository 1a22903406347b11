/* Short trainings from numbers that no C library computes, and hashes of every bit of them. */
#ifndef TESTS_BITS_H
#define TESTS_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/shape.h>

/* One training: a shape, a mask, and whether the source is the query. */
struct training {
    mha_shape shape;
    mha_mask mask; /* its arrays belong to the training */
    bool self;
    size_t steps;
    uint64_t seed;
};

/* Training number i; the larger ones go parallel, some rows are longer than others' whole arrays. */
void training_make(struct training *training, size_t i);
void training_free(struct training *training);

/* What one run of it gave. */
struct bits {
    uint64_t results; /* outputs, losses, gradients and weights of every step */
    uint64_t saved;   /* what the tape kept of the attention weights, which depends on the mode */
};

/* Ends the program with a message where the library refuses. */
struct bits mha_f32_bits_of(const struct training *training, mha_mode mode, size_t threads);
struct bits mha_f64_bits_of(const struct training *training, mha_mode mode, size_t threads);

/* The n-th of a stream of random integers. */
uint64_t bits_random(uint64_t seed, uint64_t n);

#endif
