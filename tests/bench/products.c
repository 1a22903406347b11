/* The library's matrix products against OpenBLAS, in float on one thread, in turn, by processor time:
 * those of the layer's projections and their gradients, as the layer runs them, and those of the tiles
 * of attention. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/real.h"
#include "fused/fused.h"
#include "kernels/kernels.h"

#include "commands/bench_machine.h"
#include "commands/bench_time.h"

enum { NN, NT, TN };
enum { ROUNDS = 11 };
static const char *const form_names[] = {[NN] = "nn", [NT] = "nt", [TN] = "tn"};
static const double block_seconds = 0.004;

/* C (M,N) of A and B: nn A (M,K) B (K,N), nt B (N,K), tn A (K,M). A tile adds to C; of a layer nn is
 * y = x w, which overwrites, nt dx += dy w^T, and tn dw += x^T dy. */
struct product_case {
    int form, M, N, K;
    mha_fused *fused; /* of a layer; NULL for a tile */
    mha_real *a, *b, *c, *scratch;
};

static void run_layer(const struct product_case *made) {
    const size_t M = (size_t)made->M, N = (size_t)made->N, K = (size_t)made->K;
    switch (made->form) {
    case NN:
        fused_projection_forward(made->c, made->a, made->b, M, K, N, made->fused);
        break;
    case NT:
        fused_projection_backward(
            made->c, false, NULL, made->a, NULL, made->b, M, N, K, made->fused);
        break;
    default:
        fused_projection_backward(
            NULL, false, made->c, made->b, made->a, NULL, K, M, N, made->fused);
    }
}

static void run_own(const struct product_case *made) {
    if (made->fused != NULL) {
        run_layer(made);
        return;
    }
    const size_t M = (size_t)made->M, N = (size_t)made->N, K = (size_t)made->K;
    const operand a = made->form == TN ? (operand){made->a, 1, M} : (operand){made->a, K, 1};
    const operand b = made->form == NT ? (operand){made->b, 1, K} : (operand){made->b, N, 1};
    const product whole = {made->c, N, a, b, M, N, K, PRODUCT_CONTINUE, made->scratch};
    kernels_get()->multiply(&whole);
}

static void run_openblas(const struct product_case *made) {
    const float keep = made->fused != NULL && made->form == NN ? 0.0F : 1.0F;
    cblas_sgemm(CblasRowMajor, made->form == TN ? CblasTrans : CblasNoTrans,
        made->form == NT ? CblasTrans : CblasNoTrans, made->M, made->N, made->K, 1.0F, made->a,
        made->form == TN ? made->M : made->K, made->b, made->form == NT ? made->K : made->N, keep,
        made->c, made->N);
}

static double seconds_of(
    void (*run)(const struct product_case *), const struct product_case *made, size_t count) {
    const double begin = processor_seconds();
    for (size_t i = 0; i < count; i++) {
        run(made);
    }
    return (processor_seconds() - begin) / (double)count;
}

static mha_real *numbers(int rows, int columns, mha_rng *rng) {
    const size_t count = (size_t)rows * (size_t)columns;
    mha_real *made = NULL;
    void *block = NULL;
    if (posix_memalign(&block, 64, count * sizeof *made) != 0) {
        fprintf(stderr, "products: no memory for %zu numbers\n", count);
        exit(2);
    }
    made = block;
    for (size_t i = 0; i < count; i++) {
        made[i] = (mha_real)mha_rng_normal(rng);
    }
    return made;
}

/* Both add the same product to zero, so they may differ by rounding alone. */
static void check_same(struct product_case *made) {
    const int count = made->M * made->N;
    mha_real *kept = made->c, *first = calloc((size_t)count, sizeof *first);
    mha_real *second = calloc((size_t)count, sizeof *second);
    if (first == NULL || second == NULL) {
        fputs("products: no memory\n", stderr);
        exit(2);
    }
    made->c = first;
    run_own(made);
    made->c = second;
    run_openblas(made);
    made->c = kept;
    const double tolerance = 1e-5 * (double)made->K;
    for (int i = 0; i < count; i++) {
        if (!(fabs((double)first[i] - (double)second[i]) <= tolerance)) {
            fprintf(stderr, "products: %s %d x %d x %d, entry %d: %g and %g\n",
                form_names[made->form], made->M, made->N, made->K, i, (double)first[i],
                (double)second[i]);
            exit(1);
        }
    }
    free(first);
    free(second);
}

