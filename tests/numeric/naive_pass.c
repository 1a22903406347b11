#include "base/real.h"

#include <check.h>
#include <stdlib.h>

#include "naive_pass.h"

#define naive_pass_run MHA_NAME(naive_pass)

static mha_real *zeros(size_t count) {
    mha_real *made = calloc(count + 1, sizeof *made);
    ck_assert_ptr_nonnull(made);
    return made;
}

static mha_real *rounded(const double *numbers, size_t count) {
    mha_real *made = zeros(count);
    for (size_t i = 0; i < count; i++) {
        made[i] = (mha_real)numbers[i];
    }
    return made;
}

/* y += x w, (n,D) and (D,D). */
static void multiply(mha_real *y, const mha_real *x, const mha_real *w, size_t n, size_t D) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++) {
            for (size_t k = 0; k < D; k++) {
                y[i * D + j] += x[i * D + k] * w[k * D + j];
            }
        }
    }
}

/* dx += dy w^T, dw += x^T dy. */
static void multiply_back(mha_real *dx, mha_real *dw, const mha_real *dy, const mha_real *x,
    const mha_real *w, size_t n, size_t D) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++) {
            for (size_t k = 0; k < D; k++) {
                dx[i * D + k] += dy[i * D + j] * w[k * D + j];
                dw[k * D + j] += x[i * D + k] * dy[i * D + j];
            }
        }
    }
}

/* All numbers of one pass. */
struct numbers {
    mha_real *leaf[NAIVE_LEAVES], *dleaf[NAIVE_LEAVES];
    mha_real *q, *k, *v, *context, *dq, *dk, *dv, *dcontext, *dout, *row[3];
};

/* The weights of one query: row (S). */
static void weigh(mha_real *row, const mha_real *q, const mha_real *k, const unsigned char *seen,
    const struct naive_pass *pass) {
    const size_t D = pass->shape.width, d = D / pass->shape.heads, S = pass->shape.source_length;
    mha_real most = -REAL_INFINITY, sum = 0;
    for (size_t s = 0; s < S; s++) {
        row[s] = 0;
        for (size_t j = 0; j < d; j++) {
            row[s] += q[j] * k[s * D + j];
        }
        row[s] *= (mha_real)pass->scale;
        most = seen[s] && row[s] > most ? row[s] : most;
    }
    for (size_t s = 0; s < S; s++) {
        row[s] = seen[s] ? real_exp(row[s] - most) : 0;
        sum += row[s];
    }
    for (size_t s = 0; s < S; s++) {
        row[s] = sum > 0 ? row[s] / sum : 0;
    }
}

struct place {
    size_t target, source, pair; /* where the query, the keys and the pairs of a row begin */
};

static struct place place_of(size_t row, const mha_shape *shape) {
    const size_t T = shape->target_length, S = shape->source_length, D = shape->width;
    const size_t t = row % T, head = row / T % shape->heads, b = row / T / shape->heads;
    const size_t first = head * (D / shape->heads);
    return (struct place){(b * T + t) * D + first, b * S * D + first, row * S};
}

static void attend(const struct numbers *all, size_t row, const struct naive_pass *pass) {
    const size_t D = pass->shape.width, d = D / pass->shape.heads;
    const struct place at = place_of(row, &pass->shape);
    weigh(all->row[0], all->q + at.target, all->k + at.source, pass->seen + at.pair, pass);
    for (size_t s = 0; s < pass->shape.source_length; s++) {
        for (size_t j = 0; j < d; j++) {
            all->context[at.target + j] += all->row[0][s] * all->v[at.source + s * D + j];
        }
    }
}

static void attend_back(const struct numbers *all, size_t row, const struct naive_pass *pass) {
    const size_t D = pass->shape.width, d = D / pass->shape.heads, S = pass->shape.source_length;
    const struct place at = place_of(row, &pass->shape);
    mha_real *by_values = all->row[0], *by_softmax = all->row[1], *dp = all->row[2], sum = 0;
    const mha_real *q = all->q + at.target, *k = all->k + at.source;
    weigh(by_values, q, k, pass->seen_by_values + at.pair, pass);
    weigh(by_softmax, q, k, pass->seen_by_softmax + at.pair, pass);
    for (size_t s = 0; s < S; s++) {
        dp[s] = 0;
        for (size_t j = 0; j < d; j++) {
            dp[s] += all->dcontext[at.target + j] * all->v[at.source + s * D + j];
            all->dv[at.source + s * D + j] += by_values[s] * all->dcontext[at.target + j];
        }
        sum += by_softmax[s] * dp[s];
    }
    for (size_t s = 0; s < S; s++) {
        const mha_real ds = (mha_real)pass->scale_back * by_softmax[s] *
                            (dp[s] - (pass->without_row_term ? 0 : sum));
        for (size_t j = 0; j < d; j++) {
            all->dq[at.target + j] += ds * k[s * D + j];
            all->dk[at.source + s * D + j] += ds * q[j];
        }
    }
}

static void walk(const struct numbers *all, const struct naive_pass *pass) {
    const mha_shape *of = &pass->shape;
    const size_t D = of->width, targets = of->batch * of->target_length;
    const size_t sources = of->batch * of->source_length, rows = targets * of->heads;
    mha_real *const *x = all->leaf, *const *dx = all->dleaf;
    multiply(all->q, x[0], x[2], targets, D);
    multiply(all->k, x[1], x[3], sources, D);
    multiply(all->v, x[1], x[4], sources, D);
    for (size_t row = 0; row < rows; row++) {
        attend(all, row, pass);
    }
    multiply_back(all->dcontext, dx[5], all->dout, all->context, x[5], targets, D);
    for (size_t row = 0; row < rows; row++) {
        attend_back(all, row, pass);
    }
    const bool exchanged = pass->exchanges_key_and_value;
    multiply_back(dx[0], dx[2], all->dq, x[0], x[2], targets, D);
    multiply_back(dx[1], dx[3], exchanged ? all->dv : all->dk, x[1], x[3], sources, D);
    multiply_back(dx[1], dx[4], exchanged ? all->dk : all->dv, x[1], x[4], sources, D);
}

void naive_pass_run(const struct naive_pass *pass) {
    const mha_shape *of = &pass->shape;
    const size_t D = of->width, S = of->source_length;
    const size_t target = of->batch * of->target_length * D, source = of->batch * S * D;
    const size_t counts[NAIVE_LEAVES] = {target, source, D * D, D * D, D * D, D * D};
    struct numbers all = {.q = zeros(target), .k = zeros(source), .v = zeros(source)};
    mha_real **others[] = {&all.context, &all.dq, &all.dcontext, &all.dk, &all.dv, &all.row[0],
        &all.row[1], &all.row[2]};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        *others[i] = zeros(i < 3 ? target : i < 5 ? source : S);
    }
    all.dout = rounded(pass->grad_output, target);
    for (size_t i = 0; i < NAIVE_LEAVES; i++) {
        all.leaf[i] = rounded(pass->leaf[i], counts[i]);
        all.dleaf[i] = zeros(counts[i]);
    }
    walk(&all, pass);
    for (size_t i = 0; i < NAIVE_LEAVES; i++) {
        for (size_t j = 0; j < counts[i]; j++) {
            pass->gradient[i][j] = (double)all.dleaf[i][j];
        }
        free(all.leaf[i]);
        free(all.dleaf[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        free(*others[i]);
    }
    free(all.q);
    free(all.k);
    free(all.v);
    free(all.dout);
}
