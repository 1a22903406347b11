#include "gradcheck_rounding.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/case.h"
#include "memory.h"

/* Leaves made from others, number by number. */
struct made_leaves {
    double *numbers;
    struct walk_leaves leaves;
};

static const double *make(double **at, const double *values, size_t count,
    double (*of)(double, mha_rng *), mha_rng *rng) {
    double *made = *at;
    for (size_t i = 0; values != NULL && i < count; i++) {
        made[i] = of(values[i], rng);
    }
    *at += count;
    return values != NULL ? made : NULL;
}

static mha_status make_leaves(struct made_leaves *made, const struct truth *truth,
    double (*of)(double, mha_rng *), mha_rng *rng, mha_error *error) {
    const mha_shape *shape = &truth->walk.pass.shape;
    const size_t D = shape->width, T = mha_value_count(MHA_QUERY, shape);
    const size_t S = mha_value_count(MHA_SOURCE, shape);
    made->numbers = allocate_zeroed(T + S + MHA_WEIGHT_COUNT * D * D, sizeof(double));
    if (made->numbers == NULL) {
        return no_memory(error);
    }
    double *at = made->numbers;
    made->leaves.query = make(&at, truth->leaves.query, T, of, rng);
    made->leaves.source = make(&at, truth->leaves.source, S, of, rng);
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        made->leaves.weights[i] = make(&at, truth->leaves.weights[i], D * D, of, rng);
    }
    return MHA_OK;
}

/* By up to half a unit of float; what doubles may be off by is scaled down. */
static double moved(double x, mha_rng *rng) {
    return x * (1.0 + 0x1p-24 * (2.0 * mha_rng_random(rng) - 1.0));
}

static double squared(double x, mha_rng *rng) {
    (void)rng;
    return x * x;
}

/* Of the squares of all numbers the backward passes of products give sums of squares; those of the softmax and
 * of the scale are these: P^2 (dP^2 + sum over keys of P^2 dP^2), and 1/d. */

static void softmax_squares(const mha_pass *pass, const mha_real *dresult) {
    const size_t S = pass->shape.source_length, T = pass->shape.target_length;
    const size_t rows = pass->shape.batch * pass->shape.heads * T;
    for (size_t row = 0; row < rows; row++) {
        const double *weights = pass->value[MHA_ATTENTION_WEIGHTS] + row * S;
        const double *dweights = dresult + row * S;
        double sum = 0.0;
        for (size_t s = 0; s < S; s++) {
            sum += weights[s] * dweights[s];
        }
        for (size_t s = 0; s < S; s++) {
            pass->gradient[MHA_MASKED][row * S + s] += weights[s] * (dweights[s] + sum);
        }
    }
}

static void scale_squares(const mha_pass *pass, const mha_real *dresult) {
    const double scale = 1.0 / (double)mha_head_width(&pass->shape);
    const size_t count = mha_value_count(MHA_SCORES, &pass->shape);
    for (size_t i = 0; i < count; i++) {
        pass->gradient[MHA_SCORES][i] += scale * dresult[i];
    }
}

/* The squares of the attention weights, and of all that products make the sums of squares of their terms, which what
 * has cancelled in them is rounded by. */
static void forward_of_squares(struct walk *walk, const struct truth *truth) {
    const size_t pairs = mha_value_count(MHA_ATTENTION_WEIGHTS, &walk->pass.shape);
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_stage *stage = &walk->stages[i];
        double *result = walk->activation[stage->result];
        switch (stage->result) {
        case MHA_SCORES:
        case MHA_SCALED:
        case MHA_MASKED:
            break;
        case MHA_ATTENTION_WEIGHTS:
            for (size_t k = 0; k < pairs; k++) {
                result[k] = squared(truth->walk.pass.value[MHA_ATTENTION_WEIGHTS][k], NULL);
            }
            break;
        default:
            stage->forward(result, &walk->pass);
        }
    }
}

/* Forward and backward over the made leaves. */
static mha_status walk_over(struct walk *walk, const struct made_leaves *made,
    const struct truth *truth, const mha_stage *stages, bool squares, mha_error *error) {
    const mha_pass *pass = &truth->walk.pass;
    const size_t outputs = mha_value_count(MHA_OUTPUT, &pass->shape);
    double *grad_output = allocate_zeroed(outputs, sizeof *grad_output);
    if (grad_output == NULL) {
        return no_memory(error);
    }
    const mha_status status =
        walk_create(walk, &made->leaves, pass->mask, &pass->shape, stages, error);
    if (status == MHA_OK) {
        for (size_t i = 0; i < outputs; i++) {
            grad_output[i] = squares ? squared(truth->grad_output[i], NULL) : truth->grad_output[i];
        }
        if (squares) {
            forward_of_squares(walk, truth);
        } else {
            walk_forward(walk);
        }
        walk_backward(walk, grad_output);
    }
    free(grad_output);
    return status;
}

