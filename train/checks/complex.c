/* The complex forward of a case that is a run of stages. */
#include "checks/case.h"

static bool run_stages(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    struct check_case *made = context;
    const mha_complex *value[MHA_VALUE_COUNT] = {NULL};
    for (size_t b = 0; b < made->subject.block_count; b++) {
        value[made->block_value[b]] = blocks[b];
    }
    if (value[MHA_SOURCE] == NULL) { /* self-attention */
        value[MHA_SOURCE] = value[MHA_QUERY];
    }
    for (size_t stage = made->first_stage; stage <= made->last_stage; stage++) {
        const mha_value result = mha_stages[stage].result;
        mha_complex *to = stage == made->last_stage ? outputs[0] : made->complex[result];
        mha_complex_stage(stage, to, value, made->mask, &made->shape);
        value[result] = to;
    }
    return true;
}

void case_stages(struct check_case *made, size_t first, size_t last) {
    made->first_stage = first;
    made->last_stage = last;
    for (size_t stage = first; stage < last; stage++) {
        const mha_value result = mha_stages[stage].result;
        const size_t count = mha_value_count(result, &made->shape);
        made->complex[result] = case_array(made, count, sizeof(mha_complex));
    }
    made->subject.forward_complex = run_stages;
}

size_t case_stage_of(mha_value result) {
    size_t stage = 0;
    while (mha_stages[stage].result != result) {
        stage++;
    }
    return stage;
}
