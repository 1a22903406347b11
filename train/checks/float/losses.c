/* The losses, whose values are summed in double. */
#include "checks/float/case.h"

#include <math.h>

enum {
    SQUARE_ROUNDINGS = 2, /* the difference, squared in double */
    ERROR_ROUNDINGS = 3,  /* 2/n, the difference and their product */
    /* The exponential's own and the sum, without its first term; and of the gradient 1/n, the quotient, the
     * product and the label's difference. */
    CLASS_ROUNDINGS = 1,
    LABEL_ROUNDINGS = 5
};

static size_t positions_of(const struct float_case *made) {
    return made->inputs.shape.batch * made->inputs.shape.target_length;
}

/* (p - t)^2 and its gradient have nothing that cancels but the difference, which is rounded once: each is its own
 * magnitude. */
static void bound_mse(struct float_case *made) {
    struct bounded *const gradient = &made->pass.gradient[MHA_OUTPUT];
    const size_t count = positions_of(made) * made->inputs.shape.width;
    *made->result.magnitude = fabs(*made->result.x);
    for (size_t i = 0; i < count; i++) {
        gradient->magnitude[i] = fabs(gradient->x[i]);
    }
    made->result.bound = float_sum_bound(SQUARE_ROUNDINGS);
    gradient->bound = float_sum_bound(ERROR_ROUNDINGS);
}

/* One answer. As in softmax each e = exp(x - m) is off by |x - m|, relative to itself, and Z by their mean:
 * log Z has the magnitude 1 + mean, and (e/Z - [label]) / n that of both terms. Returns the former. */
static double bound_answer(
    double *magnitude, const double *x, size_t label, size_t classes, double counted) {
    double maximum = x[0], z = 0, mean = 0;
    for (size_t c = 1; c < classes; c++) {
        maximum = fmax(maximum, x[c]);
    }
    for (size_t c = 0; c < classes; c++) {
        z += exp(x[c] - maximum);
        mean += exp(x[c] - maximum) * (maximum - x[c]);
    }
    mean /= z;
    for (size_t c = 0; c < classes; c++) {
        const double p = exp(x[c] - maximum) / z;
        magnitude[c] = (p * (1 + maximum - x[c] + mean) + (c == label ? 1 : 0)) / counted;
    }
    return 1 + mean;
}

static void bound_cross_entropy(struct float_case *made) {
    const struct check_case *const inputs = &made->inputs;
    const size_t answers = positions_of(made) * inputs->answers, classes = inputs->classes;
    struct bounded *const gradient = &made->pass.gradient[MHA_OUTPUT];
    double counted = 0, sum = 0;
    for (size_t i = 0; i < answers; i++) {
        counted += inputs->labels[i] >= 0 ? 1 : 0;
    }
    for (size_t i = 0; i < answers; i++) {
        const size_t at = i / inputs->answers * inputs->shape.width + i % inputs->answers * classes;
        if (inputs->labels[i] >= 0) {
            sum += bound_answer(gradient->magnitude + at, inputs->blocks[0].values + at,
                (size_t)inputs->labels[i], classes, counted);
        }
    }
    *made->result.magnitude = counted > 0 ? sum / counted : 0;
    made->result.bound = float_softmax_bound(classes + CLASS_ROUNDINGS);
    gradient->bound = float_softmax_bound(classes + LABEL_ROUNDINGS);
}

mha_status float_loss_reference(struct float_case *made, mha_error *error) {
    const size_t count = positions_of(made) * made->inputs.shape.width;
    struct bounded *const gradient = &made->pass.gradient[MHA_OUTPUT];
    double *const target = float_case_array(made, count);
    *gradient =
        (struct bounded){float_case_array(made, count), float_case_array(made, count), 0, 0};
    made->result = (struct bounded){float_case_array(made, 1), float_case_array(made, 1), 0, 0};
    if (made->out_of_memory) {
        return MHA_OK; /* said by who asks */
    }
    for (size_t i = 0; made->inputs.target != NULL && i < count; i++) {
        target[i] = (double)(float)made->inputs.target[i];
    }
    made->call.target = target;
    struct routine_arrays exact = made->call;
    exact.result = made->result.x;
    exact.gradient[MHA_OUTPUT] = gradient->x;
    const mha_status status = routine_pass_f64(&exact, error);
    if (status == MHA_OK) {
        if (made->call.routine == ROUTINE_MSE) {
            bound_mse(made);
        } else {
            bound_cross_entropy(made);
        }
    }
    return status;
}
