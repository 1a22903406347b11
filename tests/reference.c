#include "reference.h"

#include <math.h>
#include <stdlib.h>

/* value + derivative e, with e e = 0 */
typedef struct dual {
    double value, derivative;
} dual;

static dual dual_add(dual a, dual b) {
    return (dual){a.value + b.value, a.derivative + b.derivative};
}

static dual dual_multiply(dual a, dual b) {
    return (dual){a.value * b.value, a.derivative * b.value + a.value * b.derivative};
}

static dual dual_divide(dual a, dual b) {
    const double quotient = a.value / b.value;
    return (dual){quotient, (a.derivative - quotient * b.derivative) / b.value};
}

static dual dual_exp(dual a) {
    const double e = exp(a.value);
    return (dual){e, a.derivative * e};
}

/* All arrays of one pass, in one block. In self-attention source is query. */
typedef struct duals {
    dual *block;
    dual *query, *source, *weights[REFERENCE_WEIGHTS];
    dual *q, *k, *v; /* (B,T,D), (B,S,D), (B,S,D) */
    dual *pairs;     /* (B,h,T,S) attention weights */
    dual *context;   /* (B,T,D) */
    dual *output;    /* (B,T,D) */
} duals;

static bool sees(const reference_problem *p, size_t b, size_t h, size_t t, size_t s) {
    const reference_mask *mask = &p->mask;
    if (mask->alignment == REFERENCE_FIRST_KEYS && s > t) {
        return false;
    }
    /* counted from the ends, where query and key 0 stand together */
    if (mask->alignment == REFERENCE_LAST_KEYS &&
        p->target_length - 1 - t > p->source_length - 1 - s) {
        return false;
    }
    if (mask->lengths != NULL && (int64_t)s >= mask->lengths[b]) {
        return false;
    }
    return mask->allowed == NULL || mask->allowed[b * mask->steps[0] + h * mask->steps[1] +
                                                  t * mask->steps[2] + s * mask->steps[3]] == 1;
}

static void project(dual *y, const dual *x, const dual *w, size_t rows, size_t width) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < width; j++) {
            dual sum = {0.0, 0.0};
            for (size_t i = 0; i < width; i++) {
                sum = dual_add(sum, dual_multiply(x[r * width + i], w[i * width + j]));
            }
            y[r * width + j] = sum;
        }
    }
}

static dual score(
    const duals *a, const reference_problem *p, size_t b, size_t h, size_t t, size_t s) {
    const size_t width = p->width, head_width = width / p->heads;
    dual sum = {0.0, 0.0};
    for (size_t c = h * head_width; c < (h + 1) * head_width; c++) {
        sum = dual_add(sum, dual_multiply(a->q[(b * p->target_length + t) * width + c],
                                a->k[(b * p->source_length + s) * width + c]));
    }
    return dual_divide(sum, (dual){sqrt((double)head_width), 0.0});
}

/* Attention weights and context of one query in one head; both are zero when it sees nothing. */
static void attend(duals *a, const reference_problem *p, size_t b, size_t h, size_t t) {
    const size_t S = p->source_length, width = p->width, head_width = width / p->heads;
    dual *row = a->pairs + ((b * p->heads + h) * p->target_length + t) * S;
    double largest = -HUGE_VAL;
    for (size_t s = 0; s < S; s++) {
        if (sees(p, b, h, t, s)) {
            largest = fmax(largest, score(a, p, b, h, t, s).value);
        }
    }
    dual sum = {0.0, 0.0};
    for (size_t s = 0; s < S; s++) {
        row[s] = (dual){0.0, 0.0};
        if (sees(p, b, h, t, s)) {
            row[s] = dual_exp(dual_add(score(a, p, b, h, t, s), (dual){-largest, 0.0}));
            sum = dual_add(sum, row[s]);
        }
    }
    for (size_t c = h * head_width; c < (h + 1) * head_width; c++) {
        dual mean = {0.0, 0.0};
        for (size_t s = 0; s < S; s++) {
            if (sees(p, b, h, t, s)) {
                mean = dual_add(
                    mean, dual_multiply(dual_divide(row[s], sum), a->v[(b * S + s) * width + c]));
            }
        }
        a->context[(b * p->target_length + t) * width + c] = mean;
    }
    for (size_t s = 0; s < S; s++) {
        row[s] = sees(p, b, h, t, s) ? dual_divide(row[s], sum) : row[s];
    }
}

