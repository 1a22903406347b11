/* How to compute: kernel, mode and threads, as options choose them. */
#ifndef TRAIN_COMPUTE_H
#define TRAIN_COMPUTE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include <mha/mode.h>

/* What was not given stays as it is: zeros are the defaults of the layer. */
struct compute_options {
    mha_kernel kernel;
    mha_mode mode;
    size_t threads; /* 0: mha_default_threads() */
    bool has_kernel, has_mode;
};

/* Child parsers whose input is a compute_options: --threads; --kernel --mode, which must go together;
 * all three. */
extern const struct argp threads_argp;
extern const struct argp kernel_argp;
extern const struct argp compute_argp;

/* What options, run.json and messages call them; from a name false when there is none like it. */
const char *kernel_name(mha_kernel kernel); /* "fused", "reference" */
bool kernel_from_name(mha_kernel *kernel, const char *name);
const char *mode_name(mha_mode mode); /* "stored", "tiled" */
bool mode_from_name(mha_mode *mode, const char *name);

#endif
