#include "base/real.h"

#include "arrays.h"
#include "parity.h"
#include "trial.h"

#define parity_run MHA_NAME(parity_run)

static void read_doubles(mha_real *to, const wide *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (mha_real)from[i];
        ck_assert((wide)to[i] == from[i]);
    }
}

static void write_doubles(wide *to, const mha_real *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = (wide)from[i];
    }
}

void parity_run(const parity_results *results, const parity_inputs *inputs) {
    const trial t = trial_new(&inputs->shape, CROSS_ATTENTION, inputs->mask, 0);
    mha_real *leaves[PARITY_LEAVES] = {t.query, t.source};
    const mha_real *dleaves[PARITY_LEAVES] = {t.dx_query, t.dx_source};
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        leaves[MHA_FIRST_WEIGHT + i] = t.weights.matrix[i];
        dleaves[MHA_FIRST_WEIGHT + i] = t.dweights.matrix[i];
    }
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        read_doubles(leaves[i], inputs->leaf[i], trial_count(&t, (mha_value)i));
    }
    read_doubles(t.doutput, inputs->doutput, trial_count(&t, MHA_OUTPUT));
    trial_run(&t);
    write_doubles(results->output, t.output, trial_count(&t, MHA_OUTPUT));
    write_doubles(
        results->attention_weights, trial_attention(&t), trial_count(&t, MHA_ATTENTION_WEIGHTS));
    for (size_t i = 0; i < PARITY_LEAVES; i++) {
        write_doubles(results->dleaf[i], dleaves[i], trial_count(&t, (mha_value)i));
    }
    arrays_release();
}
