/* Scale and softmax. */
#include "checks/float/rules.h"

#include <math.h>

enum {
    /* 1/sqrt(d): a root and a quotient; then the product. */
    SCALE_ROUNDINGS = 3,
    /* The exponential's own, which is off by less than an ulp, the inverse and the product. The first term
     * of the sum is not rounded. */
    WEIGHT_ROUNDINGS = 3,
    /* The fused wing's exponent, (s - m) log2(e) / sqrt(d): log2(e), a root, a quotient, difference, product. */
    EXPONENT_ROUNDINGS = 5,
    /* Difference and product behind the sum, and the fused wing's scale. */
    GRADIENT_ROUNDINGS = 3
};

/* An exponential below the smallest normal number, 2^-126, counts as 0: that many ulps of 2^-23. */
static const double FLUSHED = 0x1p-103;

/* R(c x) = |c|(R(x) + |x|). */
static void add_scaled(struct bounded *y, const struct bounded *x, const mha_shape *shape) {
    const double scale = 1 / sqrt((double)mha_head_width(shape));
    const size_t count = mha_value_count(MHA_SCORES, shape);
    for (size_t i = 0; i < count; i++) {
        y->magnitude[i] += scale * (x->magnitude[i] + fabs(x->x[i]));
    }
    round_into(y, x, x, float_sum_bound(SCALE_ROUNDINGS));
}

void scale_forward(struct bounded_pass *pass) {
    add_scaled(&pass->value[MHA_SCALED], &pass->value[MHA_SCORES], pass->shape);
}

void scale_backward(struct bounded_pass *pass) {
    add_scaled(&pass->gradient[MHA_SCORES], &pass->gradient[MHA_SCALED], pass->shape);
}

static double largest_of(const double *x, size_t count) {
    double largest = -(double)INFINITY;
    for (size_t s = 0; s < count; s++) {
        largest = fmax(largest, x[s]);
    }
    return largest;
}

/* One row of P = exp(x - m) / sum of exp(x - m). The difference is off by u|x - m| + u R(x), and that is what
 * its exponential is off by, relative to itself: a(s) = |x - m| + R(x). The maximum m cancels. The sum carries
 * the mean of a, and its own roundings are relative to P:
 *     R(P) = P (1 + a(s) + sum_r P(r) a(r)). */
static void weigh_row(
    double *magnitude, const double *x, const double *dx, const double *weights, size_t S) {
    const double maximum = largest_of(x, S);
    double mean = 0;
    for (size_t s = 0; s < S; s++) {
        mean += isfinite(x[s]) ? weights[s] * (maximum - x[s] + dx[s]) : 0;
    }
    for (size_t s = 0; s < S; s++) {
        if (isfinite(x[s])) {
            magnitude[s] = weights[s] * (1 + maximum - x[s] + dx[s] + mean) + FLUSHED;
        }
    }
}

void softmax_forward(struct bounded_pass *pass) {
    const struct bounded *const x = &pass->value[MHA_MASKED];
    struct bounded *const weights = &pass->value[MHA_ATTENTION_WEIGHTS];
    const mha_shape *const shape = pass->shape;
    const size_t S = shape->source_length;
    for (size_t row = 0; row < shape->batch * shape->heads * shape->target_length; row++) {
        weigh_row(weights->magnitude + row * S, x->x + row * S, x->magnitude + row * S,
            weights->x + row * S, S);
    }
    const size_t own = S + WEIGHT_ROUNDINGS - 1;
    const size_t least = pass->fused ? EXPONENT_ROUNDINGS : 1;
    round_into(weights, x, x, float_softmax_bound(own > least ? own : least));
}

/* delta = sum_s P dP, and its magnitude, by the rule of products. */
struct delta {
    double x, magnitude;
};

static struct delta delta_of_weights(const struct bounded_pass *pass, size_t row) {
    const size_t S = pass->shape->source_length;
    const struct bounded *const weights = &pass->value[MHA_ATTENTION_WEIGHTS];
    const struct bounded *const dweights = &pass->gradient[MHA_ATTENTION_WEIGHTS];
    struct delta delta = {0, 0};
    for (size_t i = row * S; i < (row + 1) * S; i++) {
        const double p = weights->x[i], dp = dweights->x[i];
        delta.x += p * dp;
        delta.magnitude +=
            weights->magnitude[i] * fabs(dp) + p * dweights->magnitude[i] + p * fabs(dp);
    }
    return delta;
}

/* The fused wing has the same number as sum_i dC C over the head's width. */
static double delta_of_context(const struct bounded_pass *pass, size_t row) {
    const size_t d = mha_head_width(pass->shape);
    const struct bounded *const context = &pass->value[MHA_CONTEXT_HEADS];
    const struct bounded *const dcontext = &pass->gradient[MHA_CONTEXT_HEADS];
    double magnitude = 0;
    for (size_t i = row * d; i < (row + 1) * d; i++) {
        const double c = fabs(context->x[i]), dc = fabs(dcontext->x[i]);
        magnitude += context->magnitude[i] * dc + c * dcontext->magnitude[i] + c * dc;
    }
    return magnitude;
}

/* dx(s) = P(s) (dP(s) - delta):
 *     R(dx) = R(P)|dP - delta| + |P|(R(dP) + R(delta) + |dP|),
 * which is P (|dP| + sum P|dP|) where P and dP are exact. */
void softmax_backward(struct bounded_pass *pass) {
    const mha_shape *const shape = pass->shape;
    const size_t S = shape->source_length, d = mha_head_width(shape);
    const struct bounded *const weights = &pass->value[MHA_ATTENTION_WEIGHTS];
    const struct bounded *const dweights = &pass->gradient[MHA_ATTENTION_WEIGHTS];
    struct bounded *const dx = &pass->gradient[MHA_MASKED];
    for (size_t row = 0; row < shape->batch * shape->heads * shape->target_length; row++) {
        struct delta delta = delta_of_weights(pass, row);
        if (pass->fused) {
            delta.magnitude = delta_of_context(pass, row);
        }
        for (size_t i = row * S; i < (row + 1) * S; i++) {
            const double p = weights->x[i], dp = dweights->x[i];
            dx->magnitude[i] += weights->magnitude[i] * fabs(dp - delta.x) +
                                p * (dweights->magnitude[i] + delta.magnitude + fabs(dp));
        }
    }
    round_into(dx, weights, dweights, float_sum_bound((pass->fused ? d : S) + GRADIENT_ROUNDINGS));
}
