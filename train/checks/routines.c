/* Cases of single routines. */
#include "checks/case.h"

#include "memory.h"

/* A stage of the layer alone: its inputs are the blocks, its result the output. */

static bool stage_forward(void *context) {
    struct check_case *made = context;
    made->stage->forward(made->result, &made->pass);
    return true;
}

static bool stage_backward(void *context) {
    struct check_case *made = context;
    made->stage->backward(&made->pass, made->output.gradient);
    return true;
}

/* Whether the gradient of a stage's input is zero by theory: nothing passes where no key is seen,
 * and a softmax over one key is constant. */
static bool stage_zero_expected(const struct check_case *made, mha_value result) {
    switch (result) {
    case MHA_ATTENTION_WEIGHTS:
        return made->most_visible < 2;
    case MHA_MASKED:
    case MHA_K:
    case MHA_V:
        return made->most_visible < 1;
    default:
        return false;
    }
}

/* The blocked pairs, which the mask stage sets to -infinity. */
static unsigned char *blocked_pairs(struct check_case *made) {
    const mha_shape *shape = &made->shape;
    const size_t S = shape->source_length, rows = made->output.count / S;
    unsigned char *blocked = case_array(made, made->output.count, sizeof *blocked);
    for (size_t row = 0; blocked != NULL && row < rows; row++) {
        const size_t t = row % shape->target_length, bh = row / shape->target_length;
        const mha_mask_row at =
            mha_mask_row_at(made->mask, shape, bh / shape->heads, bh % shape->heads, t);
        for (size_t s = 0; s < S; s++) {
            blocked[row * S + s] = !mha_mask_row_allows(&at, s);
        }
    }
    return blocked;
}

mha_status check_stage_create(struct check_case *made, const struct check_plan *plan,
    const mha_stage *stage, mha_error *error) {
    const mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    const bool zero_expected = stage_zero_expected(made, stage->result);
    made->stage = stage;
    made->pass.shape = made->shape;
    made->pass.mask = made->mask;
    made->result = case_output(made, stage->result);
    made->pass.value[stage->result] = made->result;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        if ((stage->inputs >> i & 1) != 0) {
            const mha_gradcheck_block *block = case_block(made, (mha_value)i, zero_expected);
            made->pass.value[i] = block->values;
            made->pass.gradient[i] = block->gradient;
        }
    }
    const size_t place = case_stage_of(stage->result);
    case_stages(made, place, place);
    if (stage->result == MHA_MASKED) {
        made->output.excluded = blocked_pairs(made);
    }
    return case_end(made, stage_forward, stage_backward, error);
}

/* Scaled dot-product attention from q, k and v heads to the context of each head. */

static bool attention_forward(void *context) {
    struct check_case *made = context;
    mha_attention_forward(made->result, made->weights, made->scratch, made->blocks[0].values,
        made->blocks[1].values, made->blocks[2].values, made->mask, &made->shape);
    return true;
}

static bool attention_backward(void *context) {
    struct check_case *made = context;
    mha_attention_backward(made->blocks[0].gradient, made->blocks[1].gradient,
        made->blocks[2].gradient, made->scratch, made->output.gradient, made->weights,
        made->blocks[0].values, made->blocks[1].values, made->blocks[2].values, made->mask,
        &made->shape);
    return true;
}

mha_status check_attention_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    const mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    const size_t pairs = mha_value_count(MHA_SCORES, &made->shape);
    made->result = case_output(made, MHA_CONTEXT_HEADS);
    made->weights = case_array(made, pairs, sizeof(double));
    made->scratch = case_array(made, 2 * pairs, sizeof(double));
    case_block(made, MHA_Q_HEADS, made->most_visible < 2);
    case_block(made, MHA_K_HEADS, made->most_visible < 2);
    case_block(made, MHA_V_HEADS, made->most_visible < 1);
    case_stages(made, case_stage_of(MHA_SCORES), case_stage_of(MHA_CONTEXT_HEADS));
    return case_end(made, attention_forward, attention_backward, error);
}
