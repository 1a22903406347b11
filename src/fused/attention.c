#include <string.h>

#include "base/parallel.h"
#include "base/size.h"
#include "fused/fused.h"

typedef struct forward_work {
    mha_real *context;
    const mha_fused_weights *saved;
    const mha_real *q, *k, *v;
    const mha_mask *mask;
    const mha_shape *shape;
    const mha_fused *fused;
    size_t parts; /* tasks of a head */
} forward_work;

enum { FORWARD_ROWS = 8 * ATTEND_ROWS }; /* of a task, which packs all keys of its head */

/* Head h of sample b of a (B,L,D) array. */
static size_t head_offset(const mha_shape *shape, size_t b, size_t h, size_t length) {
    return b * length * shape->width + h * mha_head_width(shape);
}

static attend_head head_of(const mha_real *q, const mha_real *k, const mha_real *v,
    const mha_mask *mask, const mha_shape *shape, size_t head) {
    const size_t b = head / shape->heads, h = head % shape->heads;
    /* Without source rows k and v may be NULL. */
    const size_t S = shape->source_length, source = S == 0 ? 0 : head_offset(shape, b, h, S);
    return (attend_head){.q = q + head_offset(shape, b, h, shape->target_length),
        .k = k + source,
        .v = v + source,
        .stride = shape->width,
        .mask = mask,
        .shape = shape,
        .b = b,
        .h = h};
}

static void forward_task(const void *work, size_t task, size_t thread) {
    const forward_work *const w = work;
    const mha_shape *const shape = w->shape;
    const size_t T = shape->target_length, S = shape->source_length;
    const size_t head = task / w->parts, first = task % w->parts * FORWARD_ROWS;
    const mha_fused_weights *const saved = w->saved;
    const attend_head of = head_of(w->q, w->k, w->v, w->mask, shape, head);
    w->fused->kernels->attend_forward(&(attend_forward){.head = of,
        .first = first,
        .rows = size_least(FORWARD_ROWS, T - first),
        .context = w->context + head_offset(shape, of.b, of.h, T),
        .weights = saved->weights == NULL ? NULL : saved->weights + head * T * S,
        .row_maximum = saved->row_maximum == NULL ? NULL : saved->row_maximum + head * T,
        .row_inverse_sum =
            saved->row_inverse_sum == NULL ? NULL : saved->row_inverse_sum + head * T,
        .scratch = fused_scratch(w->fused, thread)});
}

static double pair_operations(const mha_shape *shape, double each) {
    return each * (double)shape->batch * (double)shape->target_length *
           (double)shape->source_length * (double)shape->width;
}

void mha_fused_forward(mha_real *context, const mha_fused_weights *saved, const mha_real *q,
    const mha_real *k, const mha_real *v, const mha_mask *mask, const mha_shape *shape,
    mha_fused *fused) {
    if (shape->target_length == 0) {
        return;
    }
    const size_t parts = (shape->target_length + FORWARD_ROWS - 1) / FORWARD_ROWS;
    const forward_work work = {context, saved, q, k, v, mask, shape, fused, parts};
    parallel_run(fused_threads(fused, pair_operations(shape, 4)),
        shape->batch * shape->heads * parts, forward_task, &work);
}

typedef struct backward_work {
    mha_real *dq, *dk, *dv;
    const mha_real *dcontext, *context;
    const mha_fused_weights *saved;
    const mha_real *q, *k, *v;
    const mha_mask *mask;
    const mha_shape *shape;
    const mha_fused *fused;
    size_t groups, group_keys;
    bool fresh;
} backward_work;

static size_t query_count(const mha_shape *shape) {
    return shape->batch * shape->target_length * shape->width;
}

/* dq of one group of keys: the caller's, or a sum by itself that is added later. */
static mha_real *group_queries(const backward_work *w, size_t group) {
    if (w->dq == NULL || group == 0) {
        return w->dq;
    }
    return w->fused->partial_queries + (group - 1) * query_count(w->shape);
}

