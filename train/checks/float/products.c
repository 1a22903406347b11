/* Products: R(sum a b) = sum (R(a)|b| + |a|R(b) + |a||b|), each of as many roundings as it has terms. */
#include "checks/float/rules.h"

#include <math.h>

/* Entry (i,k) stands at [i * row + k * column]. */
struct bounded_matrix {
    const double *x, *magnitude;
    size_t row, column;
};

/* Adds the magnitudes of a (M,K) b (K,N) to those of c (M,N), whose rows are N apart. */
static void add_product_magnitudes(
    double *c, struct bounded_matrix a, struct bounded_matrix b, size_t M, size_t N, size_t K) {
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++) {
                const size_t at = i * a.row + k * a.column, bt = k * b.row + j * b.column;
                const double x = fabs(a.x[at]), y = fabs(b.x[bt]);
                sum += a.magnitude[at] * y + x * b.magnitude[bt] + x * y;
            }
            c[i * N + j] += sum;
        }
    }
}

/* x (rows,columns) from entry `first` on, and its transpose. */
static struct bounded_matrix matrix_of(const struct bounded *x, size_t first, size_t columns) {
    return (struct bounded_matrix){x->x + first, x->magnitude + first, columns, 1};
}

static struct bounded_matrix transposed(struct bounded_matrix x) {
    return (struct bounded_matrix){x.x, x.magnitude, x.column, x.row};
}

/* A gradient that a sum of `terms` is added to, on from what others left there. */
static void add_into(
    struct bounded *y, const struct bounded *a, const struct bounded *b, size_t terms) {
    y->terms += terms;
    round_into(y, a, b, float_sum_bound(y->terms));
}

/* The projections. Rows of the source that no query sees are never read, and count as zeros. */

struct projection {
    mha_value x, w;
    bool of_source;
};

static struct projection projection_of(mha_value result) {
    switch (result) {
    case MHA_Q:
        return (struct projection){MHA_QUERY, MHA_WQ, false};
    case MHA_K:
        return (struct projection){MHA_SOURCE, MHA_WK, true};
    case MHA_V:
        return (struct projection){MHA_SOURCE, MHA_WV, true};
    default:
        return (struct projection){MHA_CONTEXT, MHA_WO, false};
    }
}

static size_t length_of(const struct bounded_pass *pass, const struct projection *projection) {
    return projection->of_source ? pass->shape->source_length : pass->shape->target_length;
}

static bool row_counts(
    const struct bounded_pass *pass, const struct projection *projection, size_t row) {
    const size_t S = pass->shape->source_length;
    return !projection->of_source || pass->mask == NULL ||
           mha_mask_sees_source(pass->mask, pass->shape, row / S, row % S);
}

void project_forward(struct bounded_pass *pass, mha_value result) {
    const struct projection of = projection_of(result);
    const size_t D = pass->shape->width, rows = pass->shape->batch * length_of(pass, &of);
    const struct bounded *const x = &pass->value[of.x], *const w = &pass->value[of.w];
    struct bounded *const y = &pass->value[result];
    for (size_t row = 0; row < rows; row++) {
        if (row_counts(pass, &of, row)) {
            add_product_magnitudes(
                y->magnitude + row * D, matrix_of(x, row * D, D), matrix_of(w, 0, D), 1, D, D);
        }
    }
    round_into(y, x, w, float_sum_bound(D));
}

/* dx += dy w^T, dw += x^T dy. */
void project_backward(struct bounded_pass *pass, mha_value result) {
    const struct projection of = projection_of(result);
    const size_t D = pass->shape->width, rows = pass->shape->batch * length_of(pass, &of);
    const struct bounded *const x = &pass->value[of.x], *const w = &pass->value[of.w];
    const struct bounded *const dy = &pass->gradient[result];
    /* In self-attention the source is the query. */
    struct bounded *const dx =
        pass->gradient[of.x].x == NULL ? &pass->gradient[MHA_QUERY] : &pass->gradient[of.x];
    struct bounded *const dw = &pass->gradient[of.w];
    for (size_t row = 0; row < rows; row++) {
        if (row_counts(pass, &of, row)) {
            const struct bounded_matrix dy_row = matrix_of(dy, row * D, D);
            add_product_magnitudes(
                dx->magnitude + row * D, dy_row, transposed(matrix_of(w, 0, D)), 1, D, D);
            add_product_magnitudes(
                dw->magnitude, transposed(matrix_of(x, row * D, D)), dy_row, D, D, 1);
        }
    }
    add_into(dx, dy, w, D);
    add_into(dw, x, dy, rows);
}

/* Products of each head: y (B,h,M,N) += a (M,K) b (K,N), each given transposed where it stands so. */
struct head_product {
    size_t M, N, K;
    bool a_transposed, b_transposed;
};

static void add_heads(struct bounded *y, const struct bounded *a, const struct bounded *b,
    struct head_product of, size_t heads) {
    const size_t M = of.M, N = of.N, K = of.K;
    for (size_t bh = 0; bh < heads; bh++) {
        const struct bounded_matrix a_bh =
            of.a_transposed ? transposed(matrix_of(a, bh * M * K, M)) : matrix_of(a, bh * M * K, K);
        const struct bounded_matrix b_bh =
            of.b_transposed ? transposed(matrix_of(b, bh * K * N, K)) : matrix_of(b, bh * K * N, N);
        add_product_magnitudes(y->magnitude + bh * M * N, a_bh, b_bh, M, N, K);
    }
    add_into(y, a, b, K);
}

void scores_forward(struct bounded_pass *pass) {
    const mha_shape *const shape = pass->shape;
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    add_heads(&pass->value[MHA_SCORES], &pass->value[MHA_Q_HEADS], &pass->value[MHA_K_HEADS],
        (struct head_product){T, S, d, false, true}, shape->batch * shape->heads);
}

/* dq += dscores k, dk += dscores^T q. */
void scores_backward(struct bounded_pass *pass) {
    const mha_shape *const shape = pass->shape;
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    const size_t heads = shape->batch * shape->heads;
    const struct bounded *const dscores = &pass->gradient[MHA_SCORES];
    add_heads(&pass->gradient[MHA_Q_HEADS], dscores, &pass->value[MHA_K_HEADS],
        (struct head_product){T, d, S, false, false}, heads);
    add_heads(&pass->gradient[MHA_K_HEADS], dscores, &pass->value[MHA_Q_HEADS],
        (struct head_product){S, d, T, true, false}, heads);
}

void context_forward(struct bounded_pass *pass) {
    const mha_shape *const shape = pass->shape;
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    add_heads(&pass->value[MHA_CONTEXT_HEADS], &pass->value[MHA_ATTENTION_WEIGHTS],
        &pass->value[MHA_V_HEADS], (struct head_product){T, d, S, false, false},
        shape->batch * shape->heads);
}

/* dweights += dcontext v^T, dv += weights^T dcontext. */
void context_backward(struct bounded_pass *pass) {
    const mha_shape *const shape = pass->shape;
    const size_t T = shape->target_length, S = shape->source_length, d = mha_head_width(shape);
    const size_t heads = shape->batch * shape->heads;
    const struct bounded *const dcontext = &pass->gradient[MHA_CONTEXT_HEADS];
    add_heads(&pass->gradient[MHA_ATTENTION_WEIGHTS], dcontext, &pass->value[MHA_V_HEADS],
        (struct head_product){T, S, d, false, true}, heads);
    add_heads(&pass->gradient[MHA_V_HEADS], &pass->value[MHA_ATTENTION_WEIGHTS], dcontext,
        (struct head_product){S, d, T, true, false}, heads);
}