/* Prints a line; returns how many times as long OpenBLAS takes. fused is NULL for a tile. */
static double measure(int form, int M, int N, int K, mha_fused *fused) {
    mha_rng rng;
    mha_rng_seed(&rng, &(uint64_t){0}, 1);
    struct product_case made = {form, M, N, K, fused, numbers(M, K, &rng), numbers(K, N, &rng),
        numbers(M, N, &rng), numbers(1, (int)product_scratch((size_t)N, (size_t)K), &rng)};
    check_same(&made);
    size_t count = 1;
    while (seconds_of(run_own, &made, count) * (double)count < block_seconds) {
        count *= 2;
    }
    double own[ROUNDS], others[ROUNDS], ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        own[i] = seconds_of(run_own, &made, count);
        others[i] = seconds_of(run_openblas, &made, count);
        ratios[i] = others[i] / own[i];
    }
    const double gigaoperations = 2e-9 * M * N * K, ratio = median_of(ratios, ROUNDS);
    printf("%-4s %6d x %4d x %5d %10.1f %10.1f %8.2f\n", form_names[form], M, N, K,
        gigaoperations / median_of(own, ROUNDS), gigaoperations / median_of(others, ROUNDS), ratio);
    fflush(stdout);
    free(made.a);
    free(made.b);
    free(made.c);
    free(made.scratch);
    return ratio;
}

static void print_mean(const char *what, double logarithms, double least, int count) {
    printf("%s: geometric mean %.2f, least %.2f, of %d\n\n", what, exp(logarithms / count), least,
        count);
}

/* Projections y = x w, their gradients dx = dy w^T and dw = x^T dy, at the shapes of `mha bench`. */
static void measure_layer(void) {
    static const int sizes[][2] = {{8, 8}, {6, 64}, {512, 64}, {2048, 128}, {2048, 256},
        {2048, 512}, {4096, 256}}; /* B T or B S, and D */
    double logarithms = 0.0, least = (double)INFINITY;
    int count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int rows = sizes[i][0], D = sizes[i][1];
        const mha_shape shape = {1, (size_t)rows, (size_t)rows, (size_t)D, 1};
        mha_fused *fused;
        mha_error error;
        if (mha_fused_create(&fused, &shape, 1, &error) != MHA_OK) {
            fprintf(stderr, "products: %s\n", error.text);
            exit(2);
        }
        const double ratios[] = {measure(NN, rows, D, D, fused), measure(NT, rows, D, D, fused),
            measure(TN, D, D, rows, fused)};
        mha_fused_destroy(fused);
        for (int j = 0; j < 3; j++, count++) {
            logarithms += log(ratios[j]);
            least = fmin(least, ratios[j]);
        }
    }
    print_mean("layer", logarithms, least, count);
}

/* Of 48 queries and 64 keys: scores q k^T, context p v, and dk = dscores^T q. */
static void measure_tiles(void) {
    double logarithms = 0.0, least = (double)INFINITY;
    int count = 0;
    for (int d = 16; d <= 128; d *= 2) {
        const double ratios[] = {measure(NT, 48, 64, d, NULL), measure(NN, 48, d, 64, NULL),
            measure(TN, 64, d, 48, NULL)};
        for (int j = 0; j < 3; j++, count++) {
            logarithms += log(ratios[j]);
            least = fmin(least, ratios[j]);
        }
    }
    print_mean("attention tiles", logarithms, least, count);
}

int main(void) {
    char processor[PROCESSOR_NAME_SIZE];
    const char *isa;
    mha_error error;
    if (mha_isa(&isa, &error) != MHA_OK) {
        fprintf(stderr, "products: %s\n", error.text);
        return 2;
    }
    openblas_set_num_threads(1);
    processor_name(processor);
    printf("matrix products of the library and of OpenBLAS in turn, one thread, float\n"
           "processor: %s, instruction set %s\nOpenBLAS: core %s, %s\n\n",
        processor, isa, openblas_get_corename(), openblas_get_config());
    printf("%-4s %22s %10s %10s %8s\n", "form", "M x N x K", "own GF/s", "BLAS GF/s", "ratio");
    measure_layer();
    measure_tiles();
    return 0;
}
