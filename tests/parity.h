/* One pass of the layer and its backward, computed in either precision and handed over as doubles.
 * Precision-free: numeric/parity.c defines both functions, once for each precision. */
#ifndef TESTS_PARITY_H
#define TESTS_PARITY_H

#include <mha/mask.h>
#include <mha/mode.h>
#include <mha/values.h>

enum { PARITY_LEAVES = MHA_WO + 1 };

/* Inputs, of which every number is one of float too. */
typedef struct parity_inputs {
    mha_kernel kernel;
    mha_mode mode;
    mha_shape shape;
    const mha_mask *mask;
    const double *leaf[PARITY_LEAVES]; /* query, source (NULL in self-attention), wq, wk, wv, wo */
    const double *doutput;
} parity_inputs;

/* Memory for the results, with the sizes of their values. */
typedef struct parity_results {
    double *output, *attention_weights;
    double *dleaf[PARITY_LEAVES]; /* that of a missing source is not written */
} parity_results;

void mha_f32_parity_run(const parity_results *results, const parity_inputs *inputs);
void mha_f64_parity_run(const parity_results *results, const parity_inputs *inputs);

#endif
