#include "kernels/rows.h"

#include "kernels/simd.h"

void seen_rows_of(seen_rows *seen, const attend_head *head, size_t first, size_t rows) {
    seen->first = first;
    seen->rows = rows;
    seen->limit = head->mask == NULL ? head->shape->source_length : 0;
    for (size_t r = 0; head->mask == NULL && r < rows; r++) {
        seen->row[r] = (mha_mask_row){head->shape->source_length, NULL};
    }
    for (size_t r = 0; head->mask != NULL && r < rows; r++) {
        seen->row[r] = mha_mask_row_at(head->mask, head->shape, head->b, head->h, first + r);
        seen->limit = seen->row[r].limit > seen->limit ? seen->row[r].limit : seen->limit;
    }
}

bool any_seen(const seen_rows *seen, size_t begin, size_t end) {
    if (seen->row[0].allowed == NULL) {
        return begin < seen->limit;
    }
    for (size_t r = seen->rows; r-- > 0;) {
        const mha_mask_row *const row = &seen->row[r];
        const size_t stop = row->limit < end ? row->limit : end;
        if (begin < stop && memchr(row->allowed + begin, 1, stop - begin) != NULL) {
            return true;
        }
    }
    return false;
}

void block_row(mha_real *x, const mha_mask_row *row, size_t begin, size_t end, mha_real value) {
    const size_t limit = row->limit < begin ? begin : row->limit < end ? row->limit : end;
    if (row->allowed != NULL) {
        const unsigned char *const allowed = row->allowed + begin;
        for (size_t i = 0; i < limit - begin; i++) {
            x[i] = allowed[i] != 0 ? x[i] : value;
        }
    }
    /* By whole vectors, which are read as such next. */
    const size_t count = end - begin, kept = (limit - begin) % VECTOR_LANES;
    size_t i = limit - begin - kept;
    if (kept > 0 && i + VECTOR_LANES <= count) {
        vec_store(x + i, vec_select_first(kept, vec_load(x + i), vec_all(value)));
        i += VECTOR_LANES;
    } else {
        i += kept;
    }
    for (; i + VECTOR_LANES <= count; i += VECTOR_LANES) {
        vec_store(x + i, vec_all(value));
    }
    for (; i < count; i++) {
        x[i] = value;
    }
}

bool all_finite(const mha_real *x, size_t count) {
    const size_t whole = count / VECTOR_LANES * VECTOR_LANES;
    const vec zero = vec_all(REAL(0.0)), rest = vec_load_first(x + whole, count - whole);
    vec_bits finite = rest * zero == zero; /* NaN where a number is not */
    for (size_t i = 0; i < whole; i += VECTOR_LANES) {
        finite &= vec_load(x + i) * zero == zero;
    }
    return vec_all_set(finite);
}

void copy_rows(
    mha_real *copy, size_t padded, const mha_real *x, size_t stride, size_t rows, size_t d) {
    const size_t whole = d / VECTOR_LANES * VECTOR_LANES;
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < whole; i += VECTOR_LANES) {
            vec_store(copy + r * padded + i, vec_load(x + r * stride + i));
        }
        if (whole < d) {
            vec_store(copy + r * padded + whole, vec_load_first(x + r * stride + whole, d - whole));
        }
    }
}

KERNEL_INLINE void add_rows_to(mha_real *y, size_t stride, const mha_real *copy, size_t padded,
    size_t rows, size_t d, bool fresh) {
    const size_t whole = d / VECTOR_LANES * VECTOR_LANES, rest = d - whole;
    const vec zero = vec_all(REAL(0.0));
    for (size_t r = 0; r < rows; r++) {
        mha_real *const to = y + r * stride;
        for (size_t i = 0; i < whole; i += VECTOR_LANES) {
            vec_store(to + i, (fresh ? zero : vec_load(to + i)) + vec_load(copy + r * padded + i));
        }
        if (rest > 0) {
            const vec sum = fresh ? zero : vec_load_first(to + whole, rest);
            vec_store_first(to + whole, sum + vec_load(copy + r * padded + whole), rest);
        }
    }
}

void add_rows(mha_real *y, size_t stride, const mha_real *copy, size_t padded, size_t rows,
    size_t d, bool fresh) {
    if (fresh) {
        add_rows_to(y, stride, copy, padded, rows, d, true);
    } else {
        add_rows_to(y, stride, copy, padded, rows, d, false);
    }
}

void fetch_rows(const mha_real *x, size_t stride, size_t rows, size_t d) {
    enum { LINE = 64 / sizeof(mha_real), CLOSE = 64 * LINE };
    if (rows * stride < CLOSE) {
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < d; i += LINE) {
            __builtin_prefetch(x + r * stride + i, 0, 2);
        }
    }
}

void multiply_allowed(mha_real *y, const mha_real *a, size_t lda, const mha_real *x, size_t padded,
    bool transposed, const seen_rows *seen, size_t begin, size_t end) {
    for (size_t r = 0; r < seen->rows; r++) {
        for (size_t s = begin; s < end; s++) {
            if (!mha_mask_row_allows(&seen->row[r], s)) {
                continue;
            }
            mha_real *const to = y + (transposed ? s - begin : r) * padded;
            const mha_real *const from = x + (transposed ? r : s - begin) * padded;
            for (size_t i = 0; i < padded; i++) {
                to[i] = real_fma(a[r * lda + s - begin], from[i], to[i]);
            }
        }
    }
}
