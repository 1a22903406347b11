#include "fused/fused.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/threads.h"

enum {
    GROUP_KEYS = 1024, /* keys of a group of backward, */
    MOST_GROUPS = 4    /* unless there would be more groups than this */
};

/* What makes it worth to wake a thread and to wait for it: some 50 microseconds of work. On a machine that is
 * busy with other things, a thread that waits for one which has no processor loses far more than the
 * work of a small product. */
#define OPERATIONS_OF_A_THREAD 4e6

size_t fused_key_groups(size_t source_length) {
    const size_t groups = (source_length + GROUP_KEYS - 1) / GROUP_KEYS;
    return groups < 1 ? 1 : groups < MOST_GROUPS ? groups : MOST_GROUPS;
}

size_t fused_threads(const mha_fused *fused, double operations) {
    if (fused->threads < 2 || operations < 2 * OPERATIONS_OF_A_THREAD) {
        return 1;
    }
    const double worth = operations / OPERATIONS_OF_A_THREAD;
    return worth < (double)fused->threads ? (size_t)worth : fused->threads;
}

/* The numbers of one part of the block, whole cache lines. */
static bool add_part(size_t *total, size_t count) {
    size_t bytes;
    if (!size_multiply(&bytes, count, sizeof(mha_real)) || bytes > PTRDIFF_MAX - MEMORY_ALIGNMENT) {
        return false;
    }
    return size_add(total, *total, memory_round_up(bytes) / sizeof(mha_real));
}

/* The scratch of one thread, in whole cache lines. */
static bool scratch_numbers(size_t *numbers, const mha_shape *shape) {
    const size_t d = mha_head_width(shape), S = shape->source_length, T = shape->target_length;
    /* (longest + 256) (ATTEND_ROWS + 4 padded) is more than either pass needs. */
    size_t most, bytes;
    if (!size_add(&most, S > T ? S : T, 256) ||
        !size_multiply(&most, most, ATTEND_ROWS + 4 * attend_padded_width(d)) ||
        !size_multiply(&bytes, most, sizeof(mha_real)) || bytes > PTRDIFF_MAX) {
        return false;
    }
    const size_t forward = attend_forward_scratch(S, d), backward = attend_backward_scratch(T, d);
    const size_t rows = S > T ? S : T;
    /* Of a chunk at most, which a batch of one with long rows fills as well as a large batch. */
    const size_t products =
        product_scratch(shape->width, rows * size_least(shape->batch, PRODUCT_CHUNK));
    const size_t most_of_pass = forward > backward ? forward : backward;
    const size_t larger = most_of_pass > products ? most_of_pass : products;
    *numbers = memory_round_up(larger * sizeof(mha_real) + MEMORY_ALIGNMENT) / sizeof(mha_real);
    return true;
}

static bool layout(size_t parts[3], size_t *total, const mha_fused *fused) {
    const mha_shape *const shape = &fused->largest;
    const size_t partials = fused_key_groups(shape->source_length) - 1;
    *total = 0;
    parts[0] = 0;
    if (!add_part(total, shape->width * shape->width)) {
        return false;
    }
    parts[1] = *total;
    size_t count;
    if (!size_multiply(&count, partials, shape->batch * shape->target_length * shape->width) ||
        !add_part(total, count)) {
        return false;
    }
    parts[2] = *total;
    return size_multiply(&count, fused->threads, fused->scratch_each) && add_part(total, count);
}

static mha_status allocate(mha_fused *fused, mha_error *error) {
    size_t parts[3], total, bytes;
    if (!scratch_numbers(&fused->scratch_each, &fused->largest) || !layout(parts, &total, fused) ||
        !size_multiply(&bytes, total, sizeof(mha_real))) {
        return mha_fail(error, MHA_ERROR_SIZE,
            "the scratch memory of %zu threads would exceed the address space", fused->threads);
    }
    fused->block = memory_allocate(bytes);
    if (fused->block == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY,
            "no memory for the %zu bytes of scratch of %zu threads", bytes, fused->threads);
    }
    fused->transposed = fused->block + parts[0];
    fused->partial_queries = fused->block + parts[1];
    fused->scratch = fused->block + parts[2];
    return MHA_OK;
}

mha_status mha_fused_create(
    mha_fused **fused, const mha_shape *largest, size_t threads, mha_error *error) {
    *fused = NULL;
    const char *name;
    mha_status status = mha_shape_check(largest, error);
    if (status == MHA_OK) {
        status = mha_isa(&name, error);
    }
    if (status != MHA_OK) {
        return status;
    }
    mha_fused *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return mha_fail(error, MHA_ERROR_MEMORY, "no memory for a workspace");
    }
    made->largest = *largest;
    made->kernels = kernels_for(largest->width);
    made->threads = threads == 0 ? mha_default_threads() : threads_usable(threads);
    status = allocate(made, error);
    if (status != MHA_OK) {
        free(made);
        return status;
    }
    *fused = made;
    return MHA_OK;
}

void mha_fused_destroy(mha_fused *fused) {
    if (fused != NULL) {
        free(fused->block);
        free(fused);
    }
}

mha_real mha_fma_burst(double *operations, size_t rounds) {
    return kernels_get()->fma_burst(operations, rounds);
}
