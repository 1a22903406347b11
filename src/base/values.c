#include <mha/values.h>

#include <stddef.h>

/* The one table of the layer's arrays: axes B T S D h as everywhere, d for the head width. */
static const struct {
    const char *name;
    char axes[MHA_VALUE_RANK + 1];
} value_table[MHA_VALUE_COUNT] = {
    [MHA_QUERY] = {"query", "BTD"},
    [MHA_SOURCE] = {"source", "BSD"},
    [MHA_WQ] = {"wq", "DD"},
    [MHA_WK] = {"wk", "DD"},
    [MHA_WV] = {"wv", "DD"},
    [MHA_WO] = {"wo", "DD"},
    [MHA_Q] = {"q", "BTD"},
    [MHA_K] = {"k", "BSD"},
    [MHA_V] = {"v", "BSD"},
    [MHA_Q_HEADS] = {"q_heads", "BhTd"},
    [MHA_K_HEADS] = {"k_heads", "BhSd"},
    [MHA_V_HEADS] = {"v_heads", "BhSd"},
    [MHA_SCORES] = {"scores", "BhTS"},
    [MHA_SCALED] = {"scaled", "BhTS"},
    [MHA_MASKED] = {"masked", "BhTS"},
    [MHA_ATTENTION_WEIGHTS] = {"attention_weights", "BhTS"},
    [MHA_ROW_MAXIMUM] = {"row_maximum", "BhT"},
    [MHA_ROW_INVERSE_SUM] = {"row_inverse_sum", "BhT"},
    [MHA_CONTEXT_HEADS] = {"context_heads", "BhTd"},
    [MHA_CONTEXT] = {"context", "BTD"},
    [MHA_OUTPUT] = {"output", "BTD"},
};

static size_t axis_size(char axis, const mha_shape *shape) {
    switch (axis) {
    case 'B':
        return shape->batch;
    case 'T':
        return shape->target_length;
    case 'S':
        return shape->source_length;
    case 'D':
        return shape->width;
    case 'h':
        return shape->heads;
    default:
        return mha_head_width(shape);
    }
}

mha_value_shape mha_value_shape_of(mha_value value, const mha_shape *shape) {
    mha_value_shape result = {.name = value_table[value].name, .count = 1};
    for (const char *axis = value_table[value].axes; *axis != '\0'; axis++) {
        result.axes[result.rank] = *axis;
        result.dims[result.rank] = axis_size(*axis, shape);
        result.count *= result.dims[result.rank];
        result.rank++;
    }
    return result;
}

size_t mha_value_count(mha_value value, const mha_shape *shape) {
    size_t count = 1;
    for (const char *axis = value_table[value].axes; *axis != '\0'; axis++) {
        count *= axis_size(*axis, shape);
    }
    return count;
}

const char *mha_value_name(mha_value value) {
    return value_table[value].name;
}
