#include "checks/faults/wrong_passes.h"

#include <math.h>
#include <string.h>

#include "checks/case.h"

static size_t count_of(mha_value value, const mha_pass *pass) {
    return mha_value_count(value, &pass->shape);
}

/* The scale. */

static void scale_by(mha_real *result, double factor, const mha_pass *pass) {
    for (size_t i = 0; i < count_of(MHA_SCORES, pass); i++) {
        result[i] = factor * pass->value[MHA_SCORES][i];
    }
}

static void scale_back(double factor, const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(MHA_SCORES, pass); i++) {
        pass->gradient[MHA_SCORES][i] += factor * dresult[i];
    }
}

static void no_scale_forward(mha_real *result, const mha_pass *pass) {
    scale_by(result, 1.0, pass);
}

static void no_scale_backward(const mha_pass *pass, const mha_real *dresult) {
    scale_back(1.0, pass, dresult);
}

static double by_width(const mha_pass *pass) {
    return 1.0 / sqrt((double)pass->shape.width);
}

static void width_scale_forward(mha_real *result, const mha_pass *pass) {
    scale_by(result, by_width(pass), pass);
}

static void width_scale_backward(const mha_pass *pass, const mha_real *dresult) {
    scale_back(by_width(pass), pass, dresult);
}

static double by_head_width(const mha_pass *pass) {
    return 1.0 / (double)mha_head_width(&pass->shape);
}

static void twice_scale_forward(mha_real *result, const mha_pass *pass) {
    scale_by(result, by_head_width(pass), pass);
}

static void twice_scale_backward(const mha_pass *pass, const mha_real *dresult) {
    scale_back(by_head_width(pass), pass, dresult);
}

/* Heads by a reshape alone. */

static void reshape(mha_real *result, mha_value input, const mha_pass *pass) {
    memcpy(result, pass->value[input], count_of(input, pass) * sizeof *result);
}

static void reshape_back(mha_value input, const mha_pass *pass, const mha_real *dresult) {
    for (size_t i = 0; i < count_of(input, pass); i++) {
        pass->gradient[input][i] += dresult[i];
    }
}

#define RESHAPE(name, input)                                                                       \
    static void name##_forward(mha_real *result, const mha_pass *pass) {                           \
        reshape(result, input, pass);                                                              \
    }                                                                                              \
    static void name##_backward(const mha_pass *pass, const mha_real *dresult) {                   \
        reshape_back(input, pass, dresult);                                                        \
    }

RESHAPE(reshape_query, MHA_Q)
RESHAPE(reshape_key, MHA_K)
RESHAPE(reshape_value, MHA_V)
RESHAPE(reshape_context, MHA_CONTEXT_HEADS)

/* dK and dV exchanged before they are projected: when the value is projected back both are complete, and as
 * long. */

static void key_gradient_into_value(const mha_pass *pass, const mha_real *dresult) {
    (void)dresult;
    mha_stages[case_stage_of(MHA_V)].backward(pass, pass->gradient[MHA_K]);
}

static void value_gradient_into_key(const mha_pass *pass, const mha_real *dresult) {
    (void)dresult;
    mha_stages[case_stage_of(MHA_K)].backward(pass, pass->gradient[MHA_V]);
}

/* dx = dy w in place of dy w^T. */

static void untransposed(const mha_pass *pass, const mha_real *dresult, mha_value result,
    mha_value input, mha_value weight) {
    const size_t D = pass->shape.width;
    mha_pass changed = *pass;
    changed.gradient[input] = NULL;
    mha_stages[case_stage_of(result)].backward(&changed, dresult);
    for (size_t row = 0; row < count_of(input, pass) / D; row++) {
        for (size_t i = 0; i < D * D; i++) {
            pass->gradient[input][row * D + i % D] +=
                dresult[row * D + i / D] * pass->value[weight][i];
        }
    }
}

static void query_untransposed(const mha_pass *pass, const mha_real *dresult) {
    untransposed(pass, dresult, MHA_Q, MHA_QUERY, MHA_WQ);
}

static void key_untransposed(const mha_pass *pass, const mha_real *dresult) {
    untransposed(pass, dresult, MHA_K, MHA_SOURCE, MHA_WK);
}

static void value_untransposed(const mha_pass *pass, const mha_real *dresult) {
    untransposed(pass, dresult, MHA_V, MHA_SOURCE, MHA_WV);
}

/* The output projection left out on the way back. */
static void output_skipped(const mha_pass *pass, const mha_real *dresult) {
    mha_pass changed = *pass;
    changed.gradient[MHA_CONTEXT] = NULL;
    mha_stages[case_stage_of(MHA_OUTPUT)].backward(&changed, dresult);
    reshape_back(MHA_CONTEXT, pass, dresult);
}

const struct wrong_pass wrong_passes[] = {
    {"the scale 1/sqrt(d) missing, in forward and backward",
        {{MHA_SCALED, no_scale_forward, no_scale_backward}}},
    {"scaled by 1/sqrt(D) where 1/sqrt(d) belongs, in forward and backward",
        {{MHA_SCALED, width_scale_forward, width_scale_backward}}},
    {"scaled by 1/d where 1/sqrt(d) belongs, in forward and backward",
        {{MHA_SCALED, twice_scale_forward, twice_scale_backward}}},
    {"scaled by 1/sqrt(D) where 1/sqrt(d) belongs, in backward",
        {{MHA_SCALED, NULL, width_scale_backward}}},
    {"heads split and joined by a reshape without the transpose, in forward and backward",
        {{MHA_CONTEXT, reshape_context_forward, reshape_context_backward},
            {MHA_Q_HEADS, reshape_query_forward, reshape_query_backward},
            {MHA_K_HEADS, reshape_key_forward, reshape_key_backward},
            {MHA_V_HEADS, reshape_value_forward, reshape_value_backward}}},
    {"q, k and v split by a reshape without the transpose, in backward",
        {{MHA_V_HEADS, NULL, reshape_value_backward}, {MHA_K_HEADS, NULL, reshape_key_backward},
            {MHA_Q_HEADS, NULL, reshape_query_backward}}},
    {"dK and dV exchanged",
        {{MHA_V, NULL, key_gradient_into_value}, {MHA_K, NULL, value_gradient_into_key}}},
    {"dQ wq where dQ wq^T belongs", {{MHA_Q, NULL, query_untransposed}}},
    {"dK wk where dK wk^T belongs", {{MHA_K, NULL, key_untransposed}}},
    {"dV wv where dV wv^T belongs", {{MHA_V, NULL, value_untransposed}}},
    {"dQ, dK and dV by matrices that are not transposed",
        {{MHA_V, NULL, value_untransposed}, {MHA_K, NULL, key_untransposed},
            {MHA_Q, NULL, query_untransposed}}},
    {"the output projection left out in backward", {{MHA_OUTPUT, NULL, output_skipped}}},
};
const size_t wrong_pass_count = sizeof wrong_passes / sizeof *wrong_passes;

void plant_wrong_pass(mha_stage stages[MHA_STAGE_COUNT], const struct wrong_pass *wrong) {
    memcpy(stages, mha_stages, MHA_STAGE_COUNT * sizeof *stages);
    for (size_t i = 0; i < WRONG_STAGES && wrong->stages[i].backward != NULL; i++) {
        mha_stage *stage = &stages[case_stage_of(wrong->stages[i].result)];
        if (wrong->stages[i].forward != NULL) {
            stage->forward = wrong->stages[i].forward;
        }
        stage->backward = wrong->stages[i].backward;
    }
}
