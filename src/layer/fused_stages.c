/* The stages of the fused wing: the four projections, and all between them in one. */
#include "base/real.h"

#include <string.h>

#include "fused/fused.h"
#include "layer/source_rows.h"

#define BIT(value) (1ul << (value))

static void project_query_forward(mha_real *result, const mha_pass *pass) {
    const mha_shape *shape = &pass->shape;
    fused_projection_forward(result, pass->value[MHA_QUERY], pass->value[MHA_WQ],
        shape->batch * shape->target_length, shape->width, shape->width, pass->fused);
}

static void project_query_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    fused_projection_backward(pass->gradient[MHA_QUERY], pass->gradient[MHA_WQ], dresult,
        pass->value[MHA_QUERY], pass->value[MHA_WQ], shape->batch * shape->target_length,
        shape->width, shape->width, pass->fused);
}

static void project_source_forward(mha_real *result, const mha_pass *pass, mha_value weight) {
    const size_t rows = pass->shape.batch * pass->shape.source_length, D = pass->shape.width;
    for (size_t begin = 0, end; begin < rows; begin = end) {
        bool seen;
        end = next_source_run(&seen, pass, begin);
        if (seen) {
            fused_projection_forward(result + begin * D, pass->value[MHA_SOURCE] + begin * D,
                pass->value[weight], end - begin, D, D, pass->fused);
        } else {
            memset(result + begin * D, 0, (end - begin) * D * sizeof *result);
        }
    }
}

static void project_source_backward(
    const mha_pass *pass, const mha_real *dresult, mha_value weight) {
    const size_t rows = pass->shape.batch * pass->shape.source_length, D = pass->shape.width;
    mha_real *const dsource = pass->gradient[MHA_SOURCE];
    for (size_t begin = 0, end; begin < rows; begin = end) {
        bool seen;
        end = next_source_run(&seen, pass, begin);
        if (seen) {
            fused_projection_backward(dsource == NULL ? NULL : dsource + begin * D,
                pass->gradient[weight], dresult + begin * D, pass->value[MHA_SOURCE] + begin * D,
                pass->value[weight], end - begin, D, D, pass->fused);
        }
    }
}

static void project_key_forward(mha_real *result, const mha_pass *pass) {
    project_source_forward(result, pass, MHA_WK);
}

static void project_key_backward(const mha_pass *pass, const mha_real *dresult) {
    project_source_backward(pass, dresult, MHA_WK);
}

static void project_value_forward(mha_real *result, const mha_pass *pass) {
    project_source_forward(result, pass, MHA_WV);
}

static void project_value_backward(const mha_pass *pass, const mha_real *dresult) {
    project_source_backward(pass, dresult, MHA_WV);
}

static void attention_forward(mha_real *result, const mha_pass *pass) {
    const mha_fused_weights saved = {pass->saved[MHA_ATTENTION_WEIGHTS],
        pass->saved[MHA_ROW_MAXIMUM], pass->saved[MHA_ROW_INVERSE_SUM]};
    mha_fused_forward(result, &saved, pass->value[MHA_Q], pass->value[MHA_K], pass->value[MHA_V],
        pass->mask, &pass->shape, pass->fused);
}

static void attention_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_fused_weights saved = {pass->saved[MHA_ATTENTION_WEIGHTS],
        pass->saved[MHA_ROW_MAXIMUM], pass->saved[MHA_ROW_INVERSE_SUM]};
    mha_fused_backward(pass->gradient[MHA_Q], pass->gradient[MHA_K], pass->gradient[MHA_V], dresult,
        pass->value[MHA_CONTEXT], &saved, pass->value[MHA_Q], pass->value[MHA_K],
        pass->value[MHA_V], pass->mask, &pass->shape, pass->fused);
}

static void project_output_forward(mha_real *result, const mha_pass *pass) {
    const mha_shape *shape = &pass->shape;
    fused_projection_forward(result, pass->value[MHA_CONTEXT], pass->value[MHA_WO],
        shape->batch * shape->target_length, shape->width, shape->width, pass->fused);
}

static void project_output_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    fused_projection_backward(pass->gradient[MHA_CONTEXT], pass->gradient[MHA_WO], dresult,
        pass->value[MHA_CONTEXT], pass->value[MHA_WO], shape->batch * shape->target_length,
        shape->width, shape->width, pass->fused);
}

/* The two modes differ in what attention saves beside the context. */
#define PROJECT_QUERY                                                                              \
    {                                                                                              \
        "project_query", MHA_Q, 0, BIT(MHA_QUERY) | BIT(MHA_WQ), BIT(MHA_QUERY) | BIT(MHA_WQ),     \
            false, project_query_forward, project_query_backward                                   \
    }
#define PROJECT_KEY                                                                                \
    {                                                                                              \
        "project_key", MHA_K, 0, BIT(MHA_SOURCE) | BIT(MHA_WK), BIT(MHA_SOURCE) | BIT(MHA_WK),     \
            true, project_key_forward, project_key_backward                                        \
    }
#define PROJECT_VALUE                                                                              \
    {                                                                                              \
        "project_value", MHA_V, 0, BIT(MHA_SOURCE) | BIT(MHA_WV), BIT(MHA_SOURCE) | BIT(MHA_WV),   \
            true, project_value_forward, project_value_backward                                    \
    }
#define ATTENTION(saves)                                                                           \
    {                                                                                              \
        "attention", MHA_CONTEXT, saves, BIT(MHA_Q) | BIT(MHA_K) | BIT(MHA_V),                     \
            BIT(MHA_Q) | BIT(MHA_K) | BIT(MHA_V) | BIT(MHA_CONTEXT) | (saves), true,               \
            attention_forward, attention_backward                                                  \
    }
#define PROJECT_OUTPUT                                                                             \
    {                                                                                              \
        "project_output", MHA_OUTPUT, 0, BIT(MHA_CONTEXT) | BIT(MHA_WO),                           \
            BIT(MHA_CONTEXT) | BIT(MHA_WO), false, project_output_forward, project_output_backward \
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
