#include "checks/case.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void *case_array(struct check_case *made, size_t count, size_t size) {
    void *array = made->array_count < CASE_ARRAYS ? allocate_zeroed(count, size) : NULL;
    if (array == NULL) {
        made->out_of_memory = true;
        return NULL;
    }
    made->arrays[made->array_count++] = array;
    return array;
}

double *case_normal(struct check_case *made, size_t count) {
    double *array = case_array(made, count, sizeof *array);
    for (size_t i = 0; array != NULL && i < count; i++) {
        array[i] = mha_rng_normal(&made->rng);
    }
    return array;
}

mha_gradcheck_block *case_block(struct check_case *made, mha_value value, bool zero_expected) {
    const mha_value_shape shape = mha_value_shape_of(value, &made->shape);
    made->block_value[made->subject.block_count] = value;
    mha_gradcheck_block *block = &made->blocks[made->subject.block_count++];
    *block = (mha_gradcheck_block){
        .name = shape.name, .rank = shape.rank, .zero_expected = zero_expected};
    memcpy(block->dims, shape.dims, sizeof block->dims);
    block->values = case_normal(made, shape.count);
    block->gradient = case_array(made, shape.count, sizeof *block->gradient);
    return block;
}

double *case_output(struct check_case *made, mha_value value) {
    const mha_value_shape shape = mha_value_shape_of(value, &made->shape);
    double *values = case_array(made, shape.count, sizeof *values);
    made->output = (mha_gradcheck_output){.name = shape.name,
        .values = values,
        .gradient = case_array(made, shape.count, sizeof(double)),
        .count = shape.count};
    return values;
}

static const char *const mask_kind_names[MASK_KIND_COUNT] = {
    [MASK_NONE] = "no mask",
    [MASK_TOP_LEFT] = "causal top-left",
    [MASK_BOTTOM_RIGHT] = "causal bottom-right",
    [MASK_LENGTHS] = "lengths",
    [MASK_EXPLICIT] = "explicit",
    [MASK_COMBINED] = "combined",
};

const char *mask_kind_name(enum mask_kind kind) {
    return mask_kind_names[kind];
}

static void make_lengths(struct check_case *made) {
    const int64_t S = (int64_t)made->shape.source_length;
    const int64_t in_turn[] = {S > 1 ? S - 1 : S, S, 0};
    int64_t *lengths = case_array(made, made->shape.batch, sizeof *lengths);
    for (size_t b = 0; lengths != NULL && b < made->shape.batch; b++) {
        lengths[b] = in_turn[b % 3];
    }
    made->mask_storage.lengths = lengths;
}

/* Two of three pairs at random; the last query of the first sample sees nothing, and nobody sees
 * the first key of the last sample, where there are others. */
static void make_explicit(struct check_case *made) {
    const size_t B = made->shape.batch, h = made->shape.heads;
    const size_t T = made->shape.target_length, S = made->shape.source_length;
    unsigned char *allowed = case_array(made, B * h * T * S, sizeof *allowed);
    for (size_t i = 0; allowed != NULL && i < B * h * T * S; i++) {
        const size_t s = i % S, t = i / S % T, b = i / S / T / h;
        const bool blind_query = b == 0 && T > 1 && t == T - 1;
        const bool hidden_key = b == B - 1 && S > 1 && s == 0;
        const bool drawn = mha_rng_integers(&made->rng, 3) > 0;
        allowed[i] = drawn && !blind_query && !hidden_key;
    }
    made->mask_storage.allowed = allowed;
    made->mask_storage.rank = 4;
    const size_t dims[] = {B, h, T, S};
    memcpy(made->mask_storage.dims, dims, sizeof dims);
}

static void make_mask(struct check_case *made, enum mask_kind kind) {
    if (kind == MASK_TOP_LEFT) {
        made->mask_storage.causal = MHA_CAUSAL_TOP_LEFT;
    }
    if (kind == MASK_BOTTOM_RIGHT || kind == MASK_COMBINED) {
        made->mask_storage.causal = MHA_CAUSAL_BOTTOM_RIGHT;
    }
    if (kind == MASK_LENGTHS || kind == MASK_COMBINED) {
        make_lengths(made);
    }
    if (kind == MASK_EXPLICIT || kind == MASK_COMBINED) {
        make_explicit(made);
    }
    made->mask = kind == MASK_NONE ? NULL : &made->mask_storage;
}

static size_t count_most_visible(const struct check_case *made) {
    size_t most = 0;
    const mha_shape *shape = &made->shape;
    for (size_t row = 0; row < shape->batch * shape->heads * shape->target_length; row++) {
        const size_t t = row % shape->target_length, bh = row / shape->target_length;
        const mha_mask_row at =
            mha_mask_row_at(made->mask, shape, bh / shape->heads, bh % shape->heads, t);
        size_t visible = 0;
        for (size_t s = 0; s < shape->source_length; s++) {
            visible += mha_mask_row_allows(&at, s) ? 1 : 0;
        }
        most = visible > most ? visible : most;
    }
    return most;
}

void case_take_mask(struct check_case *made, const mha_mask *mask) {
    made->mask = mask;
    made->most_visible = count_most_visible(made);
}

mha_status case_begin(struct check_case *made, const struct check_plan *plan, mha_error *error) {
    memset(made, 0, sizeof *made);
    const mha_status status = mha_shape_check(&plan->shape, error);
    if (status != MHA_OK) {
        return status;
    }
    made->shape = plan->shape;
    const uint64_t entropy[] = {plan->seed, 6, 1};
    mha_rng_seed(&made->rng, entropy, 3);
    make_mask(made, plan->mask);
    if (made->out_of_memory) {
        check_case_destroy(made);
        return no_memory(error);
    }
    case_take_mask(made, made->mask);
    return MHA_OK;
}

mha_status case_end(
    struct check_case *made, bool (*forward)(void *), bool (*backward)(void *), mha_error *error) {
    if (made->out_of_memory) {
        check_case_destroy(made);
        return no_memory(error);
    }
    made->subject.context = made;
    made->subject.forward = forward;
    made->subject.backward = backward;
    made->subject.blocks = made->blocks;
    made->subject.outputs = &made->output;
    made->subject.output_count = 1;
    return MHA_OK;
}

void check_case_destroy(struct check_case *made) {
    for (size_t i = 0; i < made->array_count; i++) {
        free(made->arrays[i]);
    }
    mha_fused_destroy(made->fused);
    mha_layer_destroy(made->layer);
    mha_tape_destroy(made->tape);
    memset(made, 0, sizeof *made);
}
