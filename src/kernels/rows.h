/* What the mask lets the rows of one tile see. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "kernels/kernels.h"

#define seen_rows        KERNEL_NAME(seen_rows)
#define seen_rows_of     KERNEL_NAME(seen_rows_of)
#define any_seen         KERNEL_NAME(any_seen)
#define all_finite       KERNEL_NAME(all_finite)
#define block_row        KERNEL_NAME(block_row)
#define multiply_allowed KERNEL_NAME(multiply_allowed)
#define copy_rows        KERNEL_NAME(copy_rows)
#define add_rows         KERNEL_NAME(add_rows)
#define fetch_rows       KERNEL_NAME(fetch_rows)

/* Queries first .. first + rows - 1. */
typedef struct seen_rows {
    size_t first, rows;
    mha_mask_row row[ATTEND_ROWS];
    size_t limit; /* the largest of the rows: none sees a key from here on */
} seen_rows;

void seen_rows_of(seen_rows *seen, const attend_head *head, size_t first, size_t rows);

/* Whether any row sees any of the keys begin .. end - 1. */
bool any_seen(const seen_rows *seen, size_t begin, size_t end);

/* The first row that may see key s, by its limit; rows where there is none. */
static inline size_t first_seeing(const seen_rows *seen, size_t s) {
    size_t r = 0;
    while (r < seen->rows && seen->row[r].limit <= s) {
        r++;
    }
    return r;
}

/* The largest limit of rows r .. r + count - 1. */
static inline size_t largest_limit(const seen_rows *seen, size_t r, size_t count) {
    size_t largest = 0;
    for (size_t i = r; i < r + count; i++) {
        largest = seen->row[i].limit > largest ? seen->row[i].limit : largest;
    }
    return largest;
}

/* Row t of a tile of keys from `begin` on: x[s - begin] = value where the row does not see key s,
 * for s from begin to end - 1. */
void block_row(mha_real *x, const mha_mask_row *row, size_t begin, size_t end, mha_real value);

/* Whether all of x (count) is finite. */
bool all_finite(const mha_real *x, size_t count);

/* The rows of one head stand among those of others, `stride` apart. They are worked on in copies that are
 * `padded` wide, the head width in whole vectors: copy = x with zeros behind it; y += copy, or where `fresh`
 * y = 0 + copy. */
void copy_rows(
    mha_real *copy, size_t padded, const mha_real *x, size_t stride, size_t rows, size_t d);
void add_rows(mha_real *y, size_t stride, const mha_real *copy, size_t padded, size_t rows,
    size_t d, bool fresh);

/* Asks for rows of x that will be read or added to soon, so that they come into the second cache meanwhile.
 * A few rows close together are there anyway. */
enum { FETCHED_ROWS = 64 }; /* at a time, of a head */
void fetch_rows(const mha_real *x, size_t stride, size_t rows, size_t d);

/* y[t] += a[t,s] x[s] or, transposed, y[s] += a[t,s] x[t], over the rows of `seen` and the keys begin ..
 * end - 1 that they see, s - begin counting in a, x and y; rows of x and y are `padded` wide. A blocked pair
 * adds nothing even where x is not finite. The same bits as the product, where x is finite. */
void multiply_allowed(mha_real *y, const mha_real *a, size_t lda, const mha_real *x, size_t padded,
    bool transposed, const seen_rows *seen, size_t begin, size_t end);

#endif
