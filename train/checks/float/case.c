#include "checks/float/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

double *float_case_array(struct float_case *made, size_t count) {
    double *array = made->array_count < FLOAT_ARRAYS ? allocate_zeroed(count, sizeof *array) : NULL;
    if (array == NULL) {
        made->out_of_memory = true;
        return NULL;
    }
    made->arrays[made->array_count++] = array;
    return array;
}

static void round_to_float(double *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)(float)x[i];
    }
}

/* Inputs of both precisions. The gradient of the result is random. */
static void round_inputs(struct check_case *inputs) {
    const mha_shape *const shape = &inputs->shape;
    for (size_t b = 0; b < inputs->subject.block_count; b++) {
        round_to_float(inputs->blocks[b].values, mha_value_count(inputs->block_value[b], shape));
    }
    for (size_t i = 0; i < inputs->output.count; i++) {
        inputs->output.gradient[i] = (double)(float)mha_rng_normal(&inputs->rng);
    }
}

static enum routine routine_of(const struct subject *subject, const struct check_case *inputs) {
    if (subject->is_loss) {
        return inputs->labels != NULL ? ROUTINE_CROSS_ENTROPY : ROUTINE_MSE;
    }
    return subject->stage != NULL ? ROUTINE_STAGE
           : subject->is_layer    ? ROUTINE_LAYER
                                  : ROUTINE_ATTENTION;
}

/* What a run is given, but for what the reference adds. */
static void make_call(
    struct float_case *made, const struct subject *subject, const struct check_plan *plan) {
    struct check_case *const inputs = &made->inputs;
    struct routine_arrays *const call = &made->call;
    *call = (struct routine_arrays){.routine = routine_of(subject, inputs),
        .stage = inputs->first_stage,
        .writes = mha_stages[inputs->last_stage].result,
        .kernel = plan->kernel,
        .mode = plan->mode,
        .threads = plan->threads,
        .shape = inputs->shape,
        .mask = inputs->mask,
        .dresult = inputs->output.gradient,
        .counted = inputs->counted,
        .labels = inputs->labels,
        .answers = inputs->answers,
        .classes = inputs->classes};
    call->result = float_case_array(made, inputs->output.count);
    for (size_t b = 0; b < inputs->subject.block_count; b++) {
        const mha_value value = inputs->block_value[b];
        call->value[value] = inputs->blocks[b].values;
        call->gradient[value] = float_case_array(made, mha_value_count(value, &inputs->shape));
    }
}

static struct bounded bounded_array(struct float_case *made, double *x, size_t count) {
    return (struct bounded){
        x == NULL ? float_case_array(made, count) : x, float_case_array(made, count), 0, 0};
}

/* The arrays of the reference: blocks are exact, and so is the gradient of the result. */
static void make_reference(struct float_case *made, bool fused) {
    struct check_case *const inputs = &made->inputs;
    struct bounded_pass *const pass = &made->pass;
    *pass = (struct bounded_pass){.shape = &inputs->shape, .mask = inputs->mask, .fused = fused};
    for (size_t b = 0; b < inputs->subject.block_count; b++) {
        const mha_value value = inputs->block_value[b];
        const size_t count = mha_value_count(value, pass->shape);
        pass->value[value] = bounded_array(made, inputs->blocks[b].values, count);
        pass->gradient[value] = bounded_array(made, NULL, count);
    }
    for (size_t stage = inputs->first_stage; stage <= inputs->last_stage; stage++) {
        const mha_value value = mha_stages[stage].result;
        const size_t count = mha_value_count(value, pass->shape);
        const bool is_last = stage == inputs->last_stage;
        pass->value[value] = bounded_array(made, NULL, count);
        pass->gradient[value] =
            bounded_array(made, is_last ? inputs->output.gradient : NULL, count);
    }
    if (pass->value[MHA_SOURCE].x == NULL) { /* self-attention */
        pass->value[MHA_SOURCE] = pass->value[MHA_QUERY];
    }
}

static mha_pass exact_pass(const struct bounded_pass *pass) {
    mha_pass exact = {.shape = *pass->shape, .mask = pass->mask};
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        exact.value[i] = pass->value[i].x;
        exact.gradient[i] = pass->gradient[i].x;
    }
    if (exact.gradient[MHA_SOURCE] == NULL) {
        exact.gradient[MHA_SOURCE] = exact.gradient[MHA_QUERY];
    }
    return exact;
}

/* A stage alone that reads its own result back is given, in both precisions, the exact one rounded to
 * float, so that its backward is judged by itself. */
static void set_read_back(struct float_case *made) {
    const mha_stage *const stage = &mha_stages[made->inputs.first_stage];
    if (made->call.routine != ROUTINE_STAGE || (stage->reads_back >> stage->result & 1) == 0) {
        return;
    }
    const size_t count = mha_value_count(stage->result, made->pass.shape);
    struct bounded *const value = &made->pass.value[stage->result];
    *value = bounded_array(made, NULL, count);
    for (size_t i = 0; !made->out_of_memory && i < count; i++) {
        value->x[i] = (double)(float)made->result.x[i];
    }
    made->call.read_back = value->x;
}

/* Forward and backward of the reference, each stage with its magnitudes. */
static void run_reference(struct float_case *made) {
    const struct check_case *const inputs = &made->inputs;
    struct bounded_pass *const pass = &made->pass;
    mha_pass exact = exact_pass(pass);
    for (size_t i = inputs->first_stage; i <= inputs->last_stage; i++) {
        mha_stages[i].forward(pass->value[mha_stages[i].result].x, &exact);
        float_forward_magnitudes(pass, &mha_stages[i]);
    }
    made->result = pass->value[made->call.writes];
    set_read_back(made);
    if (made->out_of_memory) {
        return;
    }
    exact = exact_pass(pass);
    for (size_t i = inputs->last_stage + 1; i-- > inputs->first_stage;) {
        mha_stages[i].backward(&exact, pass->gradient[mha_stages[i].result].x);
        float_backward_magnitudes(pass, &mha_stages[i]);
    }
}

mha_status float_case_create(struct float_case *made, const struct subject *subject,
    const struct check_plan *plan, mha_error *error) {
    memset(made, 0, sizeof *made);
    mha_status status = subject_create(&made->inputs, subject, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    round_inputs(&made->inputs);
    make_call(made, subject, plan);
    if (subject->is_loss) {
        status = float_loss_reference(made, error);
    } else {
        make_reference(made, subject->kernel == MHA_KERNEL_FUSED);
        if (!made->out_of_memory) {
            run_reference(made);
        }
    }
    if (status == MHA_OK && made->out_of_memory) {
        status = no_memory(error);
    }
    if (status != MHA_OK) {
        float_case_destroy(made);
    }
    return status;
}

void float_case_destroy(struct float_case *made) {
    check_case_destroy(&made->inputs);
    for (size_t i = 0; i < made->array_count; i++) {
        free(made->arrays[i]);
    }
    memset(made, 0, sizeof *made);
}
