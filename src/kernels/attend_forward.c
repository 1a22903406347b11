/* Forward: scores of a block of queries with all the keys that it may see, softmax, context. */
#include "kernels/attend.h"
#include "kernels/multiply.h"
#include "kernels/softmax_rows.h"

/* The keys of a block, in runs that leave out whole panels that no row sees. */
typedef struct key_run {
    size_t begin, end;
} key_run;

/* The first run from `begin` on, rounded up to whole panels; empty where there is none. */
static key_run next_run(const seen_rows *seen, size_t begin) {
    begin = (begin + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    if (begin < seen->limit && seen->row[0].allowed == NULL) {
        return (key_run){begin, seen->limit};
    }
    while (begin < seen->limit && !any_seen(seen, begin, begin + TILE_COLUMNS)) {
        begin += TILE_COLUMNS;
    }
    begin = begin < seen->limit ? begin : seen->limit;
    size_t end = begin;
    while (end < seen->limit && any_seen(seen, end, end + TILE_COLUMNS)) {
        end += TILE_COLUMNS;
    }
    return (key_run){begin, end < seen->limit ? end : seen->limit};
}

/* One block of queries; arrays are in scratch, rows of a head `padded` wide. */
typedef struct query_block {
    const attend_forward *task;
    size_t S, d, padded;
    panels keys, values; /* K^T, and V */
    const mha_real *v;   /* (S,padded) */
    mha_real *scores;    /* (ATTEND_ROWS, ld) */
    size_t ld;
    mha_real *q, *context; /* (ATTEND_ROWS, padded) */
    bool select;           /* V is not finite: leave blocked pairs out by selection */
} query_block;

/* scores[r,s] = q[r] . k[s] for the keys of the run; rows start at the first that may see a panel. */
static void score_run(const query_block *block, const seen_rows *seen, key_run run) {
    if (seen->row[0].limit >= run.end) {
        multiply_panels(block->scores + run.begin, block->ld, (operand){block->q, block->padded, 1},
            panels_from(block->keys, 0, run.begin), seen->rows, whole_panels(run.end - run.begin),
            block->d, PRODUCT_OVERWRITE);
        return;
    }
    for (size_t s = run.begin; s < run.end; s += TILE_COLUMNS) {
        const size_t r = first_seeing(seen, s);
        const operand q = {block->q + r * block->padded, block->padded, 1};
        multiply_panels(block->scores + r * block->ld + s, block->ld, q,
            panels_from(block->keys, 0, s), seen->rows - r, TILE_COLUMNS, block->d,
            PRODUCT_OVERWRITE);
    }
}

typedef struct row_sum {
    mha_real maximum, inverse;
} row_sum;

static bool sees_nothing(const mha_mask_row *row) {
    return row->limit == 0 || (row->allowed != NULL && memchr(row->allowed, 1, row->limit) == NULL);
}

/* scores (keys 0 .. width - 1) become exp((score - maximum) / sqrt(d)), 0 where blocked. A row that the
 * mask leaves empty has maximum and inverse 0. */
static row_sum softmax_row(
    mha_real *scores, const mha_mask_row *row, size_t width, mha_real scale) {
    const size_t count = whole_lanes(row->limit);
    if (sees_nothing(row)) {
        memset(scores, 0, width * sizeof *scores);
        return (row_sum){REAL(0.0), REAL(0.0)};
    }
    if (row->allowed != NULL || row->limit < count) {
        block_row(scores, row, 0, count, -REAL_INFINITY);
    }
    const mha_real maximum = largest_of(scores, count);
    const mha_real sum = exponentials(scores, count, maximum, scale);
    if (maximum == -REAL_INFINITY) { /* then a blocked score is not below it */
        block_row(scores, row, 0, count, REAL(0.0));
    }
    if (count < width) {
        memset(scores + count, 0, (width - count) * sizeof *scores);
    }
    return (row_sum){maximum, REAL(1.0) / sum};
}

static void store_weights(mha_real *weights, const mha_real *exponentials_row,
    const mha_mask_row *row, mha_real inverse, size_t S) {
    for (size_t s = 0; s < row->limit; s++) {
        weights[s] = exponentials_row[s] * inverse;
    }
    if (inverse - inverse != 0) { /* not finite: a blocked weight is 0 all the same */
        block_row(weights, row, 0, row->limit, REAL(0.0));
    }
    memset(weights + row->limit, 0, (S - row->limit) * sizeof *weights);
}

/* context of rows r .. r + rows - 1 += e v over keys begin .. end - 1, e the exponentials, by chunks that
 * stay in the first cache. */
static void add_context(const query_block *block, size_t r, size_t rows, size_t begin, size_t end) {
    for (size_t s = begin; s < end; s += PRODUCT_CHUNK) {
        multiply_panels(block->context + r * block->padded, block->padded,
            (operand){block->scores + r * block->ld + s, block->ld, 1},
            panels_from(block->values, s, 0), rows, block->padded,
            end - s < PRODUCT_CHUNK ? end - s : PRODUCT_CHUNK, PRODUCT_CONTINUE);
    }
}

/* The same over one run: first the keys that all rows see, then the others by tiles of rows. */
static void context_run(const query_block *block, const seen_rows *seen, key_run run) {
    const size_t lowest = seen->row[0].limit;
    const size_t all = lowest < run.begin ? run.begin : lowest < run.end ? lowest : run.end;
    add_context(block, 0, seen->rows, run.begin, all);
    for (size_t r = 0; all < run.end && r < seen->rows; r += TILE_ROWS) {
        const size_t rows = seen->rows - r < TILE_ROWS ? seen->rows - r : TILE_ROWS;
        const size_t limit = largest_limit(seen, r, rows);
        add_context(block, r, rows, all, limit < run.end ? limit : run.end);
    }
}

static void sum_context(const query_block *block, const seen_rows *seen) {
    memset(block->context, 0, seen->rows * block->padded * sizeof *block->context);
    if (block->select) {
        multiply_allowed(block->context, block->scores, block->ld, block->v, block->padded, false,
            seen, 0, seen->limit);
        return;
    }
    for (key_run run = next_run(seen, 0); run.begin < run.end; run = next_run(seen, run.end)) {
        context_run(block, seen, run);
    }
}

/* The softmax of all rows; inverse[r] = 1 / sum of its exponentials. */
static void softmax_rows(const query_block *block, mha_real *inverse, const seen_rows *seen) {
    const attend_forward *const task = block->task;
    const mha_real scale = exp2_scale(block->d);
    for (size_t r = 0; r < seen->rows; r++) {
        mha_real *const scores = block->scores + r * block->ld;
        const size_t t = seen->first + r;
        const row_sum sum = softmax_row(scores, &seen->row[r], seen->limit, scale);
        inverse[r] = sum.inverse;
        if (task->weights != NULL) {
            store_weights(
                task->weights + t * block->S, scores, &seen->row[r], sum.inverse, block->S);
        }
        if (task->row_maximum != NULL) {
            task->row_maximum[t] = sum.maximum;
            task->row_inverse_sum[t] = sum.inverse;
        }
    }
}

/* What row r of the context, a sum of e v, is to be multiplied by: 1 / sum of e. Where that sum overflows the
 * row is summed again of weights, of which none is above 1. */
static mha_real weigh_context(
    const query_block *block, const seen_rows *seen, size_t r, mha_real inverse) {
    mha_real *const context = block->context + r * block->padded;
    if (all_finite(context, block->padded)) {
        return inverse;
    }
    mha_real *const weights = block->scores + r * block->ld;
    const seen_rows row = {seen->first + r, 1, {seen->row[r]}, seen->row[r].limit};
    for (size_t s = 0; s < row.limit; s++) {
        weights[s] *= inverse;
    }
    memset(context, 0, block->padded * sizeof *context);
    multiply_allowed(
        context, weights, block->ld, block->v, block->padded, false, &row, 0, row.limit);
    return REAL(1.0);
}

static void forward_block(const query_block *block, size_t first, size_t rows) {
    const attend_head *const head = &block->task->head;
    seen_rows seen;
    seen_rows_of(&seen, head, first, rows);
    copy_rows(
        block->q, block->padded, head->q + first * head->stride, head->stride, rows, block->d);
    for (key_run run = next_run(&seen, 0); run.begin < run.end; run = next_run(&seen, run.end)) {
        score_run(block, &seen, run);
    }
    mha_real inverse[ATTEND_ROWS] = {REAL(0.0)};
    softmax_rows(block, inverse, &seen);
    sum_context(block, &seen);
    for (size_t r = 0; r < rows; r++) {
        const mha_real factor = weigh_context(block, &seen, r, inverse[r]);
        mha_real *const context = block->task->context + (first + r) * head->stride;
        for (size_t i = 0; i < block->d; i++) { /* + 0: never -0, whatever a blocked value was */
            context[i] = block->context[r * block->padded + i] * factor + REAL(0.0);
        }
    }
}

void attend_forward_rows(const attend_forward *task) {
    const attend_head *const head = &task->head;
    const size_t S = head->shape->source_length, d = mha_head_width(head->shape);
    query_block block = {.task = task,
        .S = S,
        .d = d,
        .padded = whole_vectors(d),
        .scores = task->scratch,
        .ld = attend_score_stride(S)};
    mha_real *const keys = block.scores + ATTEND_ROWS * block.ld;
    mha_real *const values = keys + whole_panels(S) * d;
    block.q = values + S * block.padded;
    block.context = block.q + ATTEND_ROWS * block.padded;
    block.keys = pack_transposed(keys, head->k, head->stride, S, d);
    copy_rows(values, block.padded, head->v, head->stride, S, d);
    block.v = values;
    block.values = (panels){values, block.padded, TILE_COLUMNS};
    block.select = head->mask != NULL && !all_finite(values, S * block.padded);
    for (size_t r = 0; r < task->rows; r += ATTEND_ROWS) {
        forward_block(
            &block, task->first + r, task->rows - r < ATTEND_ROWS ? task->rows - r : ATTEND_ROWS);
    }
}
