#include "gradcheck_functions.h"

#include <math.h>
#include <string.h>

static void polynomial_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->y[i] = m->x[i] * m->x[i] * m->x[i] - 2.0 * m->x[i];
    }
}

static void polynomial_backward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += m->dy[i] * (3.0 * m->x[i] * m->x[i] - 2.0);
    }
}

/* y = x, without rounding. */
static void identity_forward(model *m) {
    memcpy(m->y, m->x, m->rows * COLUMNS * sizeof *m->y);
}

static void identity_backward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += m->dy[i];
    }
}

/* sum over k of x[row,k] w[k,column] */
static double product(const model *m, size_t row, size_t column) {
    double sum = 0.0;
    for (size_t k = 0; k < COLUMNS; k++) {
        sum += m->x[row * COLUMNS + k] * m->w[k * COLUMNS + column];
    }
    return sum;
}

static void product_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->y[i] = product(m, i / COLUMNS, i % COLUMNS);
    }
}

static void add_product_backward(model *m, size_t row, size_t column, double dproduct) {
    for (size_t k = 0; k < COLUMNS; k++) {
        m->dx[row * COLUMNS + k] += dproduct * m->w[k * COLUMNS + column];
        m->dw[k * COLUMNS + column] += dproduct * m->x[row * COLUMNS + k];
    }
}

static void product_backward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        add_product_backward(m, i / COLUMNS, i % COLUMNS, m->dy[i]);
    }
}

/* y = (x w) times x, entry by entry: x is reached on two paths. */
static void gated_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->y[i] = product(m, i / COLUMNS, i % COLUMNS) * m->x[i];
    }
}

static void gated_backward_lost_path(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        add_product_backward(m, i / COLUMNS, i % COLUMNS, m->dy[i] * m->x[i]);
    }
}

static void gated_backward(model *m) {
    gated_backward_lost_path(m);
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += m->dy[i] * product(m, i / COLUMNS, i % COLUMNS);
    }
}

static void gated_backward_overwriting(model *m) {
    gated_backward_lost_path(m);
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] = m->dy[i] * product(m, i / COLUMNS, i % COLUMNS);
    }
}

static void softmax_forward(model *m) {
    for (size_t row = 0; row < m->rows; row++) {
        const double *x = m->x + row * COLUMNS;
        double *y = m->y + row * COLUMNS, sum = 0.0;
        for (size_t j = 0; j < COLUMNS; j++) {
            sum += y[j] = exp(x[j]);
        }
        for (size_t j = 0; j < COLUMNS; j++) {
            y[j] /= sum;
        }
    }
}

static void add_softmax_backward(model *m, double factor, double row_factor) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        double row_term = 0.0;
        for (size_t j = i / COLUMNS * COLUMNS; j < (i / COLUMNS + 1) * COLUMNS; j++) {
            row_term += m->dy[j] * m->y[j];
        }
        m->dx[i] += factor * m->y[i] * (m->dy[i] - row_factor * row_term);
    }
}

static void softmax_backward(model *m) {
    add_softmax_backward(m, 1.0, 1.0);
}

static void softmax_backward_doubled(model *m) {
    add_softmax_backward(m, 2.0, 1.0);
}

static void softmax_backward_without_row_term(model *m) {
    add_softmax_backward(m, 1.0, 0.0);
}

/* y = w[0] n + w[1] with n the row of x less its mean, divided by its deviation. */
static double normalised(double n[COLUMNS], const double *x) {
    double mean = 0.0, variance = 0.0;
    for (size_t j = 0; j < COLUMNS; j++) {
        mean += x[j] / COLUMNS;
    }
    for (size_t j = 0; j < COLUMNS; j++) {
        variance += (x[j] - mean) * (x[j] - mean) / COLUMNS;
    }
    for (size_t j = 0; j < COLUMNS; j++) {
        n[j] = (x[j] - mean) / sqrt(variance);
    }
    return sqrt(variance);
}

static void normalisation_forward(model *m) {
    double n[COLUMNS];
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        normalised(n, m->x + i / COLUMNS * COLUMNS);
        m->y[i] = m->w[i % COLUMNS] * n[i % COLUMNS] + m->w[COLUMNS + i % COLUMNS];
    }
}

static void normalisation_backward(model *m) {
    for (size_t row = 0; row < m->rows; row++) {
        const double *dy = m->dy + row * COLUMNS;
        double n[COLUMNS], mean = 0.0, mean_along_n = 0.0;
        const double deviation = normalised(n, m->x + row * COLUMNS);
        for (size_t j = 0; j < COLUMNS; j++) {
            m->dw[j] += dy[j] * n[j];
            m->dw[COLUMNS + j] += dy[j];
            mean += dy[j] * m->w[j] / COLUMNS;
            mean_along_n += dy[j] * m->w[j] * n[j] / COLUMNS;
        }
        for (size_t j = 0; j < COLUMNS; j++) {
            double dn = dy[j] * m->w[j];
            m->dx[row * COLUMNS + j] += (dn - mean - n[j] * mean_along_n) / deviation;
        }
    }
}

