/* The products of attention weights, or of their gradients, with keys, values or queries. */
#ifndef OPS_MASKED_PRODUCT_H
#define OPS_MASKED_PRODUCT_H

#include "base/real.h"

#define masked_product            MHA_NAME(masked_product)
#define masked_product_transposed MHA_NAME(masked_product_transposed)

/* For head h of sample b, a (T,S), which is exactly 0 where the mask blocks:
 *   y (T,d) += a x, x (S,d), and y (S,d) += a^T x, x (T,d).
 * A blocked pair adds nothing even where x is not finite, so that a key never reaches a query that
 * may not see it, nor the query's gradient the key. */
void masked_product(mha_real *y, const mha_real *a, const mha_real *x, const mha_mask *mask,
    const mha_shape *shape, size_t b, size_t h);
void masked_product_transposed(mha_real *y, const mha_real *a, const mha_real *x,
    const mha_mask *mask, const mha_shape *shape, size_t b, size_t h);

#endif
