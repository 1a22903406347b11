/* Backward: one block of keys against all the queries that may see it, by tiles:
 *   P (again from q.k, or as stored), dV += P^T dC, dP = dC V^T, dS = P (dP - delta) / sqrt(d),
 *   dQ += dS K, dK += dS^T Q. */
#include "kernels/attend.h"

#include "base/size.h"
#include "kernels/multiply.h"
#include "kernels/softmax_rows.h"

/* What the tiles of one block of keys share, or those of all blocks. Arrays are in scratch, rows of the head
 * `padded` wide. */
typedef struct key_block {
    const attend_backward *task;
    size_t begin, keys;
    size_t d, padded;
    const mha_real *q, *dcontext;      /* (T,padded) */
    const mha_real *k;                 /* (ATTEND_KEYS,padded) */
    panels keys_across, values_across; /* K^T and V^T */
    const mha_real *delta;             /* (T) */
    mha_real *dq;                      /* (T,padded) */
    mha_real *dk, *dv;                 /* (ATTEND_KEYS,padded) */
    mha_real *weights, *dscores;       /* (ATTEND_ROWS,ATTEND_KEYS) */
    bool select; /* something is not finite: leave blocked pairs out by selection */
} key_block;

/* P or dS of one tile: rows of `seen`, keys from the begin of the block on, rows ld apart. */
typedef struct pair_tile {
    const mha_real *at;
    size_t ld;
} pair_tile;

static bool partly_blocked(const mha_mask_row *row, size_t end) {
    return row->allowed != NULL || row->limit < end;
}

/* delta[t] = dcontext[t] . context[t] for `rows` rows, at most DELTA_ROWS, side by side. Each is one sum in
 * ascending order, as dP is: for a query that sees one key, whose weight is 1, dP - delta is exactly 0. */
enum { DELTA_ROWS = 4 };

KERNEL_INLINE void deltas(mha_real *delta, const mha_real *dcontext, size_t padded,
    const mha_real *context, size_t stride, size_t rows, size_t d) {
    mha_real sum[DELTA_ROWS] = {REAL(0.0)};
    for (size_t i = 0; i < d; i++) {
        for (size_t r = 0; r < rows; r++) {
            sum[r] = real_fma(dcontext[r * padded + i], context[r * stride + i], sum[r]);
        }
    }
    for (size_t r = 0; r < rows; r++) {
        delta[r] = sum[r];
    }
}

/* P of the tile, computed again as forward did. */
static void weights_again(const key_block *block, const seen_rows *seen, size_t keys) {
    const attend_backward *const task = block->task;
    const size_t columns = whole_panels(keys);
    const mha_real scale = exp2_scale(block->d);
    const operand q = {block->q + seen->first * block->padded, block->padded, 1};
    multiply_panels(block->weights, ATTEND_KEYS, q, block->keys_across, seen->rows, columns,
        block->d, PRODUCT_OVERWRITE);
    for (size_t r = 0; r < seen->rows; r++) {
        mha_real *const x = block->weights + r * ATTEND_KEYS;
        const mha_mask_row *const row = &seen->row[r];
        const vec maximum = vec_all(task->row_maximum[seen->first + r]);
        const vec inverse = vec_all(task->row_inverse_sum[seen->first + r]);
        for (size_t s = 0; s < columns; s += VECTOR_LANES) {
            vec_store(x + s, vec_exp2((vec_load(x + s) - maximum) * vec_all(scale)) * inverse);
        }
        if (partly_blocked(row, block->begin + keys)) { /* whatever stands there */
            block_row(x, row, block->begin, block->begin + keys, REAL(0.0));
        }
    }
}

/* The stored P of the tile, copied where its rows do not end with a vector. */
static pair_tile stored_weights(const key_block *block, const seen_rows *seen, size_t keys) {
    const size_t S = block->task->head.shape->source_length;
    const mha_real *const at = block->task->weights + seen->first * S + block->begin;
    if (keys % VECTOR_LANES == 0) {
        return (pair_tile){at, S};
    }
    copy_rows(block->weights, ATTEND_KEYS, at, S, seen->rows, keys);
    return (pair_tile){block->weights, ATTEND_KEYS};
}

