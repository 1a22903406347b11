/* Forward: scores of a block of queries with all the keys that it may see, softmax, context. */
#include "kernels/attend.h"

#include "base/size.h"
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

static bool sees_nothing(const mha_mask_row *row) {
    return row->limit == 0 || (row->allowed != NULL && memchr(row->allowed, 1, row->limit) == NULL);
}

/* The largest score of a row; those it does not see become -infinity, as far as whole lanes go. */
static mha_real maximum_of_row(mha_real *scores, const mha_mask_row *row) {
    const size_t count = whole_lanes(row->limit);
    if (row->allowed != NULL || row->limit < count) {
        block_row(scores, row, 0, count, -REAL_INFINITY);
    }
    return largest_of(scores, count);
}

/* scores (keys 0 .. width - 1) become exp((score - maximum) / sqrt(d)), 0 where blocked; returns their
 * sum. */
static mha_real exponentials_of_row(
    mha_real *scores, const mha_mask_row *row, mha_real maximum, size_t width, mha_real scale) {
    const size_t count = whole_lanes(row->limit);
    const mha_real sum = exponentials(scores, count, maximum, scale);
    if (maximum == -REAL_INFINITY) { /* then a blocked score is not below it */
        block_row(scores, row, 0, count, REAL(0.0));
    }
    if (count < width) {
        memset(scores + count, 0, (width - count) * sizeof *scores);
    }
    return sum;
}

static void store_weights(mha_real *weights, const mha_real *exponentials_row,
    const mha_mask_row *row, mha_real inverse, size_t S) {
    const size_t limit = row->limit, whole = limit / VECTOR_LANES * VECTOR_LANES;
    for (size_t s = 0; s < whole; s += VECTOR_LANES) {
        vec_store(weights + s, vec_load(exponentials_row + s) * vec_all(inverse));
    }
    if (whole < limit) {
        vec_store_first(
            weights + whole, vec_load(exponentials_row + whole) * vec_all(inverse), limit - whole);
    }
    if (inverse - inverse != 0) { /* not finite: a blocked weight is 0 all the same */
        block_row(weights, row, 0, limit, REAL(0.0));
    }
    if (limit < S) {
        memset(weights + limit, 0, (S - limit) * sizeof *weights);
    }
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

/* The softmax of all rows; inverse[r] = 1 / sum of its exponentials. A row that the mask leaves empty has
 * maximum and inverse 0. What one row waits for is done for all rows at a time. */
static void softmax_rows(const query_block *block, mha_real *inverse, const seen_rows *seen) {
    const attend_forward *const task = block->task;
    const mha_real scale = exp2_scale(block->d);
    mha_real maximum[ATTEND_ROWS];
    bool empty[ATTEND_ROWS];
    for (size_t r = 0; r < seen->rows; r++) {
        empty[r] = sees_nothing(&seen->row[r]);
        maximum[r] =
            empty[r] ? REAL(0.0) : maximum_of_row(block->scores + r * block->ld, &seen->row[r]);
    }
    for (size_t r = 0; r < seen->rows; r++) {
        mha_real *const scores = block->scores + r * block->ld;
        if (empty[r]) {
            memset(scores, 0, seen->limit * sizeof *scores);
            inverse[r] = REAL(0.0);
        } else {
            inverse[r] = REAL(1.0) /
                         exponentials_of_row(scores, &seen->row[r], maximum[r], seen->limit, scale);
        }
    }
    for (size_t r = 0; r < seen->rows; r++) {
        const size_t t = seen->first + r;
        if (task->weights != NULL) {
            store_weights(task->weights + t * block->S, block->scores + r * block->ld,
                &seen->row[r], inverse[r], block->S);
        }
        if (task->row_maximum != NULL) {
            task->row_maximum[t] = maximum[r];
            task->row_inverse_sum[t] = inverse[r];
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

/* + 0: never -0, whatever a blocked value was. */
static void write_context(mha_real *context, const mha_real *sum, mha_real factor, size_t d) {
    const vec factors = vec_all(factor), zero = vec_all(REAL(0.0));
    const size_t whole = d / VECTOR_LANES * VECTOR_LANES;
    for (size_t i = 0; i < whole; i += VECTOR_LANES) {
        vec_store(context + i, vec_load(sum + i) * factors + zero);
    }
    if (whole < d) {
        vec_store_first(context + whole, vec_load(sum + whole) * factors + zero, d - whole);
    }
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
    mha_real inverse[ATTEND_ROWS];
    softmax_rows(block, inverse, &seen);
    sum_context(block, &seen);
    const bool finite = all_finite(block->context, rows * block->padded);
    for (size_t r = 0; r < seen.rows; r++) {
        const mha_real factor = finite ? inverse[r] : weigh_context(block, &seen, r, inverse[r]);
        write_context(block->task->context + (first + r) * head->stride,
            block->context + r * block->padded, factor, block->d);
    }
}

/* Rows that are asked for ahead: of short sequences all, of long ones what the first copies meet. */
static void fetch_head(const attend_forward *task, size_t S, size_t d) {
    const attend_head *const head = &task->head;
    const size_t keys = size_least(S, FETCHED_ROWS), rows = size_least(task->rows, FETCHED_ROWS);
    const size_t row = task->first * head->stride;
    fetch_rows(head->k, head->stride, keys, d);
    fetch_rows(head->v, head->stride, keys, d);
    fetch_rows(head->q + row, head->stride, rows, d);
    fetch_rows(task->context + row, head->stride, rows, d);
}

/* What all blocks of queries read. Set field by field: zeroing takes as long as a small tile. */
static void prepare_keys(query_block *block, const attend_forward *task) {
    const attend_head *const head = &task->head;
    const size_t S = head->shape->source_length, d = mha_head_width(head->shape);
    const size_t padded = whole_vectors(d);
    block->task = task;
    block->S = S;
    block->d = d;
    block->padded = padded;
    block->scores = task->scratch;
    block->ld = attend_score_stride(S);
    mha_real *const keys = block->scores + ATTEND_ROWS * block->ld;
    mha_real *const values = keys + whole_panels(S) * d;
    block->q = values + S * padded;
    block->context = block->q + ATTEND_ROWS * padded;
    fetch_head(task, S, d);
    block->keys = pack_transposed(keys, head->k, head->stride, S, d);
    copy_rows(values, padded, head->v, head->stride, S, d);
    block->v = values;
    block->values = (panels){values, padded, TILE_COLUMNS};
    block->select = head->mask != NULL && !all_finite(values, S * padded);
}

void attend_forward_rows(const attend_forward *task) {
    query_block block;
    prepare_keys(&block, task);
    for (size_t r = 0; r < task->rows; r += ATTEND_ROWS) {
        forward_block(&block, task->first + r, size_least(task->rows - r, ATTEND_ROWS));
    }
}