/* What walks have shown of the entries of all claims, one claim behind the other. */
struct shown {
    double *roots;   /* of sums of squares */
    double *changes; /* the largest */
};

static mha_status shown_create(
    struct shown *made, const struct claim_set *set, const mha_shape *shape, mha_error *error) {
    size_t all = 0;
    for (size_t c = 0; c < set->count; c++) {
        all += mha_value_count(set->claims[c].value, shape);
    }
    made->roots = allocate_zeroed(all, 2 * sizeof *made->roots);
    if (made->roots == NULL) {
        return no_memory(error);
    }
    made->changes = made->roots + all;
    return MHA_OK;
}

/* Keeps what a walk shows, of squares or of moved leaves. */
static void see(struct shown *shown, const struct claim_set *set, const struct walk *walk,
    const double *query, bool squares) {
    double *most = squares ? shown->roots : shown->changes;
    for (size_t c = 0; c < set->count; c++) {
        const struct claim *claim = &set->claims[c];
        const double *there = truth_gradient(walk, query, claim->value);
        const size_t count = mha_value_count(claim->value, &walk->pass.shape);
        for (size_t i = 0; i < count; i++, most++) {
            const double size = squares ? sqrt(there[i]) : fabs(there[i] - claim->truth[i]);
            *most = isfinite(size) ? fmax(*most, size) : HUGE_VAL;
        }
    }
}

static mha_status measure(struct shown *shown, const struct claim_set *set,
    const struct truth *truth, bool squares, mha_rng *rng, mha_error *error) {
    struct made_leaves made;
    struct walk walk = {.numbers = NULL};
    mha_stage stages[MHA_STAGE_COUNT];
    memcpy(stages, mha_stages, sizeof stages);
    if (squares) {
        stages[case_stage_of(MHA_ATTENTION_WEIGHTS)].backward = softmax_squares;
        stages[case_stage_of(MHA_SCALED)].backward = scale_squares;
    }
    mha_status status = make_leaves(&made, truth, squares ? squared : moved, rng, error);
    if (status != MHA_OK) {
        return status;
    }
    const size_t queries = mha_value_count(MHA_QUERY, &truth->walk.pass.shape);
    double *query = allocate_zeroed(queries, sizeof *query);
    status =
        query == NULL ? no_memory(error) : walk_over(&walk, &made, truth, stages, squares, error);
    if (status == MHA_OK) {
        join_streams(query, &walk, truth->self_attention);
        see(shown, set, &walk, query, squares);
    }
    walk_destroy(&walk);
    free(query);
    free(made.numbers);
    return status;
}

enum { CHANGES = 64, ROOTS = 32, DRAWS = 8 };

/* Turns the roots into what is allowed. */
static void allow(
    struct claim *claim, double *roots, const double *changes, mha_dtype dtype, size_t count) {
    const bool is_double = dtype == MHA_FLOAT64;
    const double unit = is_double ? DBL_EPSILON : (double)FLT_EPSILON;
    const double least = is_double ? DBL_MIN : (double)FLT_MIN;
    claim->allowed = 0.0;
    for (size_t i = 0; i < count; i++) {
        roots[i] = CHANGES * changes[i] * (unit / (double)FLT_EPSILON) +
                   ROOTS * unit * fmax(roots[i], fabs(claim->truth[i])) + least;
        claim->allowed = fmax(claim->allowed, roots[i]);
    }
    claim->allowed_at = roots;
}

mha_status rounding_set(
    struct claim_set *set, const struct truth *truth, const char *path, mha_error *error) {
    const mha_shape *shape = &truth->walk.pass.shape;
    struct shown shown;
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){0, 6, 2}, 3);
    mha_status status = shown_create(&shown, set, shape, error);
    if (status != MHA_OK) {
        return status;
    }
    set->allowed = shown.roots;
    for (size_t c = 0; c < set->count; c++) {
        set->claims[c].truth = truth_gradient(&truth->walk, truth->query, set->claims[c].value);
    }
    status = measure(&shown, set, truth, true, &rng, error);
    for (int draw = 0; draw < DRAWS && status == MHA_OK; draw++) {
        status = measure(&shown, set, truth, false, &rng, error);
    }
    for (size_t c = 0, at = 0; c < set->count && status == MHA_OK; c++) {
        struct claim *claim = &set->claims[c];
        const size_t count = mha_value_count(claim->value, shape);
        allow(claim, shown.roots + at, shown.changes + at, set->dtype[c], count);
        at += count;
        if (!isfinite(claim->allowed)) {
            status = mha_fail(error, MHA_ERROR_NOT_FINITE,
                "%s: %s comes of numbers that are too large to tell what rounding makes of it",
                path, claim->name);
        }
    }
    return status;
}
