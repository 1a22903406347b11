#include <stdlib.h>

#include "bench_arrays.h"
#include "bench_run.h"
#include "bench_time.h"

/* Attention alone, on heads side by side. */
struct core_case {
    mha_shape shape;
    mha_mask mask;
    mha_fused *fused;
    mha_fused_weights saved;
    void *block;
    mha_real *q, *k, *v, *context, *dcontext; /* (B,T,D), k and v (B,S,D) */
    mha_real *dq, *dk, *dv;
};

static mha_status create(struct core_case *made, const struct bench_plan *plan, mha_error *error) {
    *made = (struct core_case){.shape = plan->shape.sizes,
        .mask = {.causal = plan->shape.causal ? MHA_CAUSAL_SQUARE : MHA_CAUSAL_OFF}};
    const mha_shape *shape = &made->shape;
    const size_t queries = mha_value_count(MHA_Q, shape);
    const size_t keys = mha_value_count(MHA_K, shape);
    const size_t pairs = mha_value_count(MHA_ATTENTION_WEIGHTS, shape);
    const size_t rows = mha_value_count(MHA_ROW_MAXIMUM, shape);
    const bool stored = plan->mode == MHA_MODE_STORED;
    const struct bench_array arrays[] = {
        {&made->q, queries, true},
        {&made->k, keys, true},
        {&made->v, keys, true},
        {&made->dcontext, queries, true},
        {&made->context, queries, false},
        {&made->dq, queries, false},
        {&made->dk, keys, false},
        {&made->dv, keys, false},
        {&made->saved.weights, stored ? pairs : 0, false},
        {&made->saved.row_maximum, stored ? 0 : rows, false},
        {&made->saved.row_inverse_sum, stored ? 0 : rows, false},
    };
    mha_status status =
        bench_arrays_create(&made->block, arrays, sizeof arrays / sizeof *arrays, 0, error);
    return status == MHA_OK ? mha_fused_create(&made->fused, shape, plan->threads, error) : status;
}

static const mha_mask *mask_of(const struct core_case *made) {
    return made->mask.causal != MHA_CAUSAL_OFF ? &made->mask : NULL;
}

static void forward_pass(void *context) {
    struct core_case *made = context;
    mha_fused_forward(made->context, &made->saved, made->q, made->k, made->v, mask_of(made),
        &made->shape, made->fused);
}

static void backward_pass(void *context) {
    struct core_case *made = context;
    mha_fused_backward(made->dq, made->dk, made->dv, made->dcontext, made->context, &made->saved,
        made->q, made->k, made->v, mask_of(made), &made->shape, made->fused);
}

mha_status bench_core(
    double *forward, double *backward, const struct bench_plan *plan, mha_error *error) {
    struct core_case made;
    mha_status status = create(&made, plan, error);
    if (status == MHA_OK) {
        *forward = median_seconds(forward_pass, &made);
        *backward = median_seconds(backward_pass, &made);
    }
    mha_fused_destroy(made.fused);
    free(made.block);
    return status;
}
