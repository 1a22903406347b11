#include "door.h"

#include "routine_pass.h"

#include <stdlib.h>

#include "memory.h"

#define routine_pass PRECISE(routine_pass)

enum { MOST_ARRAYS = 2 * MHA_VALUE_COUNT + 6 };

/* The arrays of one pass in this precision. */
struct numbers {
    const struct routine_arrays *pass;
    mha_real *value[MHA_VALUE_COUNT], *gradient[MHA_VALUE_COUNT];
    mha_real *result, *dresult, *read_back;
    size_t results;
    double loss;
    mha_real *array[MOST_ARRAYS];
    size_t array_count;
    bool out_of_memory;
};

/* Zeros that live as long as the pass. */
static mha_real *take(struct numbers *n, size_t count) {
    mha_real *made = n->array_count < MOST_ARRAYS ? allocate_zeroed(count, sizeof(mha_real)) : NULL;
    if (made == NULL) {
        n->out_of_memory = true;
        return NULL;
    }
    n->array[n->array_count++] = made;
    return made;
}

static mha_real *converted(struct numbers *n, const double *from, size_t count) {
    mha_real *to = from == NULL ? NULL : take(n, count);
    for (size_t i = 0; to != NULL && i < count; i++) {
        to[i] = (mha_real)from[i];
    }
    return to;
}

static void hand_over(double *to, const mha_real *from, size_t count) {
    for (size_t i = 0; to != NULL && i < count; i++) {
        to[i] = (double)from[i];
    }
}

static bool is_loss(const struct routine_arrays *pass) {
    return pass->routine == ROUTINE_MSE || pass->routine == ROUTINE_CROSS_ENTROPY;
}

static void prepare(struct numbers *n) {
    const struct routine_arrays *const pass = n->pass;
    for (int i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t count = mha_value_count((mha_value)i, &pass->shape);
        n->value[i] = converted(n, pass->value[i], count);
        n->gradient[i] = pass->gradient[i] == NULL ? NULL : take(n, count);
    }
    if (!is_loss(pass)) {
        n->results = mha_value_count(pass->writes, &pass->shape);
        n->result = take(n, n->results);
        n->dresult = converted(n, pass->dresult, n->results);
        n->read_back = converted(n, pass->read_back, n->results);
    }
}

static void run_stage(struct numbers *n) {
    const struct routine_arrays *const pass = n->pass;
    const mha_stage *const table = pass->stages == NULL ? mha_stages : pass->stages;
    const mha_stage *const stage = &table[pass->stage];
    mha_pass of = {.shape = pass->shape, .mask = pass->mask};
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        of.value[i] = n->value[i];
        of.gradient[i] = n->gradient[i];
    }
    stage->forward(n->result, &of);
    of.value[stage->result] = n->read_back == NULL ? n->result : n->read_back;
    if (n->dresult != NULL) {
        stage->backward(&of, n->dresult);
    }
}

static mha_status run_reference(struct numbers *n, mha_error *error) {
    const struct routine_arrays *const pass = n->pass;
    const size_t pairs = mha_value_count(MHA_SCORES, &pass->shape);
    mha_real *const weights = take(n, pairs), *const scratch = take(n, 2 * pairs);
    if (n->out_of_memory) {
        return no_memory(error);
    }
    const mha_real *const q = n->value[MHA_Q_HEADS], *const k = n->value[MHA_K_HEADS],
                          *const v = n->value[MHA_V_HEADS];
    mha_attention_forward(n->result, weights, scratch, q, k, v, pass->mask, &pass->shape);
    if (n->dresult != NULL) {
        mha_attention_backward(n->gradient[MHA_Q_HEADS], n->gradient[MHA_K_HEADS],
            n->gradient[MHA_V_HEADS], scratch, n->dresult, weights, q, k, v, pass->mask,
            &pass->shape);
    }
    return MHA_OK;
}

