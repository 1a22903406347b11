#include "checks/walk.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

mha_status walk_create(struct walk *made, const struct walk_leaves *leaves, const mha_mask *mask,
    const mha_shape *shape, const mha_stage *stages, mha_error *error) {
    *made = (struct walk){.pass = {.shape = *shape, .mask = mask}, .stages = stages};
    size_t all = 0;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t count = mha_value_count((mha_value)i, shape);
        const size_t times = i < MHA_Q ? 1 : 2;
        if (count > SIZE_MAX / 4 || all > SIZE_MAX / 2) {
            return no_memory(error);
        }
        all += times * count;
    }
    made->numbers = allocate_zeroed(all, sizeof *made->numbers);
    if (made->numbers == NULL) {
        return no_memory(error);
    }
    double *at = made->numbers;
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        const size_t count = mha_value_count((mha_value)i, shape);
        made->pass.gradient[i] = at;
        at += count;
        if (i >= MHA_Q) {
            made->pass.value[i] = made->activation[i] = at;
            at += count;
        }
    }
    made->pass.value[MHA_QUERY] = leaves->query;
    made->pass.value[MHA_SOURCE] = leaves->source != NULL ? leaves->source : leaves->query;
    for (size_t i = 0; i < MHA_WEIGHT_COUNT; i++) {
        made->pass.value[MHA_FIRST_WEIGHT + i] = leaves->weights[i];
    }
    return MHA_OK;
}

void walk_destroy(struct walk *made) {
    free(made->numbers);
    made->numbers = NULL;
}

void walk_forward(struct walk *made) {
    for (size_t i = 0; i < MHA_STAGE_COUNT; i++) {
        const mha_stage *stage = &made->stages[i];
        stage->forward(made->activation[stage->result], &made->pass);
    }
}

void walk_begin_backward(struct walk *made, const double *grad_output) {
    for (size_t i = 0; i < MHA_VALUE_COUNT; i++) {
        double *gradient = made->pass.gradient[i];
        const size_t count = mha_value_count((mha_value)i, &made->pass.shape);
        for (size_t k = 0; k < count; k++) {
            gradient[k] = i == MHA_OUTPUT ? grad_output[k] : 0.0;
        }
    }
}

void walk_backward(struct walk *made, const double *grad_output) {
    walk_begin_backward(made, grad_output);
    for (size_t i = MHA_STAGE_COUNT; i-- > 0;) {
        const mha_stage *stage = &made->stages[i];
        stage->backward(&made->pass, made->pass.gradient[stage->result]);
    }
}
