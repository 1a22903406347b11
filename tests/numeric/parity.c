#include "base/real.h"

#include "arrays.h"
#include "parity.h"
#include "trial.h"

#define parity_run MHA_NAME(parity_run)

static void read_doubles(mha_real *to, const wide *from, size_t count) {
    bool exact = true;
    for (size_t i = 0; i < count; i++) {
        to[i] = (mha_real)from[i];
        exact = exact && (wide)to[i] == from[i];
    }
    ck_assert(exact);
}

static void write_doubles(wide *to, const mha_real *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (wide)from[i];
    }
}

void parity_run(const parity_results *results, const parity_inputs *inputs) {
    const size_t mark = arrays_mark();
    const mha_layer_options options = {inputs->kernel, inputs->mode, 1, NULL};
    const streams kind = inputs->leaf[MHA_SOURCE] == NULL ? SELF_ATTENTION : CROSS_ATTENTION;
    const trial t = trial_on(&options, &inputs->shape, kind, inputs->mask, 0);
    mha_real *leaves[PARITY_LEAVES] = {t.query, t.source};
    const mha_real *dleaves[PARITY_LEAVES] = {t.dx_query, t.dx_source};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves[MHA_FIRST_WEIGHT + i] = t.weights.matrix[i];
        dleaves[MHA_FIRST_WEIGHT + i] = t.dweights.matrix[i];
    }
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        const size_t count = leaves[i] == NULL ? 0 : trial_count(&t, (mha_value)i);
        read_doubles(leaves[i], inputs->leaf[i], count);
    }
    read_doubles(t.doutput, inputs->doutput, trial_count(&t, MHA_OUTPUT));
    trial_run(&t);
    write_doubles(results->output, t.output, trial_count(&t, MHA_OUTPUT));
    write_doubles(
        results->attention_weights, trial_attention(&t), trial_count(&t, MHA_ATTENTION_WEIGHTS));
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        const size_t count = dleaves[i] == NULL ? 0 : trial_count(&t, (mha_value)i);
        write_doubles(results->dleaf[i], dleaves[i], count);
    }
    arrays_release_to(mark);
}
