/* The ways in which a layer computes. The tests of its contract run over each of them.
 * Included after "base/real.h". */
#ifndef TESTS_NUMERIC_WING_H
#define TESTS_NUMERIC_WING_H

#include <check.h>

#define wing_use        MHA_NAME(wing_use)
#define wing_options    MHA_NAME(wing_options)
#define wing_now        MHA_NAME(wing_now)
#define wing_case_named MHA_NAME(wing_case_named)
#define wing_attention  MHA_NAME(wing_attention)

typedef enum wing { WING_REFERENCE, WING_STORED, WING_TILED, WINGS } wing;

/* A test case whose tests run on that wing, "masks, tiled"; the name is a string constant. */
#define wing_case(name, chosen)                                                                    \
    wing_case_named(                                                                               \
        ((const char *const[WINGS]){name ", reference", name ", stored", name ", tiled"})[chosen], \
        chosen)
TCase *wing_case_named(const char *name, wing chosen);

/* The wing that the running test is for, and its options with one thread: the reference, unless the
 * test case or the test itself has chosen another. */
void wing_use(wing chosen);
wing wing_now(void);
const mha_layer_options *wing_options(void);

/* Attention weights (B,h,T,S) of the pass on the tape: where the tape has them, else in `computed`, from
 * the numbers of each row that it has instead. NULL when it holds no pass. */
const mha_real *wing_attention(
    mha_real *computed, const mha_tape *tape, const mha_mask *mask, const mha_shape *shape);

#endif
