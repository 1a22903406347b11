#include "naive_case.h"

#include <math.h>

struct naive_pass naive_case(struct case_file *file, unsigned char *seen) {
    const mha_shape *shape = &file->shape;
    const size_t S = shape->source_length, T = shape->target_length, h = shape->heads;
    const double scale = 1.0 / sqrt((double)mha_head_width(shape));
    struct naive_pass pass = {.shape = *shape,
        .grad_output = file->grad_output,
        .seen = seen,
        .seen_by_softmax = seen,
        .seen_by_values = seen,
        .scale = scale,
        .scale_back = scale};
    for (size_t i = 0; i < mha_value_count(MHA_SCORES, shape); i++) {
        const size_t row = i / S;
        const mha_mask_row at =
            mha_mask_row_at(&file->mask, shape, row / T / h, row / T % h, row % T);
        seen[i] = mha_mask_row_allows(&at, i % S);
    }
    for (int i = 0; i < NAIVE_LEAVES; i++) {
        const bool shared = i == MHA_SOURCE && file->self_attention;
        pass.leaf[i] = file->leaf[shared ? MHA_QUERY : i];
        pass.gradient[i] = file->gradient[i];
    }
    return pass;
}

void naive_case_compute(struct case_file *file, const struct naive_pass *pass) {
    const bool in_float = file->claimed_dtype == MHA_FLOAT32;
    if (in_float) {
        mha_f32_naive_pass(pass);
    } else {
        mha_f64_naive_pass(pass);
    }
    const size_t count = mha_value_count(MHA_QUERY, &file->shape);
    for (size_t i = 0; i < count && file->self_attention; i++) {
        const double sum = file->gradient[MHA_QUERY][i] + file->gradient[MHA_SOURCE][i];
        file->gradient[MHA_QUERY][i] = in_float ? (double)(float)sum : sum;
    }
}
