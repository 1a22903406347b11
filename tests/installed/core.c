/* A user's program on libmha alone: the rows of attention weights sum to one, a forked process has one
 * thread, and the library is the version that pkg-config names, the program's argument. */
#define _POSIX_C_SOURCE 200809L /* fork */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mha/gradcheck.h>
#include <mha/mha64.h>
#include <mha/mode.h>

enum { T = 3, D = 4, W = MHA_WEIGHT_COUNT * D * D };

static int attend(mha_tape *tape, mha_layer *layer, const mha_shape *shape, mha_error *error) {
    double w[W], x[T * D], y[T * D];
    const mha_weights weights = mha_weights_view(w, D);
    mha_rng rng;
    mha_rng_seed(&rng, (const uint64_t[]){0}, 1);
    mha_weights_draw(&weights, &rng, D);
    for (size_t i = 0; i < T * D; i++) {
        x[i] = mha_rng_normal(&rng);
    }
    if (mha_forward(y, tape, x, NULL, NULL, &weights, layer, shape, error) != MHA_OK) {
        return 0;
    }
    const double *p = mha_tape_value(tape, MHA_ATTENTION_WEIGHTS);
    return p != NULL && fabs(p[0] + p[1] + p[2] - 1.0) < 1e-15;
}

static int forks_well(void) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(mha_default_threads() == 1 ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], mha_version()) != 0) {
        fprintf(stderr, "core: the library is version %s\n", mha_version());
        return 1;
    }
    if (!forks_well()) {
        fprintf(stderr, "core: a forked process does not have one thread\n");
        return 1;
    }
    const mha_shape shape = {1, T, T, D, 2};
    mha_layer *layer = NULL;
    mha_tape *tape = NULL;
    mha_error error = {MHA_OK, "rows of the weights do not sum to one"};
    const int good = mha_layer_create(&layer, &shape, NULL, &error) == MHA_OK &&
                     mha_tape_create(&tape, &shape, NULL, &error) == MHA_OK &&
                     attend(tape, layer, &shape, &error) && strcmp(mha_stages[0].name, "") != 0 &&
                     mha_gradcheck_defaults().directions > 0;
    mha_tape_destroy(tape);
    mha_layer_destroy(layer);
    if (!good) {
        fprintf(stderr, "core: %s\n", error.text);
    }
    return good ? 0 : 1;
}
