/* Cases of the fused wing alone: scaled dot-product attention from q, k and v to the context, heads
 * side by side. */
#include "checks/case.h"

static bool fused_forward(void *context) {
    struct check_case *made = context;
    mha_fused_forward(made->result, &made->saved, made->blocks[0].values, made->blocks[1].values,
        made->blocks[2].values, made->mask, &made->shape, made->fused);
    return true;
}

static bool fused_backward(void *context) {
    struct check_case *made = context;
    mha_fused_backward(made->blocks[0].gradient, made->blocks[1].gradient, made->blocks[2].gradient,
        made->output.gradient, made->result, &made->saved, made->blocks[0].values,
        made->blocks[1].values, made->blocks[2].values, made->mask, &made->shape, made->fused);
    return true;
}

static double *saved_array(struct check_case *made, mha_value value) {
    return case_array(made, mha_value_count(value, &made->shape), sizeof(double));
}

mha_status check_fused_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    made->result = case_output(made, MHA_CONTEXT);
    if (plan->mode == MHA_MODE_STORED) {
        made->saved.weights = saved_array(made, MHA_ATTENTION_WEIGHTS);
    } else {
        made->saved.row_maximum = saved_array(made, MHA_ROW_MAXIMUM);
        made->saved.row_inverse_sum = saved_array(made, MHA_ROW_INVERSE_SUM);
    }
    case_block(made, MHA_Q, made->most_visible < 2);
    case_block(made, MHA_K, made->most_visible < 2);
    case_block(made, MHA_V, made->most_visible < 1);
    case_stages(made, case_stage_of(MHA_Q_HEADS), case_stage_of(MHA_CONTEXT));
    status = mha_fused_create(&made->fused, &made->shape, plan->threads, error);
    if (status != MHA_OK) {
        check_case_destroy(made);
        return status;
    }
    return case_end(made, fused_forward, fused_backward, error);
}
