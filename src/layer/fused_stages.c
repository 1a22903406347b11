/* The stages of the fused wing: the four projections, and all between them in one. */
#include "fused/fused.h"
#include "layer/projections.h"

static void attention_forward(mha_real *result, const mha_pass *pass) {
    const mha_fused_weights saved = {pass->saved[MHA_ATTENTION_WEIGHTS],
        pass->saved[MHA_ROW_MAXIMUM], pass->saved[MHA_ROW_INVERSE_SUM]};
    mha_fused_forward(result, &saved, pass->value[MHA_Q], pass->value[MHA_K], pass->value[MHA_V],
        pass->mask, &pass->shape, pass->fused);
}

static void attention_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_fused_weights saved = {pass->saved[MHA_ATTENTION_WEIGHTS],
        pass->saved[MHA_ROW_MAXIMUM], pass->saved[MHA_ROW_INVERSE_SUM]};
    fused_attention_backward(pass->gradient[MHA_Q], pass->gradient[MHA_K], pass->gradient[MHA_V],
        true, dresult, pass->value[MHA_CONTEXT], &saved, pass->value[MHA_Q], pass->value[MHA_K],
        pass->value[MHA_V], pass->mask, &pass->shape, pass->fused);
}

/* The two modes differ in what attention saves beside the context. */
#define ATTENTION(saves)                                                                           \
    {                                                                                              \
        "attention", MHA_CONTEXT, saves, BIT(MHA_Q) | BIT(MHA_K) | BIT(MHA_V),                     \
            BIT(MHA_Q) | BIT(MHA_K) | BIT(MHA_V) | BIT(MHA_CONTEXT) | (saves), true,               \
            attention_forward, attention_backward                                                  \
    }

enum { FUSED_STAGE_COUNT = 5 };

static const mha_stage stored_stages[FUSED_STAGE_COUNT] = {PROJECT_QUERY, PROJECT_KEY,
    PROJECT_VALUE, ATTENTION(BIT(MHA_ATTENTION_WEIGHTS)), PROJECT_OUTPUT};

static const mha_stage tiled_stages[FUSED_STAGE_COUNT] = {PROJECT_QUERY, PROJECT_KEY, PROJECT_VALUE,
    ATTENTION(BIT(MHA_ROW_MAXIMUM) | BIT(MHA_ROW_INVERSE_SUM)), PROJECT_OUTPUT};

const mha_stage *mha_stages_of(size_t *count, mha_kernel kernel, mha_mode mode) {
    if (kernel == MHA_KERNEL_REFERENCE) {
        *count = MHA_STAGE_COUNT;
        return mha_stages;
    }
    *count = FUSED_STAGE_COUNT;
    return mode == MHA_MODE_TILED ? tiled_stages : stored_stages;
}
