/* Cases of the losses. Each is one number of a prediction (B,T,D). */
#include "checks/case.h"

#include <complex.h>

#include "memory.h"

static size_t positions_of(const struct check_case *made) {
    return made->shape.batch * made->shape.target_length;
}

/* A loss is the end of a computation and takes no gradient of its own: it is multiplied by the
 * checker's here. */
static void add_scaled_gradient(struct check_case *made) {
    const size_t count = positions_of(made) * made->shape.width;
    for (size_t i = 0; i < count; i++) {
        made->blocks[0].gradient[i] += made->output.gradient[0] * made->scratch[i];
        made->scratch[i] = 0.0;
    }
}

static bool mse_forward(void *context) {
    struct check_case *made = context;
    *made->result = mha_mse_loss(NULL, made->blocks[0].values, made->target, made->counted,
        positions_of(made), made->shape.width);
    return true;
}

static bool mse_backward(void *context) {
    struct check_case *made = context;
    mha_mse_loss(made->scratch, made->blocks[0].values, made->target, made->counted,
        positions_of(made), made->shape.width);
    add_scaled_gradient(made);
    return true;
}

static bool cross_entropy_forward(void *context) {
    struct check_case *made = context;
    *made->result = mha_cross_entropy_loss(NULL, made->blocks[0].values, made->labels,
        positions_of(made), made->shape.width, made->answers, made->classes)
                        .loss;
    return true;
}

static bool cross_entropy_backward(void *context) {
    struct check_case *made = context;
    mha_cross_entropy_loss(made->scratch, made->blocks[0].values, made->labels, positions_of(made),
        made->shape.width, made->answers, made->classes);
    add_scaled_gradient(made);
    return true;
}

/* The losses of complex numbers, written out from their definitions. */

static bool mse_complex(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    const struct check_case *made = context;
    const size_t D = made->shape.width;
    mha_complex sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < positions_of(made) * D; i++) {
        if (made->counted[i / D] != 0) {
            const mha_complex difference = blocks[0][i] - made->target[i];
            sum += difference * difference;
            count++;
        }
    }
    outputs[0][0] = count == 0 ? 0 : sum / (double)count;
    return true;
}

static bool cross_entropy_complex(
    void *context, mha_complex *const *outputs, const mha_complex *const *blocks) {
    const struct check_case *made = context;
    mha_complex sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < positions_of(made) * made->answers; i++) {
        const mha_complex *logits =
            blocks[0] + i / made->answers * made->shape.width + i % made->answers * made->classes;
        if (made->labels[i] < 0) {
            continue;
        }
        const mha_complex answer = logits[made->labels[i]];
        mha_complex z = 0;
        for (size_t c = 0; c < made->classes; c++) {
            z += cexp(logits[c] - answer);
        }
        sum += clog(z);
        count++;
    }
    outputs[0][0] = count == 0 ? 0 : sum / (double)count;
    return true;
}

/* The prediction, room for its gradient, and one number as output. */
static void begin_loss(struct check_case *made, const char *name, bool zero_expected) {
    case_block(made, MHA_OUTPUT, zero_expected);
    made->blocks[0].name = "prediction";
    made->scratch = case_array(made, positions_of(made) * made->shape.width, sizeof(double));
    made->result = case_array(made, 1, sizeof(double));
    made->output = (mha_gradcheck_output){.name = name,
        .values = made->result,
        .gradient = case_array(made, 1, sizeof(double)),
        .count = 1};
}

/* Every third position does not count. */
mha_status check_mse_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    const mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    begin_loss(made, "mse", false);
    made->target = case_normal(made, positions_of(made) * made->shape.width);
    made->counted = case_array(made, positions_of(made), sizeof *made->counted);
    for (size_t i = 0; made->counted != NULL && i < positions_of(made); i++) {
        made->counted[i] = i % 3 != 2;
    }
    made->subject.forward_complex = mse_complex;
    return case_end(made, mse_forward, mse_backward, error);
}

/* Two answers of D/2 classes where there is room, and every third answer does not count. */
mha_status check_cross_entropy_create(
    struct check_case *made, const struct check_plan *plan, mha_error *error) {
    const mha_status status = case_begin(made, plan, error);
    if (status != MHA_OK) {
        return status;
    }
    made->answers = made->shape.width >= 4 ? 2 : 1;
    made->classes = made->shape.width / made->answers;
    begin_loss(made, "cross_entropy", made->classes < 2);
    int32_t *labels = case_array(made, positions_of(made) * made->answers, sizeof *labels);
    for (size_t i = 0; labels != NULL && i < positions_of(made) * made->answers; i++) {
        const uint32_t label = mha_rng_integers(&made->rng, (uint32_t)made->classes);
        labels[i] = i % 3 == 2 ? -1 : (int32_t)label;
    }
    made->labels = labels;
    made->subject.forward_complex = cross_entropy_complex;
    return case_end(made, cross_entropy_forward, cross_entropy_backward, error);
}