/* y = x x, but for one output that is blocked. */
static void blocked_forward(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->y[i] = i == SPOILED ? -(double)INFINITY : m->x[i] * m->x[i];
    }
}

static void blocked_backward_leaking(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] += 2.0 * m->x[i] * m->dy[i];
    }
}

static void blocked_backward(model *m) {
    const double kept = m->dx[SPOILED];
    blocked_backward_leaking(m);
    m->dx[SPOILED] = kept;
}

static void spoil_sign(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] = -m->dx[i];
    }
}

static void spoil_factor(model *m) {
    for (size_t i = 0; i < m->rows * COLUMNS; i++) {
        m->dx[i] *= 1.00001;
    }
}

static void spoil_all_zero(model *m) {
    memset(m->dx, 0, sizeof m->dx);
}

static void spoil_transposed(model *m) {
    for (size_t i = 0; i < COLUMNS; i++) {
        for (size_t j = 0; j < i; j++) {
            double moved = m->dw[i * COLUMNS + j];
            m->dw[i * COLUMNS + j] = m->dw[j * COLUMNS + i];
            m->dw[j * COLUMNS + i] = moved;
        }
    }
}

static void spoil_entry(model *m) {
    m->dx[SPOILED] += 0.01;
}

static void spoil_pair(model *m) {
    m->dx[SPOILED] += 0.1 / fmax(1.0, fabs(m->x[SPOILED]));
    m->dx[SPOILED + 1] -= 0.1 / fmax(1.0, fabs(m->x[SPOILED + 1]));
}

static void spoil_nan(model *m) {
    m->dx[SPOILED] = (double)NAN;
}

static void spoil_infinity(model *m) {
    m->dx[SPOILED] = -(double)INFINITY;
}

static void spoil_forgotten_w(model *m) {
    memset(m->dw, 0, sizeof m->dw);
}

static void spoil_unused_w(model *m) {
    m->dw[SPOILED] = 2e-9;
    m->dw[SPOILED + 1] = -3e-9;
}

static void spoil_unused_w_nan(model *m) {
    m->dw[SPOILED] = (double)NAN;
}

const example example_polynomial = {polynomial_forward, polynomial_backward, 0, NULL};
const example example_identity = {identity_forward, identity_backward, 0, NULL};
const example example_matrix_product = {product_forward, product_backward, COLUMNS, NULL};
const example example_gated_product = {gated_forward, gated_backward, COLUMNS, NULL};
const example example_softmax_row = {softmax_forward, softmax_backward, 0, NULL};
const example example_layer_normalisation = {
    normalisation_forward, normalisation_backward, 2, NULL};
const example example_blocked_square = {blocked_forward, blocked_backward, 0, NULL};

const example example_fault_sign = {polynomial_forward, polynomial_backward, 0, spoil_sign};
const example example_fault_factor = {polynomial_forward, polynomial_backward, 0, spoil_factor};
const example example_fault_all_zero = {polynomial_forward, polynomial_backward, 0, spoil_all_zero};
const example example_fault_entry = {polynomial_forward, polynomial_backward, 0, spoil_entry};
const example example_fault_pair = {polynomial_forward, polynomial_backward, 0, spoil_pair};
const example example_fault_nan = {polynomial_forward, polynomial_backward, 0, spoil_nan};
const example example_fault_infinity = {polynomial_forward, polynomial_backward, 0, spoil_infinity};
const example example_fault_transposed = {
    product_forward, product_backward, COLUMNS, spoil_transposed};
const example example_fault_overwritten = {
    gated_forward, gated_backward_overwriting, COLUMNS, NULL};
const example example_fault_lost_path = {gated_forward, gated_backward_lost_path, COLUMNS, NULL};
const example example_fault_doubled = {softmax_forward, softmax_backward_doubled, 0, NULL};
const example example_fault_without_row_term = {
    softmax_forward, softmax_backward_without_row_term, 0, NULL};
const example example_fault_leaking = {blocked_forward, blocked_backward_leaking, 0, NULL};

const example example_unused_w = {polynomial_forward, polynomial_backward, COLUMNS, NULL};
const example example_unused_w_not_zero = {
    polynomial_forward, polynomial_backward, COLUMNS, spoil_unused_w};
const example example_unused_w_nan = {
    polynomial_forward, polynomial_backward, COLUMNS, spoil_unused_w_nan};
const example example_forgotten_w = {product_forward, product_backward, COLUMNS, spoil_forgotten_w};
