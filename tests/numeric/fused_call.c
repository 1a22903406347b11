#include "base/real.h"

#include "arrays.h"
#include "fused_call.h"

static void destroy_fused(void *fused) {
    mha_fused_destroy(fused);
}

size_t fused_call_count(const fused_call *c, mha_value value) {
    return mha_value_count(value, &c->shape);
}

/* Workspace, results and gradients. */
static void make_results(fused_call *c, mha_mode mode) {
    const size_t targets = fused_call_count(c, MHA_Q), sources = fused_call_count(c, MHA_K);
    const size_t rows = fused_call_count(c, MHA_ROW_MAXIMUM);
    mha_error error = {MHA_OK, ""};
    ck_assert_msg(mha_fused_create(&c->fused, &c->shape, 1, &error) == MHA_OK, "%s", error.text);
    arrays_keep(c->fused, destroy_fused);
    c->mode = mode;
    c->context = array_new(targets);
    c->saved = (mha_fused_weights){NULL, NULL, NULL};
    if (mode == MHA_MODE_STORED) {
        c->saved.weights = array_new(fused_call_count(c, MHA_ATTENTION_WEIGHTS));
    } else {
        c->saved.row_maximum = array_new(rows);
        c->saved.row_inverse_sum = array_new(rows);
    }
    c->dq = array_constant(targets, REAL(0.0));
    c->dk = array_constant(sources, REAL(0.0));
    c->dv = array_constant(sources, REAL(0.0));
}

fused_call fused_call_new(
    const mha_shape *shape, const mha_mask *mask, mha_mode mode, uint64_t seed) {
    fused_call c = {.shape = *shape, .mask = mask};
    c.q = array_normal(fused_call_count(&c, MHA_Q), 10 * seed + 1);
    c.k = array_normal(fused_call_count(&c, MHA_K), 10 * seed + 2);
    c.v = array_normal(fused_call_count(&c, MHA_V), 10 * seed + 3);
    c.dcontext = array_normal(fused_call_count(&c, MHA_CONTEXT), 10 * seed + 4);
    make_results(&c, mode);
    return c;
}

fused_call fused_call_again(const fused_call *c, mha_mode mode) {
    fused_call again = *c;
    again.q = array_copy(c->q, fused_call_count(c, MHA_Q));
    again.k = array_copy(c->k, fused_call_count(c, MHA_K));
    again.v = array_copy(c->v, fused_call_count(c, MHA_V));
    again.dcontext = array_copy(c->dcontext, fused_call_count(c, MHA_CONTEXT));
    make_results(&again, mode);
    return again;
}

void fused_call_forward(const fused_call *c) {
    mha_fused_forward(c->context, &c->saved, c->q, c->k, c->v, c->mask, &c->shape, c->fused);
}

void fused_call_backward(const fused_call *c) {
    mha_fused_backward(c->dq, c->dk, c->dv, c->dcontext, c->context, &c->saved, c->q, c->k, c->v,
        c->mask, &c->shape, c->fused);
}

void fused_call_run(const fused_call *c) {
    fused_call_forward(c);
    fused_call_backward(c);
}

void assert_calls_same(const fused_call *actual, const fused_call *expected) {
    const size_t targets = fused_call_count(expected, MHA_Q);
    const size_t sources = fused_call_count(expected, MHA_K);
    assert_arrays_same("context", actual->context, expected->context, targets);
    assert_arrays_same("dq", actual->dq, expected->dq, targets);
    assert_arrays_same("dk", actual->dk, expected->dk, sources);
    assert_arrays_same("dv", actual->dv, expected->dv, sources);
}
