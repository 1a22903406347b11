/* The product of attention weights, or of their gradients, with keys or values. */
#ifndef OPS_MASKED_PRODUCT_H
#define OPS_MASKED_PRODUCT_H

#include "base/real.h"

#define masked_product MHA_NAME(masked_product)

/* y (T,d) += a (T,S) x (S,d) for head h of sample b. a is exactly 0 where the mask blocks, and such
 * a pair adds nothing even where x is not finite: a key that a query may not see never reaches it.
 */
void masked_product(mha_real *y, const mha_real *a, const mha_real *x, const mha_mask *mask,
    const mha_shape *shape, size_t b, size_t h);

#endif