static void backward_task(const void *work, size_t task, size_t thread) {
    const backward_work *const w = work;
    const mha_shape *const shape = w->shape;
    const size_t T = shape->target_length, S = shape->source_length;
    const size_t head = task / w->groups, group = task % w->groups;
    const size_t first = group * w->group_keys;
    const attend_head of = head_of(w->q, w->k, w->v, w->mask, shape, head);
    const size_t target = head_offset(shape, of.b, of.h, T);
    const size_t source = head_offset(shape, of.b, of.h, S);
    mha_real *const dq = group_queries(w, group);
    const mha_fused_weights *const saved = w->saved;
    const bool stored = saved->weights != NULL;
    w->fused->kernels->attend_backward(&(attend_backward){.head = of,
        .first = first,
        .keys = first < S ? size_least(w->group_keys, S - first) : 0,
        .dq = dq == NULL ? NULL : dq + target,
        .dk = w->dk == NULL ? NULL : w->dk + source,
        .dv = w->dv == NULL ? NULL : w->dv + source,
        .fresh_queries = w->fresh || group > 0,
        .fresh_keys = w->fresh,
        .dcontext = w->dcontext + target,
        .context = w->context + target,
        .weights = stored ? saved->weights + head * T * S : NULL,
        .row_maximum = stored ? NULL : saved->row_maximum + head * T,
        .row_inverse_sum = stored ? NULL : saved->row_inverse_sum + head * T,
        .scratch = fused_scratch(w->fused, thread)});
}

enum { SUM_COUNT = 16384 }; /* numbers of dq that a task adds up */

static void add_groups(const void *work, size_t task, size_t thread) {
    (void)thread;
    const backward_work *const w = work;
    const size_t count = query_count(w->shape), begin = task * SUM_COUNT;
    const size_t end = size_least(begin + SUM_COUNT, count);
    for (size_t group = 1; group < w->groups; group++) {
        const mha_real *const partial = group_queries(w, group);
        for (size_t i = begin; i < end; i++) {
            w->dq[i] += partial[i];
        }
    }
}

static void zero(mha_real *x, size_t count) {
    if (x != NULL) {
        memset(x, 0, count * sizeof *x);
    }
}

void fused_attention_backward(mha_real *dq, mha_real *dk, mha_real *dv, bool fresh,
    const mha_real *dcontext, const mha_real *context, const mha_fused_weights *saved,
    const mha_real *q, const mha_real *k, const mha_real *v, const mha_mask *mask,
    const mha_shape *shape, mha_fused *fused) {
    const size_t S = shape->source_length;
    if (dq == NULL && dk == NULL && dv == NULL) {
        return;
    }
    if (shape->target_length == 0 || S == 0) {
        if (fresh) {
            zero(dq, query_count(shape));
            zero(dk, shape->batch * S * shape->width);
            zero(dv, shape->batch * S * shape->width);
        }
        return;
    }
    const size_t groups = fused_key_groups(S);
    const size_t blocks = (S + ATTEND_KEYS - 1) / ATTEND_KEYS;
    const backward_work work = {dq, dk, dv, dcontext, context, saved, q, k, v, mask, shape, fused,
        groups, (blocks + groups - 1) / groups * ATTEND_KEYS, fresh};
    const size_t threads = fused_threads(fused, pair_operations(shape, 8));
    parallel_run(threads, shape->batch * shape->heads * groups, backward_task, &work);
    if (dq != NULL && groups > 1) {
        parallel_run(threads, (query_count(shape) + SUM_COUNT - 1) / SUM_COUNT, add_groups, &work);
    }
}

void mha_fused_backward(mha_real *dq, mha_real *dk, mha_real *dv, const mha_real *dcontext,
    const mha_real *context, const mha_fused_weights *saved, const mha_real *q, const mha_real *k,
    const mha_real *v, const mha_mask *mask, const mha_shape *shape, mha_fused *fused) {
    fused_attention_backward(
        dq, dk, dv, false, dcontext, context, saved, q, k, v, mask, shape, fused);
}