/* dS of the tile, from dP that stands in its place. */
static void softmax_backward(
    const key_block *block, pair_tile weights, const seen_rows *seen, size_t keys) {
    const vec scale = vec_all(REAL(1.0) / real_sqrt((mha_real)block->d));
    for (size_t r = 0; r < seen->rows; r++) {
        mha_real *const dx = block->dscores + r * ATTEND_KEYS;
        const mha_real *const p = weights.at + r * weights.ld;
        const vec delta = vec_all(block->delta[seen->first + r]);
        for (size_t s = 0; s < keys; s += VECTOR_LANES) {
            vec_store(dx + s, vec_load(p + s) * (vec_load(dx + s) - delta) * scale);
        }
        if (partly_blocked(&seen->row[r], block->begin + keys)) {
            block_row(dx, &seen->row[r], block->begin, block->begin + keys, REAL(0.0));
        }
    }
}

/* y += a x, or y += a^T x where transposed, for a (rows,keys) of the tile. */
static void accumulate(mha_real *y, const mha_real *x, pair_tile a, const key_block *block,
    const seen_rows *seen, size_t keys, bool transposed) {
    const size_t padded = block->padded;
    const panels b = {x, padded, TILE_COLUMNS};
    if (block->select) {
        multiply_allowed(
            y, a.at, a.ld, x, padded, transposed, seen, block->begin, block->begin + keys);
    } else if (transposed) {
        multiply_panels(
            y, padded, (operand){a.at, 1, a.ld}, b, keys, padded, seen->rows, PRODUCT_CONTINUE);
    } else {
        multiply_panels(
            y, padded, (operand){a.at, a.ld, 1}, b, seen->rows, padded, keys, PRODUCT_CONTINUE);
    }
}

static void backward_tile(const key_block *block, const seen_rows *seen) {
    const attend_backward *const task = block->task;
    const size_t row = seen->first * block->padded, seen_keys = seen->limit - block->begin;
    const size_t keys = seen_keys < block->keys ? seen_keys : block->keys;
    const mha_real *const dcontext = block->dcontext + row;
    pair_tile weights = {block->weights, ATTEND_KEYS};
    if (task->weights == NULL) {
        weights_again(block, seen, keys);
    } else {
        weights = stored_weights(block, seen, keys);
    }
    if (task->dv != NULL) {
        accumulate(block->dv, dcontext, weights, block, seen, keys, true);
    }
    if (task->dq == NULL && task->dk == NULL) {
        return;
    }
    multiply_panels(block->dscores, ATTEND_KEYS, (operand){dcontext, block->padded, 1},
        block->values_across, seen->rows, whole_panels(keys), block->d, PRODUCT_OVERWRITE);
    softmax_backward(block, weights, seen, keys);
    const pair_tile dscores = {block->dscores, ATTEND_KEYS};
    if (task->dq != NULL) {
        accumulate(block->dq + row, block->k, dscores, block, seen, keys, false);
    }
    if (task->dk != NULL) {
        accumulate(block->dk, block->q + row, dscores, block, seen, keys, true);
    }
}

static void backward_block(const key_block *block) {
    const attend_head *const head = &block->task->head;
    const size_t T = head->shape->target_length;
    for (size_t first = 0; first < T; first += ATTEND_ROWS) {
        const size_t rows = T - first < ATTEND_ROWS ? T - first : ATTEND_ROWS;
        seen_rows seen;
        seen_rows_of(&seen, head, first, rows);
        const size_t unseeing = first_seeing(&seen, block->begin);
        if (unseeing > 0 && unseeing < rows) {
            seen_rows_of(&seen, head, first + unseeing, rows - unseeing);
        }
        if (unseeing < rows && any_seen(&seen, block->begin, block->begin + block->keys)) {
            backward_tile(block, &seen);
        }
    }
}