static mha_status run_fused(struct numbers *n, mha_error *error) {
    const struct routine_arrays *const pass = n->pass;
    const mha_shape *const shape = &pass->shape;
    const bool stored = pass->mode == MHA_MODE_STORED;
    const mha_fused_weights saved = {
        stored ? take(n, mha_value_count(MHA_ATTENTION_WEIGHTS, shape)) : NULL,
        stored ? NULL : take(n, mha_value_count(MHA_ROW_MAXIMUM, shape)),
        stored ? NULL : take(n, mha_value_count(MHA_ROW_INVERSE_SUM, shape))};
    if (n->out_of_memory) {
        return no_memory(error);
    }
    mha_fused *fused;
    const mha_status status = mha_fused_create(&fused, shape, pass->threads, error);
    if (status != MHA_OK) {
        return status;
    }
    const mha_real *const q = n->value[MHA_Q], *const k = n->value[MHA_K],
                          *const v = n->value[MHA_V];
    mha_fused_forward(n->result, &saved, q, k, v, pass->mask, shape, fused);
    if (n->dresult != NULL) {
        mha_fused_backward(n->gradient[MHA_Q], n->gradient[MHA_K], n->gradient[MHA_V], n->dresult,
            n->result, &saved, q, k, v, pass->mask, shape, fused);
    }
    mha_fused_destroy(fused);
    return MHA_OK;
}

static mha_status walk_layer(
    struct numbers *n, mha_tape *tape, mha_layer *layer, mha_error *error) {
    const struct routine_arrays *const pass = n->pass;
    mha_weights weights, dweights;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        weights.matrix[i] = n->value[MHA_FIRST_WEIGHT + i];
        dweights.matrix[i] = n->gradient[MHA_FIRST_WEIGHT + i];
    }
    const mha_status status = mha_forward(n->result, tape, n->value[MHA_QUERY],
        n->value[MHA_SOURCE], pass->mask, &weights, layer, &pass->shape, error);
    if (status != MHA_OK || n->dresult == NULL) {
        return status;
    }
    return mha_backward(n->gradient[MHA_QUERY], n->gradient[MHA_SOURCE], &dweights, n->dresult,
        tape, layer, &pass->shape, error);
}

static mha_status run_layer(struct numbers *n, mha_error *error) {
    const struct routine_arrays *const pass = n->pass;
    const mha_layer_options options = {.kernel = pass->kernel,
        .mode = pass->mode,
        .threads = pass->threads,
        .stages = pass->stages};
    mha_layer *layer = NULL;
    mha_tape *tape = NULL;
    mha_status status = mha_layer_create(&layer, &pass->shape, &options, error);
    if (status == MHA_OK) {
        status = mha_tape_create(&tape, &pass->shape, &options, error);
    }
    if (status == MHA_OK) {
        status = walk_layer(n, tape, layer, error);
    }
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
    return status;
}

static mha_status run_mse(struct numbers *n, mha_error *error) {
    const struct routine_arrays *const pass = n->pass;
    const size_t rows = pass->shape.batch * pass->shape.target_length;
    const mha_real *const target = converted(n, pass->target, rows * pass->shape.width);
    if (n->out_of_memory) {
        return no_memory(error);
    }
    n->loss = mha_mse_loss(n->gradient[MHA_OUTPUT], n->value[MHA_OUTPUT], target, pass->counted,
        rows, pass->shape.width);
    return MHA_OK;
}

static void run_cross_entropy(struct numbers *n) {
    const struct routine_arrays *const pass = n->pass;
    n->loss = mha_cross_entropy_loss(n->gradient[MHA_OUTPUT], n->value[MHA_OUTPUT], pass->labels,
        pass->shape.batch * pass->shape.target_length, pass->shape.width, pass->answers,
        pass->classes)
                  .loss;
}

static mha_status run(struct numbers *n, mha_error *error) {
    switch (n->pass->routine) {
    case ROUTINE_STAGE:
        run_stage(n);
        return MHA_OK;
    case ROUTINE_ATTENTION:
        return n->pass->kernel == MHA_KERNEL_FUSED ? run_fused(n, error) : run_reference(n, error);
    case ROUTINE_LAYER:
        return run_layer(n, error);
    case ROUTINE_MSE:
        return run_mse(n, error);
    default:
        run_cross_entropy(n);
        return MHA_OK;
    }
}

mha_status routine_pass(const struct routine_arrays *pass, mha_error *error) {
    struct numbers n = {.pass = pass};
    prepare(&n);
    const mha_status status = n.out_of_memory ? no_memory(error) : run(&n, error);
    if (status == MHA_OK) {
        hand_over(pass->result, n.result, n.results);
        if (is_loss(pass)) {
            *pass->result = n.loss;
        }
        for (int i = 0; i < MHA_VALUE_COUNT; i++) {
            hand_over(
                pass->gradient[i], n.gradient[i], mha_value_count((mha_value)i, &pass->shape));
        }
    }
    for (size_t i = 0; i < n.array_count; i++) {
        free(n.array[i]);
    }
    return status;
}