static void compute(duals *a, const reference_problem *p) {
    const size_t targets = p->batch * p->target_length, sources = p->batch * p->source_length;
    project(a->q, a->query, a->weights[0], targets, p->width);
    project(a->k, a->source, a->weights[1], sources, p->width);
    project(a->v, a->source, a->weights[2], sources, p->width);
    for (size_t b = 0; b < p->batch; b++) {
        for (size_t h = 0; h < p->heads; h++) {
            for (size_t t = 0; t < p->target_length; t++) {
                attend(a, p, b, h, t);
            }
        }
    }
    project(a->output, a->context, a->weights[3], targets, p->width);
}

/* The next count duals of the block, with the given values and no derivative. */
static dual *take(dual **next, const double *values, size_t count) {
    dual *taken = *next;
    for (size_t i = 0; i < count; i++) {
        taken[i] = (dual){values == NULL ? 0.0 : values[i], 0.0};
    }
    *next += count;
    return taken;
}

static bool load(duals *a, const reference_problem *p) {
    const size_t targets = p->batch * p->target_length * p->width;
    const size_t sources = p->batch * p->source_length * p->width;
    const size_t pairs = p->batch * p->heads * p->target_length * p->source_length;
    const size_t matrix = p->width * p->width;
    a->block =
        calloc(4 * targets + 3 * sources + pairs + REFERENCE_WEIGHTS * matrix, sizeof *a->block);
    if (a->block == NULL) {
        return false;
    }
    dual *next = a->block;
    a->query = take(&next, p->query, targets);
    a->source = p->source == NULL ? a->query : take(&next, p->source, sources);
    for (size_t i = 0; i < REFERENCE_WEIGHTS; i++) {
        a->weights[i] = take(&next, p->weights[i], matrix);
    }
    a->q = take(&next, NULL, targets);
    a->k = take(&next, NULL, sources);
    a->v = take(&next, NULL, sources);
    a->pairs = take(&next, NULL, pairs);
    a->context = take(&next, NULL, targets);
    a->output = take(&next, NULL, targets);
    return true;
}

bool reference_forward(
    double *output, double *attention_weights, const reference_problem *problem) {
    duals a;
    if (!load(&a, problem)) {
        return false;
    }
    compute(&a, problem);
    const size_t queries = problem->batch * problem->target_length;
    for (size_t i = 0; i < queries * problem->width; i++) {
        output[i] = a.output[i].value;
    }
    for (size_t i = 0; i < queries * problem->heads * problem->source_length; i++) {
        attention_weights[i] = a.pairs[i].value;
    }
    free(a.block);
    return true;
}

/* gradient[i] = sum of doutput * d(output)/d(x[i]) for x (count), one pass for each i. */
static void differentiate(double *gradient, dual *x, size_t count, duals *a, const double *doutput,
    const reference_problem *p) {
    for (size_t i = 0; i < count; i++) {
        x[i].derivative = 1.0;
        compute(a, p);
        x[i].derivative = 0.0;
        gradient[i] = 0.0;
        for (size_t o = 0; o < p->batch * p->target_length * p->width; o++) {
            gradient[i] += doutput[o] * a->output[o].derivative;
        }
    }
}

bool reference_gradients(double *dquery, double *dsource, double *const dweights[REFERENCE_WEIGHTS],
    const double *doutput, const reference_problem *problem) {
    const size_t width = problem->width, batch = problem->batch;
    duals a;
    if (!load(&a, problem)) {
        return false;
    }
    differentiate(dquery, a.query, batch * problem->target_length * width, &a, doutput, problem);
    if (problem->source != NULL) {
        differentiate(
            dsource, a.source, batch * problem->source_length * width, &a, doutput, problem);
    }
    for (size_t i = 0; i < REFERENCE_WEIGHTS; i++) {
        differentiate(dweights[i], a.weights[i], width * width, &a, doutput, problem);
    }
    free(a.block);
    return true;
}
