/* The obvious C program: attention on OpenBLAS, one product a head and separate passes for scale, mask
 * and softmax. A rival of the layer, measured as a training step.
 *
 *   openblas B,T,S,D,h[,causal] THREADS
 *
 * prints the median microseconds of a step: forward, mean squared error, gradients of the four weights
 * and the SGD update, in float on data of unit variance. T = S is self-attention. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mha/rng.h>

#include "commands/bench_shape.h"
#include "commands/bench_time.h"

enum { WQ, WK, WV, WO, WEIGHTS };

struct attention {
    int B, T, S, D, h, d;
    bool causal;
    float *x_query, *x_source, *target;  /* (B,T,D), (B,S,D), (B,T,D) */
    float *w[WEIGHTS], *dw[WEIGHTS];     /* (D,D) */
    float *q, *k, *v, *context, *y;      /* (B,T,D) or (B,S,D), heads side by side */
    float *dq, *dk, *dv, *dcontext, *dy; /* likewise */
    float *p, *ds;                       /* (B,h,T,S), (T,S) */
};

/* Numbers from N(0,scale^2). */
static float *draw(size_t count, double scale, mha_rng *rng) {
    float *numbers = calloc(count, sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "openblas: no memory for %zu numbers\n", count);
        exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)(scale * mha_rng_normal(rng));
    }
    return numbers;
}

static void create(struct attention *a, const struct bench_shape *shape) {
    const mha_shape *sizes = &shape->sizes;
    *a = (struct attention){(int)sizes->batch, (int)sizes->target_length, (int)sizes->source_length,
        (int)sizes->width, (int)sizes->heads, (int)mha_head_width(sizes), .causal = shape->causal};
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){0}, 1);
    const size_t D = sizes->width, targets = sizes->batch * sizes->target_length * D;
    const size_t sources = sizes->batch * sizes->source_length * D;
    const size_t scores = sizes->target_length * sizes->source_length;
    a->x_query = draw(targets, 1, &rng);
    a->x_source = a->T == a->S ? a->x_query : draw(sources, 1, &rng);
    a->target = draw(targets, 1, &rng);
    for (int i = 0; i < WEIGHTS; i++) {
        a->w[i] = draw(D * D, 1 / sqrt((double)D), &rng);
        a->dw[i] = draw(D * D, 0, &rng);
    }
    float **const of_targets[] = {&a->q, &a->context, &a->y, &a->dq, &a->dcontext, &a->dy};
    float **const of_sources[] = {&a->k, &a->v, &a->dk, &a->dv};
    for (size_t i = 0; i < sizeof of_targets / sizeof *of_targets; i++) {
        *of_targets[i] = draw(targets, 0, &rng);
    }
    for (size_t i = 0; i < sizeof of_sources / sizeof *of_sources; i++) {
        *of_sources[i] = draw(sources, 0, &rng);
    }
    a->p = draw(sizes->batch * sizes->heads * scores, 0, &rng);
    a->ds = draw(scores, 0, &rng);
}

/* C (M,N) = A B, each perhaps transposed. */
static void product(float *c, int ldc, const float *a, CBLAS_TRANSPOSE ta, int lda, const float *b,
    CBLAS_TRANSPOSE tb, int ldb, int M, int N, int K) {
    cblas_sgemm(CblasRowMajor, ta, tb, M, N, K, 1.0F, a, lda, b, ldb, 0.0F, c, ldc);
}

static void scale_pass(float *scores, int count, float scale) {
    for (int i = 0; i < count; i++) {
        scores[i] *= scale;
    }
}

static void mask_pass(float *scores, int T, int S) {
    for (int t = 0; t < T; t++) {
        for (int s = t + 1; s < S; s++) {
            scores[t * S + s] = -INFINITY;
        }
    }
}

static void softmax_pass(float *scores, int T, int S) {
    for (int t = 0; t < T; t++) {
        float *row = scores + t * S, maximum = row[0], sum = 0.0F;
        for (int s = 1; s < S; s++) {
            maximum = row[s] > maximum ? row[s] : maximum;
        }
        for (int s = 0; s < S; s++) {
            row[s] = expf(row[s] - maximum);
            sum += row[s];
        }
        for (int s = 0; s < S; s++) {
            row[s] /= sum;
        }
    }
}

/* ds holds dP, and becomes dS. */
static void softmax_backward_pass(float *ds, const float *p, int T, int S) {
    for (int t = 0; t < T; t++) {
        float dot = 0.0F;
        for (int s = 0; s < S; s++) {
            dot += p[t * S + s] * ds[t * S + s];
        }
        for (int s = 0; s < S; s++) {
            ds[t * S + s] = p[t * S + s] * (ds[t * S + s] - dot);
        }
    }
}