/* As in forward. */
static void fetch_head(const attend_backward *task, size_t d) {
    const attend_head *const head = &task->head;
    const size_t stride = head->stride, key = task->first * stride;
    const size_t queries = size_least(head->shape->target_length, FETCHED_ROWS);
    const size_t keys = size_least(task->keys, FETCHED_ROWS);
    fetch_rows(task->dcontext, stride, queries, d);
    fetch_rows(task->context, stride, queries, d);
    fetch_rows(head->k + key, stride, keys, d);
    fetch_rows(head->v + key, stride, keys, d);
    if (task->dq != NULL) {
        fetch_rows(task->dq, stride, queries, d);
    }
    if (task->dk != NULL) {
        fetch_rows(task->dk + key, stride, keys, d);
    }
    if (task->dv != NULL) {
        fetch_rows(task->dv + key, stride, keys, d);
    }
}

/* What all blocks of keys read; returns where free scratch begins. Set field by field: zeroing takes as
 * long as a small tile. */
static mha_real *prepare_queries(key_block *block, const attend_backward *task) {
    const attend_head *const head = &task->head;
    const size_t T = head->shape->target_length, d = mha_head_width(head->shape);
    const size_t padded = whole_vectors(d);
    block->task = task;
    block->d = d;
    block->padded = padded;
    mha_real *const delta = task->scratch;
    mha_real *const q = delta + whole_lanes(T), *const dcontext = q + T * padded;
    block->dq = dcontext + T * padded;
    fetch_head(task, d);
    copy_rows(q, padded, head->q, head->stride, T, d);
    copy_rows(dcontext, padded, task->dcontext, head->stride, T, d);
    size_t t = 0;
    for (; t + DELTA_ROWS <= T; t += DELTA_ROWS) {
        deltas(delta + t, dcontext + t * padded, padded, task->context + t * head->stride,
            head->stride, DELTA_ROWS, d);
    }
    for (; t < T; t++) {
        deltas(delta + t, dcontext + t * padded, padded, task->context + t * head->stride,
            head->stride, 1, d);
    }
    memset(block->dq, 0, T * padded * sizeof *block->dq);
    block->q = q;
    block->dcontext = dcontext;
    block->delta = delta;
    block->select =
        head->mask != NULL && !(all_finite(q, T * padded) && all_finite(dcontext, T * padded));
    return block->dq + T * padded;
}

void attend_backward_keys(const attend_backward *task) {
    const attend_head *const head = &task->head;
    const size_t T = head->shape->target_length, d = mha_head_width(head->shape);
    const size_t stride = head->stride, padded = whole_vectors(d);
    key_block block;
    mha_real *const k = prepare_queries(&block, task);
    block.k = k;
    block.dk = k + ATTEND_KEYS * padded;
    block.dv = block.dk + ATTEND_KEYS * padded;
    mha_real *const keys_across = block.dv + ATTEND_KEYS * padded;
    mha_real *const values_across = keys_across + ATTEND_KEYS * d;
    block.weights = values_across + ATTEND_KEYS * d;
    block.dscores = block.weights + (size_t)ATTEND_ROWS * ATTEND_KEYS;
    const bool queries_finite = !block.select;
    for (size_t s = 0; s < task->keys; s += ATTEND_KEYS) {
        block.begin = task->first + s;
        block.keys = task->keys - s < ATTEND_KEYS ? task->keys - s : ATTEND_KEYS;
        const size_t key = block.begin * stride;
        copy_rows(k, padded, head->k + key, stride, block.keys, d);
        block.keys_across = pack_transposed(keys_across, k, padded, block.keys, d);
        block.values_across = pack_transposed(values_across, head->v + key, stride, block.keys, d);
        block.select =
            !queries_finite || (head->mask != NULL && !all_finite(k, block.keys * padded));
        memset(block.dk, 0, block.keys * padded * sizeof *block.dk);
        memset(block.dv, 0, block.keys * padded * sizeof *block.dv);
        backward_block(&block);
        if (task->dk != NULL) {
            add_rows(task->dk + key, stride, block.dk, padded, block.keys, d, task->fresh_keys);
        }
        if (task->dv != NULL) {
            add_rows(task->dv + key, stride, block.dv, padded, block.keys, d, task->fresh_keys);
        }
    }
    if (task->dq != NULL) {
        add_rows(task->dq, stride, block.dq, padded, T, d, task->fresh_queries);
    }
}
