/* The query stream is projected as it is. Of the source stream only the rows that some query may see
 * are read; the others count as zeros, so what stands there never matters. */
#include "layer/projections.h"

#include <string.h>

#include "fused/fused.h"

enum { HAS_FUSED = MHA_PRECISION != 128 }; /* complex numbers have the readable wing alone */

/* The product of the wing. All matrices are (D,D). */
static void product_forward(
    const mha_pass *pass, mha_real *y, const mha_real *x, const mha_real *w, size_t rows) {
    const size_t D = pass->shape.width;
    if (HAS_FUSED && pass->fused != NULL) {
        fused_projection_forward(y, x, w, rows, D, D, pass->fused);
    } else {
        mha_projection_forward(y, x, w, rows, D, D);
    }
}

/* dx is fresh where it belongs to an activation, of which the fused wing keeps no sum. */
static void product_backward(const mha_pass *pass, mha_real *dx, bool fresh, mha_real *dw,
    const mha_real *dy, const mha_real *x, const mha_real *w, size_t rows) {
    const size_t D = pass->shape.width;
    if (HAS_FUSED && pass->fused != NULL) {
        fused_projection_backward(dx, fresh, dw, dy, x, w, rows, D, D, pass->fused);
    } else {
        mha_projection_backward(dx, dw, dy, x, w, rows, D, D);
    }
}

/* The next run of source rows, of all B*S in a row, that are all seen or all unseen, from `begin`;
 * returns where it ends. Without a mask all rows are seen as long as there is a query. */
static size_t next_source_run(bool *seen, const mha_pass *pass, size_t begin) {
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

void project_query_forward(mha_real *result, const mha_pass *pass) {
    const mha_shape *shape = &pass->shape;
    product_forward(pass, result, pass->value[MHA_QUERY], pass->value[MHA_WQ],
        shape->batch * shape->target_length);
}

void project_query_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    product_backward(pass, pass->gradient[MHA_QUERY], false, pass->gradient[MHA_WQ], dresult,
        pass->value[MHA_QUERY], pass->value[MHA_WQ], shape->batch * shape->target_length);
}

static void project_source_forward(mha_real *result, const mha_pass *pass, mha_value weight) {
    const size_t rows = pass->shape.batch * pass->shape.source_length, D = pass->shape.width;
    for (size_t begin = 0, end; begin < rows; begin = end) {
        bool seen;
        end = next_source_run(&seen, pass, begin);
        if (seen) {
            product_forward(pass, result + begin * D, pass->value[MHA_SOURCE] + begin * D,
                pass->value[weight], end - begin);
        } else {
            memset(result + begin * D, 0, (end - begin) * D * sizeof *result);
        }
    }
}

static void project_source_backward(
    const mha_pass *pass, const mha_real *dresult, mha_value weight) {
    const size_t rows = pass->shape.batch * pass->shape.source_length, D = pass->shape.width;
    mha_real *const dsource = pass->gradient[MHA_SOURCE];
    for (size_t begin = 0, end; begin < rows; begin = end) {
        bool seen;
        end = next_source_run(&seen, pass, begin);
        if (seen) {
            product_backward(pass, dsource == NULL ? NULL : dsource + begin * D, false,
                pass->gradient[weight], dresult + begin * D, pass->value[MHA_SOURCE] + begin * D,
                pass->value[weight], end - begin);
        }
    }
}

void project_key_forward(mha_real *result, const mha_pass *pass) {
    project_source_forward(result, pass, MHA_WK);
}

void project_key_backward(const mha_pass *pass, const mha_real *dresult) {
    project_source_backward(pass, dresult, MHA_WK);
}

void project_value_forward(mha_real *result, const mha_pass *pass) {
    project_source_forward(result, pass, MHA_WV);
}

void project_value_backward(const mha_pass *pass, const mha_real *dresult) {
    project_source_backward(pass, dresult, MHA_WV);
}

void project_output_forward(mha_real *result, const mha_pass *pass) {
    const mha_shape *shape = &pass->shape;
    product_forward(pass, result, pass->value[MHA_CONTEXT], pass->value[MHA_WO],
        shape->batch * shape->target_length);
}

void project_output_backward(const mha_pass *pass, const mha_real *dresult) {
    const mha_shape *shape = &pass->shape;
    product_backward(pass, pass->gradient[MHA_CONTEXT], true, pass->gradient[MHA_WO], dresult,
        pass->value[MHA_CONTEXT], pass->value[MHA_WO], shape->batch * shape->target_length);
}
