#include "layer/source_rows.h"

size_t next_source_run(bool *seen, const mha_pass *pass, size_t begin) {
    const mha_shape *shape = &pass->shape;
    const size_t S = shape->source_length, rows = shape->batch * S;
    if (pass->mask == NULL) {
        *seen = shape->target_length > 0;
        return rows;
    }
    *seen = mha_mask_sees_source(pass->mask, shape, begin / S, begin % S);
    size_t end = begin + 1;
    while (end < rows && mha_mask_sees_source(pass->mask, shape, end / S, end % S) == *seen) {
        end++;
    }
    return end;
}