static void forward(struct attention *a) {
    const int T = a->T, S = a->S, D = a->D, d = a->d;
    const CBLAS_TRANSPOSE n = CblasNoTrans, t = CblasTrans;
    product(a->q, D, a->x_query, n, D, a->w[WQ], n, D, a->B * T, D, D);
    product(a->k, D, a->x_source, n, D, a->w[WK], n, D, a->B * S, D, D);
    product(a->v, D, a->x_source, n, D, a->w[WV], n, D, a->B * S, D, D);
    for (int b = 0; b < a->B; b++) {
        for (int r = 0; r < a->h; r++) {
            float *p = a->p + (size_t)(b * a->h + r) * (size_t)(T * S);
            const size_t at_t = (size_t)(b * T * D + r * d), at_s = (size_t)(b * S * D + r * d);
            product(p, S, a->q + at_t, n, D, a->k + at_s, t, D, T, S, d);
            scale_pass(p, T * S, 1.0F / sqrtf((float)d));
            if (a->causal) {
                mask_pass(p, T, S);
            }
            softmax_pass(p, T, S);
            product(a->context + at_t, D, p, n, S, a->v + at_s, n, D, T, d, S);
        }
    }
    product(a->y, D, a->context, n, D, a->w[WO], n, D, a->B * T, D, D);
}

static void backward(struct attention *a) {
    const int T = a->T, S = a->S, D = a->D, d = a->d;
    const CBLAS_TRANSPOSE n = CblasNoTrans, t = CblasTrans;
    product(a->dw[WO], D, a->context, t, D, a->dy, n, D, D, D, a->B * T);
    product(a->dcontext, D, a->dy, n, D, a->w[WO], t, D, a->B * T, D, D);
    for (int b = 0; b < a->B; b++) {
        for (int r = 0; r < a->h; r++) {
            const float *p = a->p + (size_t)(b * a->h + r) * (size_t)(T * S);
            const size_t at_t = (size_t)(b * T * D + r * d), at_s = (size_t)(b * S * D + r * d);
            product(a->dv + at_s, D, p, t, S, a->dcontext + at_t, n, D, S, d, T);
            product(a->ds, S, a->dcontext + at_t, n, D, a->v + at_s, t, D, T, S, d);
            softmax_backward_pass(a->ds, p, T, S);
            scale_pass(a->ds, T * S, 1.0F / sqrtf((float)d));
            product(a->dq + at_t, D, a->ds, n, S, a->k + at_s, n, D, T, d, S);
            product(a->dk + at_s, D, a->ds, t, S, a->q + at_t, n, D, S, d, T);
        }
    }
    product(a->dw[WQ], D, a->x_query, t, D, a->dq, n, D, D, D, a->B * T);
    product(a->dw[WK], D, a->x_source, t, D, a->dk, n, D, D, D, a->B * S);
    product(a->dw[WV], D, a->x_source, t, D, a->dv, n, D, D, D, a->B * S);
}

/* Mean squared error and its gradient by y. */
static double loss(struct attention *a) {
    const int count = a->B * a->T * a->D;
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        const float difference = a->y[i] - a->target[i];
        sum += (double)(difference * difference);
        a->dy[i] = 2.0F / (float)count * difference;
    }
    return sum / count;
}

static void step(void *context) {
    struct attention *a = context;
    forward(a);
    volatile double kept = loss(a);
    (void)kept;
    backward(a);
    for (int i = 0; i < WEIGHTS; i++) {
        cblas_saxpy(a->D * a->D, -1e-3F, a->dw[i], 1, a->w[i], 1);
    }
}

/* The process ends with the arrays. */
int main(int argc, char **argv) {
    struct bench_shape shape;
    mha_error error;
    char *end = NULL;
    const long threads = argc == 3 ? strtol(argv[2], &end, 10) : 0;
    if (threads < 1 || threads > 1024 || *end != '\0') {
        fputs("openblas: usage: openblas B,T,S,D,h[,causal] THREADS\n", stderr);
        return 2;
    }
    if (bench_shape_parse(&shape, argv[1], &error) != MHA_OK) {
        fprintf(stderr, "openblas: %s\n", error.text);
        return 2;
    }
    if (bench_operations(&shape, BENCH_STEP, MHA_MODE_STORED) > 1e11) {
        fprintf(stderr, "openblas: the shape %s is too large for this program\n", argv[1]);
        return 2;
    }
    openblas_set_num_threads((int)threads);
    struct attention attention;
    create(&attention, &shape);
    printf("%.3f\n", 1e6 * median_seconds(step, &attention));
    return 0;
}
