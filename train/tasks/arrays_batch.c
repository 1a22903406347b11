#include "arrays_batch.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* An explicit mask as (N,h,T,S), any of which may be 1. In a batch it is always of rank 4: one of rank
 * 3 would be ambiguous where there are as many samples as heads. */
struct mask_axes {
    size_t dims[4];
    size_t sample; /* bytes of one example's mask */
};

static struct mask_axes mask_axes_of(const mha_mask *mask) {
    const size_t *dims = mask->dims;
    struct mask_axes axes = {{1, 1, 1, 1}, 1};
    axes.dims[0] = mask->rank == 2 ? 1 : dims[0];
    axes.dims[1] = mask->rank == 4 ? dims[1] : 1;
    axes.dims[2] = dims[mask->rank - 2];
    axes.dims[3] = dims[mask->rank - 1];
    axes.sample = axes.dims[1] * axes.dims[2] * axes.dims[3];
    return axes;
}

/* Whether each example has a mask of its own; else all share one, or there is none. */
static bool mask_by_example(const mha_mask *mask) {
    return mask->allowed != NULL && mask_axes_of(mask).dims[0] > 1;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

mha_status gathered_create(struct gathered *gathered, const struct examples *first,
    const struct examples *second, size_t batch, mha_error *error) {
    *gathered = (struct gathered){.allowed = NULL};
    const struct examples *const sets[] = {first, second};
    size_t allowed = 0, lengths = 0, counted = 0; /* bytes of a sample */
    for (size_t i = 0; i < 2 && sets[i] != NULL; i++) {
        const mha_mask *mask = &sets[i]->mask.mask;
        allowed = larger(allowed, mask_by_example(mask) ? mask_axes_of(mask).sample : 0);
        lengths = larger(lengths, mask->lengths != NULL ? sizeof *gathered->lengths : 0);
        counted = larger(counted, sets[i]->counted != NULL ? sets[i]->shape.target_length : 0);
    }
    gathered->allowed = allowed > 0 ? allocate_zeroed(batch, allowed) : NULL;
    gathered->lengths = lengths > 0 ? allocate_zeroed(batch, lengths) : NULL;
    gathered->counted = counted > 0 ? allocate_zeroed(batch, counted) : NULL;
    if ((allowed > 0 && gathered->allowed == NULL) || (lengths > 0 && gathered->lengths == NULL) ||
        (counted > 0 && gathered->counted == NULL)) {
        gathered_free(gathered);
        return no_memory(error);
    }
    return MHA_OK;
}

void gathered_free(struct gathered *gathered) {
    free(gathered->allowed);
    free(gathered->lengths);
    free(gathered->counted);
    *gathered = (struct gathered){.allowed = NULL};
}

void gather_begin(struct task_batch *batch, const struct gathered *gathered,
    const struct examples *examples, size_t count) {
    const mha_mask *mask = &examples->mask.mask;
    batch->mask = (mha_mask){
        .causal = mask->causal, .lengths = mask->lengths != NULL ? gathered->lengths : NULL};
    if (mask->allowed != NULL) {
        const struct mask_axes axes = mask_axes_of(mask);
        const bool by_example = mask_by_example(mask);
        batch->mask.allowed = by_example ? gathered->allowed : mask->allowed;
        batch->mask.rank = 4;
        memcpy(batch->mask.dims, axes.dims, sizeof axes.dims);
        batch->mask.dims[0] = by_example ? count : 1;
    }
    batch->counted = examples->counted != NULL ? gathered->counted : NULL;
}

void gather_example(struct task_batch *batch, const struct gathered *gathered,
    const struct examples *examples, size_t b, size_t n) {
    const mha_shape *shape = &examples->shape;
    const mha_mask *mask = &examples->mask.mask;
    const size_t T = shape->target_length, query = T * shape->width;
    const size_t source = shape->source_length * shape->width;
    memcpy(batch->query + b * query, examples->query + n * query, query * sizeof *batch->query);
    if (examples->cross) {
        memcpy(batch->source + b * source,
            examples->context + (examples->one_context ? 0 : n) * source,
            source * sizeof *batch->source);
    }
    if (examples->loss == TASK_CROSS_ENTROPY) {
        memcpy(batch->labels + b * T, examples->labels + n * T, T * sizeof *batch->labels);
    } else {
        memcpy(
            batch->target + b * query, examples->target + n * query, query * sizeof *batch->target);
        if (examples->counted != NULL) {
            memcpy(gathered->counted + b * T, examples->counted + n * T, T);
        }
    }
    if (mask->lengths != NULL) {
        gathered->lengths[b] = mask->lengths[n];
    }
    if (mask_by_example(mask)) {
        const size_t bytes = mask_axes_of(mask).sample;
        memcpy(gathered->allowed + b * bytes, mask->allowed + n * bytes, bytes);
    }
}
