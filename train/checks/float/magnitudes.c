#include "checks/float/rules.h"

#include <math.h>

double float_sum_bound(size_t n) {
    return fmin((double)n / 2, fmin(sqrt((double)n), 4));
}

double float_softmax_bound(size_t n) {
    return fmin((double)n / 2, 2 + sqrt((double)n) / 4);
}

void round_into(struct bounded *y, const struct bounded *a, const struct bounded *b, double own) {
    y->bound = fmax(y->bound, fmax(fmax(a->bound, b->bound), own));
}

/* Copies: what moves the values moves their magnitudes. */

static mha_value input_of(const mha_stage *stage) {
    size_t value = 0;
    while ((stage->inputs >> value & 1) == 0) {
        value++;
    }
    return (mha_value)value;
}

static void copy_forward(struct bounded_pass *pass, const mha_stage *stage) {
    const mha_value from = input_of(stage);
    mha_pass magnitudes = {.shape = *pass->shape, .mask = pass->mask};
    magnitudes.value[from] = pass->value[from].magnitude;
    struct bounded *const to = &pass->value[stage->result];
    stage->forward(to->magnitude, &magnitudes);
    const size_t count = mha_value_count(stage->result, pass->shape);
    for (size_t i = 0; i < count; i++) {
        to->magnitude[i] = isfinite(to->magnitude[i]) ? to->magnitude[i] : 0; /* masked */
    }
    round_into(to, &pass->value[from], &pass->value[from], 0);
}

static void copy_backward(struct bounded_pass *pass, const mha_stage *stage) {
    const mha_value from = input_of(stage);
    mha_pass magnitudes = {.shape = *pass->shape, .mask = pass->mask};
    magnitudes.gradient[from] = pass->gradient[from].magnitude;
    const struct bounded *const dresult = &pass->gradient[stage->result];
    stage->backward(&magnitudes, dresult->magnitude);
    round_into(&pass->gradient[from], dresult, dresult, 0);
}

void float_forward_magnitudes(struct bounded_pass *pass, const mha_stage *stage) {
    switch (stage->result) {
    case MHA_Q:
    case MHA_K:
    case MHA_V:
    case MHA_OUTPUT:
        project_forward(pass, stage->result);
        return;
    case MHA_SCORES:
        scores_forward(pass);
        return;
    case MHA_SCALED:
        scale_forward(pass);
        return;
    case MHA_ATTENTION_WEIGHTS:
        softmax_forward(pass);
        return;
    case MHA_CONTEXT_HEADS:
        context_forward(pass);
        return;
    default:
        copy_forward(pass, stage);
    }
}

void float_backward_magnitudes(struct bounded_pass *pass, const mha_stage *stage) {
    switch (stage->result) {
    case MHA_Q:
    case MHA_K:
    case MHA_V:
    case MHA_OUTPUT:
        project_backward(pass, stage->result);
        return;
    case MHA_SCORES:
        scores_backward(pass);
        return;
    case MHA_SCALED:
        scale_backward(pass);
        return;
    case MHA_ATTENTION_WEIGHTS:
        softmax_backward(pass);
        return;
    case MHA_CONTEXT_HEADS:
        context_backward(pass);
        return;
    default:
        copy_backward(pass, stage);
    }
}
